//! What a rule is, and what it can say.

pub use diagnostic::Severity;

use super::detect::Skipped;
pub(crate) use super::edit::Change;
pub use super::found::Found;
pub(crate) use super::kind::Kind;
pub(crate) use super::location::{Location, OtherFile};
use super::read::accelerate::AccelerateConfig;
use super::read::compose::Compose;
use super::read::config::Config;
use super::read::dockerfile::Dockerfile;
use super::read::hostfile::Hostfile;
use super::read::launch::Launches;
use super::read::machine::Machine;
use super::read::makefile::Makefile;
use super::read::manifest::Manifest;
use super::read::packages::PackageList;
use super::read::python::Program;
use super::read::script::Script;
use super::read::settings::Settings;
use super::read::template::Template;
use super::read::unit::Unit;
use super::read::unreadable::Unreadable;
use super::read::workflow::Workflow;
use facts::Facts;

/// A rule: a struct of constants with a function pointer.
#[derive(Debug)]
pub struct Rule {
    /// Kebab case, names the fault, never the fix; reads well after `--ignore`.
    pub id: &'static str,
    /// The highest severity of its findings.
    pub severity: Severity,
    /// What a sound file shows, in one line without a full stop: "every tag in FROM exists".
    pub summary: &'static str,
    /// The Markdown file next to the rule, with the headings "What it finds", "Why it matters", "How to fix
    /// it", "Sources".
    pub explain: &'static str,
    /// The function that finds the fault.
    pub(crate) judge: Judge,
    /// Files in which it finds something; none in an optimized program.
    pub fires: &'static [Example],
    /// Files in which it finds nothing; none in an optimized program.
    pub silent: &'static [Example],
}

/// The judgement, by what is read of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Judge {
    /// Of a Dockerfile.
    Dockerfile(fn(&Dockerfile) -> Vec<Found>),
    /// Of a compose or stack file.
    Compose(fn(&Compose) -> Vec<Found>),
    /// Of a compose or stack file, and of the containers that a script starts with `docker run`.
    Containers(fn(&Compose) -> Vec<Found>),
    /// Of environment variables, wherever they are set.
    Variables(fn(&Settings) -> Vec<Found>),
    /// Of the commands of a shell script.
    Script(fn(&Script) -> Vec<Found>),
    /// Of the commands that start the processes of a job, in scripts and images.
    Launch(fn(&Launches) -> Vec<Found>),
    /// Of a list of packages as written.
    Packages(fn(&PackageList) -> Vec<Found>),
    /// Of accelerate's configuration.
    Accelerate(fn(&AccelerateConfig) -> Vec<Found>),
    /// Of DeepSpeed's configuration.
    Deepspeed(fn(&Config) -> Vec<Found>),
    /// Of a hostfile, with what is known of the machine.
    Hostfile(fn((&Hostfile, Option<&Facts>)) -> Vec<Found>),
    /// Of a file that configures a machine.
    Machine(fn(&Machine) -> Vec<Found>),
    /// Of a service of systemd.
    Unit(fn(&Unit) -> Vec<Found>),
    /// Of a workflow of GitHub Actions.
    Workflow(fn(&Workflow) -> Vec<Found>),
    /// Of a makefile.
    Makefile(fn(&Makefile) -> Vec<Found>),
    /// Of Kubernetes manifests.
    Manifest(fn(&Manifest) -> Vec<Found>),
    /// Of a template from which Helm renders a manifest.
    Template(fn(&Template) -> Vec<Found>),
    /// Of a training script.
    Training(fn(&Program) -> Vec<Found>),
    /// Of a file or directory that could not be read.
    Unreadable(fn(&Unreadable) -> Vec<Found>),
    /// Of a file of a type that no other rule checks.
    Skipped(fn(&Skipped) -> Vec<Found>),
}

/// What rules are about: a folder of this module, a chapter of the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// Dockerfiles.
    Dockerfile,
    /// Compose and stack files.
    Compose,
    /// Environment variables, wherever they are set.
    Variables,
    /// Shell scripts.
    Script,
    /// Lists of packages.
    Packages,
    /// accelerate's configuration.
    Accelerate,
    /// DeepSpeed's configuration and hostfile.
    Deepspeed,
    /// Files that configure a machine.
    Machine,
    /// Services of systemd.
    Systemd,
    /// Kubernetes manifests.
    Kubernetes,
    /// Workflows of GitHub Actions.
    Workflow,
    /// Makefiles.
    Makefile,
    /// Training scripts.
    Training,
    /// Files of any kind.
    Files,
}

impl Subject {
    /// All, in the order of the documentation.
    pub const ALL: &[Subject] = &[
        Subject::Dockerfile,
        Subject::Compose,
        Subject::Variables,
        Subject::Script,
        Subject::Packages,
        Subject::Accelerate,
        Subject::Deepspeed,
        Subject::Machine,
        Subject::Systemd,
        Subject::Kubernetes,
        Subject::Workflow,
        Subject::Makefile,
        Subject::Training,
        Subject::Files,
    ];

    /// The name of the folder with its rules: `dockerfile`.
    pub fn id(self) -> &'static str {
        match self {
            Subject::Dockerfile => "dockerfile",
            Subject::Compose => "compose",
            Subject::Variables => "variables",
            Subject::Script => "script",
            Subject::Packages => "packages",
            Subject::Accelerate => "accelerate",
            Subject::Deepspeed => "deepspeed",
            Subject::Machine => "machine",
            Subject::Systemd => "systemd",
            Subject::Kubernetes => "kubernetes",
            Subject::Workflow => "workflow",
            Subject::Makefile => "makefile",
            Subject::Training => "training",
            Subject::Files => "files",
        }
    }

    /// Its heading in the documentation.
    pub fn title(self) -> &'static str {
        match self {
            Subject::Dockerfile => "Dockerfiles",
            Subject::Compose => "Compose and stack files",
            Subject::Variables => "Environment variables",
            Subject::Script => "Shell scripts",
            Subject::Packages => "Lists of packages",
            Subject::Accelerate => "accelerate's configuration",
            Subject::Deepspeed => "DeepSpeed's configuration and hostfile",
            Subject::Machine => "Configuration of a machine",
            Subject::Systemd => "Services of systemd",
            Subject::Kubernetes => "Kubernetes manifests",
            Subject::Workflow => "GitHub Actions workflows",
            Subject::Makefile => "Makefiles",
            Subject::Training => "Training scripts",
            Subject::Files => "Files of any kind",
        }
    }
}

impl Rule {
    /// What it is about.
    pub fn subject(&self) -> Subject {
        match self.judge {
            Judge::Dockerfile(_) => Subject::Dockerfile,
            Judge::Compose(_) | Judge::Containers(_) => Subject::Compose,
            Judge::Variables(_) => Subject::Variables,
            Judge::Script(_) | Judge::Launch(_) => Subject::Script,
            Judge::Packages(_) => Subject::Packages,
            Judge::Accelerate(_) => Subject::Accelerate,
            Judge::Deepspeed(_) | Judge::Hostfile(_) => Subject::Deepspeed,
            Judge::Machine(_) => Subject::Machine,
            Judge::Unit(_) => Subject::Systemd,
            Judge::Manifest(_) | Judge::Template(_) => Subject::Kubernetes,
            Judge::Workflow(_) => Subject::Workflow,
            Judge::Makefile(_) => Subject::Makefile,
            Judge::Training(_) => Subject::Training,
            Judge::Unreadable(_) | Judge::Skipped(_) => Subject::Files,
        }
    }
}

impl diagnostic::rule::Rule for Rule {
    fn id(&self) -> &'static str {
        self.id
    }
    fn severity(&self) -> Severity {
        self.severity
    }
    fn group(&self) -> diagnostic::rule::Group {
        diagnostic::rule::Group { id: self.subject().id(), title: self.subject().title() }
    }
    fn summary(&self) -> &'static str {
        self.summary
    }
    fn explain(&self) -> &'static str {
        self.explain
    }
}

/// A file that shows what a rule does.
#[derive(Debug, Clone, Copy)]
pub struct Example {
    /// Its name, which tells what kind of file it is.
    pub name: &'static str,
    /// The contents of the file.
    pub text: &'static str,
    /// Files that belong to it, name and text: of its build context, or compose files over it.
    pub companions: &'static [(&'static str, &'static str)],
}

/// The text of a companion that does not exist.
pub(crate) const MISSING: &str = "(missing)";

/// A Dockerfile as an example.
pub(crate) const fn dockerfile(text: &'static str) -> Example {
    Example { name: "Dockerfile", text, companions: &[] }
}

/// A Dockerfile with files of its build context as an example.
pub(crate) const fn with(text: &'static str, companions: &'static [(&'static str, &'static str)]) -> Example {
    Example { name: "Dockerfile", text, companions }
}

/// A compose file as an example.
pub(crate) const fn compose(text: &'static str) -> Example {
    Example { name: "compose.yaml", text, companions: &[] }
}

/// A compose file and another one over it as an example.
pub(crate) const fn composes(text: &'static str, over: &'static [(&'static str, &'static str)]) -> Example {
    Example { name: "compose.yaml", text, companions: over }
}

/// A stack file (`docker stack deploy`) as an example.
pub(crate) const fn stack(text: &'static str) -> Example {
    Example { name: "stack.yaml", text, companions: &[] }
}

/// A file of another kind as an example, by its name.
pub(crate) const fn named(name: &'static str, text: &'static str) -> Example {
    Example { name, text, companions: &[] }
}

/// A file with companions as an example: `server.json` stands for the recorded machine that it names,
/// `names` for what a machine knows of names, `unreadable` for why the file cannot be read, `named` for a
/// file whose type is detected.
pub(crate) const fn named_with(
    name: &'static str,
    text: &'static str,
    companions: &'static [(&'static str, &'static str)],
) -> Example {
    Example { name, text, companions }
}
