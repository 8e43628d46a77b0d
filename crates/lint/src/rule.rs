//! What a rule is, and what it can say.

use std::rc::Rc;

pub use diagnostic::Severity;

use super::machine::Machine;
use super::read::compose::Compose;
use super::read::config::Config;
use super::read::dockerfile::Dockerfile;
use super::read::dockerfile::install::Requirement;
use super::read::hostfile::Hostfile;
use super::read::python::Program;
use super::read::script::Script;
use super::read::settings::Settings;
use facts::Facts;

/// A rule: a struct of constants with a function pointer.
#[derive(Debug)]
pub struct Rule {
    /// Kebab case, names the fault, never the fix; reads well after `--ignore`.
    pub id: &'static str,
    /// The worst that it says of a file.
    pub severity: Severity,
    /// What a sound file shows, in one line without a full stop: "every tag in FROM exists".
    pub summary: &'static str,
    /// The Markdown file next to the rule, with the headings "What it finds", "Why it matters", "How to fix
    /// it", "Sources".
    pub explain: &'static str,
    /// The judgement.
    pub(crate) judge: Judge,
    /// Files in which it finds something.
    pub fires: &'static [Example],
    /// Files in which it finds nothing.
    pub silent: &'static [Example],
}

/// The judgement, by what is read of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Judge {
    /// Of a Dockerfile.
    Dockerfile(fn(&Dockerfile) -> Vec<Found>),
    /// Of a compose or stack file.
    Compose(fn(&Compose) -> Vec<Found>),
    /// Of environment variables, wherever they are set.
    Variables(fn(&Settings) -> Vec<Found>),
    /// Of the commands of a shell script.
    Script(fn(&Script) -> Vec<Found>),
    /// Of DeepSpeed's configuration.
    Deepspeed(fn(&Config) -> Vec<Found>),
    /// Of a hostfile, with what is known of the machine.
    Hostfile(fn((&Hostfile, Option<&Facts>)) -> Vec<Found>),
    /// Of a file that configures a machine.
    Machine(fn(&Machine) -> Vec<Found>),
    /// Of a training script.
    Training(fn(&Program) -> Vec<Found>),
}

/// The kinds of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Dockerfile, Containerfile.
    Dockerfile,
    /// Compose file, stack file.
    Compose,
    /// `NAME=value` a line: `.env`, `env_file` of compose, `--env-file` of docker, `/etc/environment`, the
    /// running environment.
    Environment,
    /// `.deepspeed_env`, which DeepSpeed's launcher reads.
    DeepspeedEnvironment,
    /// `nccl.conf`, which NCCL reads.
    NcclConf,
    /// A shell script.
    Shell,
    /// What a login shell reads: `/etc/profile`, `.bashrc`.
    Profile,
    /// DeepSpeed's configuration: `ds_config.json`.
    DeepspeedConfig,
    /// A hostfile: `host slots=8`.
    Hostfile,
    /// A requirements file of pip.
    Requirements,
    /// Docker's `daemon.json`.
    DaemonJson,
    /// The container toolkit's `config.toml`.
    ToolkitConfig,
    /// `sshd_config`.
    Sshd,
    /// A script in Python.
    Python,
}

impl Kind {
    /// All.
    pub const ALL: &[Kind] = &[
        Kind::Dockerfile,
        Kind::Compose,
        Kind::Environment,
        Kind::DeepspeedEnvironment,
        Kind::NcclConf,
        Kind::Shell,
        Kind::Profile,
        Kind::DeepspeedConfig,
        Kind::Hostfile,
        Kind::Requirements,
        Kind::DaemonJson,
        Kind::ToolkitConfig,
        Kind::Sshd,
        Kind::Python,
    ];

    /// As it stands after `--as`.
    pub fn id(self) -> &'static str {
        match self {
            Kind::Dockerfile => "dockerfile",
            Kind::Compose => "compose",
            Kind::Environment => "environment",
            Kind::DeepspeedEnvironment => "deepspeed-env",
            Kind::NcclConf => "nccl-conf",
            Kind::Shell => "shell",
            Kind::Profile => "profile",
            Kind::DeepspeedConfig => "deepspeed-config",
            Kind::Hostfile => "hostfile",
            Kind::Requirements => "requirements",
            Kind::DaemonJson => "daemon-json",
            Kind::ToolkitConfig => "toolkit-config",
            Kind::Sshd => "sshd",
            Kind::Python => "python",
        }
    }
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
    /// DeepSpeed's configuration and hostfile.
    Deepspeed,
    /// Files that configure a machine.
    Machine,
    /// Training scripts.
    Training,
}

impl Subject {
    /// All, in the order of the documentation.
    pub const ALL: &[Subject] = &[
        Subject::Dockerfile,
        Subject::Compose,
        Subject::Variables,
        Subject::Script,
        Subject::Deepspeed,
        Subject::Machine,
        Subject::Training,
    ];

    /// The folder in which its rules stand.
    pub fn id(self) -> &'static str {
        match self {
            Subject::Dockerfile => "dockerfile",
            Subject::Compose => "compose",
            Subject::Variables => "variables",
            Subject::Script => "script",
            Subject::Deepspeed => "deepspeed",
            Subject::Machine => "machine",
            Subject::Training => "training",
        }
    }

    /// As it stands in the documentation.
    pub fn title(self) -> &'static str {
        match self {
            Subject::Dockerfile => "Dockerfiles",
            Subject::Compose => "Compose and stack files",
            Subject::Variables => "Environment variables",
            Subject::Script => "Shell scripts",
            Subject::Deepspeed => "DeepSpeed's configuration and hostfile",
            Subject::Machine => "Configuration of a machine",
            Subject::Training => "Training scripts",
        }
    }
}

impl Rule {
    /// What it is about.
    pub fn subject(&self) -> Subject {
        match self.judge {
            Judge::Dockerfile(_) => Subject::Dockerfile,
            Judge::Compose(_) => Subject::Compose,
            Judge::Variables(_) => Subject::Variables,
            Judge::Script(_) => Subject::Script,
            Judge::Deepspeed(_) | Judge::Hostfile(_) => Subject::Deepspeed,
            Judge::Machine(_) => Subject::Machine,
            Judge::Training(_) => Subject::Training,
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
    /// What stands in it.
    pub text: &'static str,
    /// Files that belong to it, name and text: of its build context, or compose files over it.
    pub beside: &'static [(&'static str, &'static str)],
}

/// A Dockerfile as an example.
pub const fn dockerfile(text: &'static str) -> Example {
    Example { name: "Dockerfile", text, beside: &[] }
}

/// A Dockerfile with files of its build context as an example.
pub const fn with(text: &'static str, beside: &'static [(&'static str, &'static str)]) -> Example {
    Example { name: "Dockerfile", text, beside }
}

/// A compose file as an example.
pub const fn compose(text: &'static str) -> Example {
    Example { name: "compose.yaml", text, beside: &[] }
}

/// A compose file and another one over it as an example.
pub const fn composes(text: &'static str, over: &'static [(&'static str, &'static str)]) -> Example {
    Example { name: "compose.yaml", text, beside: over }
}

/// A stack file (`docker stack deploy`) as an example.
pub const fn stack(text: &'static str) -> Example {
    Example { name: "stack.yaml", text, beside: &[] }
}

/// A file of another kind as an example, by its name.
pub const fn named(name: &'static str, text: &'static str) -> Example {
    Example { name, text, beside: &[] }
}

/// A file with others beside it as an example: `server.json` stands for the recorded machine that it names,
/// `names` for what a machine knows of names.
pub const fn named_with(
    name: &'static str,
    text: &'static str,
    beside: &'static [(&'static str, &'static str)],
) -> Example {
    Example { name, text, beside }
}

/// One thing found in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// How bad.
    pub severity: Severity,
    /// Where, if it is not the file itself.
    pub file: Option<Rc<OtherFile>>,
    /// Where: a line of that file, from 1.
    pub line: usize,
    /// What is, what should be, and why, in one or two sentences without a full stop at the end.
    pub says: String,
    /// What to write instead; may be empty.
    pub fix: String,
}

/// A file that belongs to the one that is judged: a requirements file that a Dockerfile installs, a compose
/// file over another one.
#[derive(Debug, PartialEq, Eq)]
pub struct OtherFile {
    /// Its path in the build context, or its name.
    pub path: String,
    /// The line of the Dockerfile that installs it.
    pub by: Option<usize>,
}

/// A place: a line of the file that is judged, or of one that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The other file.
    pub file: Option<Rc<OtherFile>>,
    /// The line, from 1.
    pub line: usize,
}

impl From<usize> for Place {
    fn from(line: usize) -> Place {
        Place { file: None, line }
    }
}

impl From<&Requirement> for Place {
    fn from(one: &Requirement) -> Place {
        Place { file: one.file.clone(), line: one.line }
    }
}

impl Found {
    /// Certainly fails.
    pub fn error(place: impl Into<Place>, says: impl Into<String>, fix: impl Into<String>) -> Found {
        let Place { file, line } = place.into();
        Found { severity: Severity::Error, file, line, says: says.into(), fix: fix.into() }
    }

    /// May fail.
    pub fn warning(place: impl Into<Place>, says: impl Into<String>, fix: impl Into<String>) -> Found {
        Found { severity: Severity::Warning, ..Found::error(place, says, fix) }
    }

    /// Worth knowing.
    pub fn note(place: impl Into<Place>, says: impl Into<String>, fix: impl Into<String>) -> Found {
        Found { severity: Severity::Note, ..Found::error(place, says, fix) }
    }

    /// The same, as a warning where it is not certain that it comes to this.
    pub fn unless_certain(mut self, certain: bool) -> Found {
        if !certain {
            self.severity = self.severity.min(Severity::Warning);
        }
        self
    }
}
