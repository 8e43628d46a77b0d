//! The only door to the machine: what can be asked, and what comes back.
//!
//! In: questions. Out: readings, or why there is none. Nothing is interpreted.
//!
//! Everything envdoc learns of a machine is an [`Ask`] answered by a [`Reading`]. [`live`] asks the real
//! machine, [`record`] keeps every answer, [`snapshot`] is the file of kept answers and replays them,
//! [`redact`] takes out of a snapshot what names people and machines.

pub mod addresses;
pub mod closed;
pub mod file;
pub mod link;
pub mod live;
pub mod load;
pub mod name;
pub mod process;
pub mod process_stat;
pub mod program;
pub mod record;
pub mod redact;
mod secret_names;
mod sensitivity;
pub mod snapshot;
pub mod standard_pipes;
pub mod variables;

pub use diagnostic::{Missing, MissingKind};
pub use process::end_all as end_programs;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// One question to a machine. Its text (`Display`) is the key under which a snapshot keeps the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask<'a> {
    /// The text of a file. Devices, pipes and sockets are never opened (`/dev/kmsg` is: see [`live`]).
    Read(&'a str),
    /// The bytes of a small binary file (at most 4096 of them, of which the rights may allow fewer), in
    /// hexadecimal.
    Hex(&'a str),
    /// The names in a directory, sorted, one a line.
    List(&'a str),
    /// Those names in a directory that begin with one of the prefixes, sorted, one a line.
    Find(&'a str, &'a [&'a str]),
    /// What stands at a path, links followed: a [`Stat`] as JSON.
    Stat(&'a str),
    /// The file system a path lies on: a [`Space`] as JSON.
    Space(&'a str),
    /// The full path of a program on PATH.
    Program(&'a str),
    /// A program's exit status and output. The deadline is an upper bound, not part of the key.
    Run(&'a [&'a str], Duration),
    /// The variables of envdoc's own environment that matter to it (`live::VARIABLES`), `NAME=VALUE` a line.
    Environment,
    /// A GET to a container engine: endpoint (`unix:///var/run/docker.sock`, `tcp://…`) and path (`/info`).
    Engine(&'a str, &'a str),
    /// Seconds since 1970-01-01 UTC.
    Clock,
}

impl fmt::Display for Ask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ask::Read(path) => write!(f, "read {path}"),
            Ask::Hex(path) => write!(f, "hex {path}"),
            Ask::List(dir) => write!(f, "list {dir}"),
            Ask::Find(dir, prefixes) => write!(f, "find {dir} {}", prefixes.join(" ")),
            Ask::Stat(path) => write!(f, "stat {path}"),
            Ask::Space(path) => write!(f, "space {path}"),
            Ask::Program(name) => write!(f, "program {name}"),
            Ask::Run(argv, _) => write!(f, "run {}", argv.join(" ")),
            Ask::Environment => write!(f, "environment"),
            Ask::Engine(endpoint, path) => write!(f, "engine {endpoint} {path}"),
            Ask::Clock => write!(f, "clock"),
        }
    }
}

/// What came back. `Failed` is neither presence nor absence: nothing may be concluded from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Reading {
    /// Text, with invalid UTF-8 replaced.
    Text(String),
    /// A program ended by itself. `status` is null when a signal ended it.
    Ran {
        /// Exit status; null when a signal ended the program.
        status: Option<i32>,
        /// Standard output.
        #[serde(default)]
        stdout: String,
        /// Standard error.
        #[serde(default)]
        stderr: String,
    },
    /// There is no such file, program or socket.
    Absent,
    /// envdoc could not look; the reason, and what would help.
    Failed(Missing),
}

/// What stands at a path (links followed).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stat {
    pub kind: FileKind,
    /// Permission bits in octal, `0660`.
    pub mode: String,
    /// Owner's user id.
    pub uid: u32,
    /// Owner's group id.
    pub gid: u32,
    /// Size in bytes.
    pub size: u64,
    /// Last modification, seconds since 1970.
    pub mtime: i64,
    /// The path with every link followed.
    pub path: String,
}

/// What can stand at a path, in words as `stat` has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileKind {
    /// `file`.
    File,
    /// `directory`.
    Directory,
    /// `socket`.
    Socket,
    /// `pipe`.
    Pipe,
    /// `character-device`.
    CharacterDevice,
    /// `block-device`.
    BlockDevice,
    /// `other`, or a word of another release.
    #[serde(other)]
    Other,
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileKind::File => "file",
            FileKind::Directory => "directory",
            FileKind::Socket => "socket",
            FileKind::Pipe => "pipe",
            FileKind::CharacterDevice => "character-device",
            FileKind::BlockDevice => "block-device",
            FileKind::Other => "other",
        })
    }
}

/// The file system that a path lies on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Space {
    /// Size in bytes.
    pub total: u64,
    /// Bytes that an ordinary user may still write.
    pub available: u64,
}

/// A machine, live or recorded. All questions are safe to ask from several threads.
pub trait Host: Send + Sync {
    /// Answers one question. Never panics; never blocks beyond the machine's own deadline, except for
    /// reads that the kernel itself holds (a dead NFS server), for which gathering has its own.
    fn ask(&self, ask: Ask<'_>) -> Reading;

    /// [`Ask::Read`].
    fn read(&self, path: &str) -> Reading {
        self.ask(Ask::Read(path))
    }
    /// [`Ask::Hex`].
    fn hex(&self, path: &str) -> Reading {
        self.ask(Ask::Hex(path))
    }
    /// [`Ask::List`].
    fn list(&self, dir: &str) -> Reading {
        self.ask(Ask::List(dir))
    }
    /// [`Ask::Find`].
    fn find(&self, dir: &str, prefixes: &[&str]) -> Reading {
        self.ask(Ask::Find(dir, prefixes))
    }
    /// [`Ask::Stat`].
    fn stat(&self, path: &str) -> Reading {
        self.ask(Ask::Stat(path))
    }
    /// [`Ask::Space`].
    fn space(&self, path: &str) -> Reading {
        self.ask(Ask::Space(path))
    }
    /// [`Ask::Program`].
    fn program(&self, name: &str) -> Reading {
        self.ask(Ask::Program(name))
    }
    /// [`Ask::Run`].
    fn run(&self, argv: &[&str], deadline: Duration) -> Reading {
        self.ask(Ask::Run(argv, deadline))
    }
    /// [`Ask::Environment`].
    fn environment(&self) -> Reading {
        self.ask(Ask::Environment)
    }
    /// [`Ask::Engine`].
    fn engine(&self, endpoint: &str, path: &str) -> Reading {
        self.ask(Ask::Engine(endpoint, path))
    }
    /// [`Ask::Clock`].
    fn clock(&self) -> Reading {
        self.ask(Ask::Clock)
    }
}

impl Host for Box<dyn Host> {
    fn ask(&self, ask: Ask<'_>) -> Reading {
        self.as_ref().ask(ask)
    }
}

impl Reading {
    /// A reading that failed for a reason of no special kind.
    pub fn failed(detail: impl Into<String>) -> Reading {
        Reading::Failed(Missing::new(MissingKind::Other, detail))
    }
}
