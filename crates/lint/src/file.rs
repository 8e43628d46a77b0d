//! The files that are judged.

use catalog::Catalog;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use pep440_rs::VersionSpecifiers;

use super::kind::Kind;
use super::recognize::base_name;
use facts::Facts;

/// The name under which the running environment is judged.
pub const HERE: &str = "the environment";

/// Whether this machine can resolve a name; a missing name was not looked up, or the answer is unknown.
pub type Names = BTreeMap<String, bool>;

/// The known files of the build context, text by path; `None`: missing or unreadable.
pub type Context = BTreeMap<String, Option<String>>;

/// The number of ranks of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct World {
    /// How many ranks.
    pub size: u64,
    /// Its source: `--world-size`, `hostfile`.
    pub from: String,
    /// True if given for this run, false if read from a hostfile in the same directory.
    pub given: bool,
}

/// A file to be judged.
#[derive(Debug, Clone)]
pub struct File {
    /// What it is compared with.
    pub catalog: &'static Catalog,
    /// Its name, as findings show it.
    pub name: String,
    /// The contents of the file.
    pub text: String,
    /// What kind of file it is.
    pub kind: Kind,
    /// Of a compose file: whether it is meant for `docker stack deploy`.
    pub stack: Stack,
    /// Of a Dockerfile: what is known of its build context.
    pub context: Context,
    /// Of a compose file: those that docker compose merges over it, in order. Of DeepSpeed's configuration:
    /// the hostfile in the same directory. Of an env file: scripts that pass it to a container. Of a manifest
    /// and a file of a machine: others that say more of the cluster or the machine. Of a Dockerfile that
    /// compiles CUDA code: the jobs that run its image.
    pub over: Vec<Over>,
    /// The folder of that context, as findings show it; empty for the one that envdoc was started in.
    pub folder: String,
    /// The facts of the target machine, if known.
    pub facts: Option<Rc<Facts>>,
    /// The number of ranks, if given.
    pub world: Option<World>,
    /// Of a hostfile: which of its names this machine resolves.
    pub names: Names,
    /// Rules and groups that settings leave out for this file.
    pub ignored: Vec<String>,
}

/// A file that goes with another one: a compose file over another one, one that says more of it. Files of a
/// run share it.
#[derive(Debug, Clone)]
pub struct Over {
    /// Its name, as findings show it.
    pub name: String,
    /// The contents of the file.
    pub text: Rc<str>,
    /// What it installs, where it is a list of packages: read when it is first needed.
    pub(crate) installs: Rc<OnceCell<Installs>>,
}

/// The versions that a list of packages allows, with their lines, by the normalised names of the packages.
pub(crate) type Installs = BTreeMap<String, Vec<(VersionSpecifiers, usize)>>;

impl Over {
    /// A file that goes with another one.
    pub fn new(name: impl Into<String>, text: impl Into<Rc<str>>) -> Over {
        Over { name: name.into(), text: text.into(), installs: Rc::default() }
    }
}

/// Whether a compose file is a stack file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stack {
    /// Nothing but its content can tell.
    Unsaid,
    /// By its name or by --stack.
    Yes,
}

impl File {
    /// A file of a kind; its name decides whether it is a stack file.
    pub fn new(
        catalog: &'static Catalog,
        name: impl Into<String>,
        text: impl Into<String>,
        kind: Kind,
    ) -> File {
        let name = name.into();
        let stack = if base_name(&name).contains("stack") { Stack::Yes } else { Stack::Unsaid };
        File {
            catalog,
            name,
            text: text.into(),
            kind,
            stack,
            context: Context::new(),
            over: Vec::new(),
            folder: String::new(),
            facts: None,
            world: None,
            names: Names::new(),
            ignored: Vec::new(),
        }
    }

    /// A file of the build context, as findings show it.
    pub fn sibling(&self, path: &str) -> String {
        match self.folder.as_str() {
            "" | "." => path.to_owned(),
            folder => format!("{}/{path}", folder.trim_end_matches('/')),
        }
    }
}
