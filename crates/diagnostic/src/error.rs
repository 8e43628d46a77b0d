//! The one error of the program: what kind it is, what happened, and what to do about it.

use std::fmt;

/// What kind of error it is; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The command line asks for something that cannot be.
    Usage,
    /// A file that was named cannot be read, written or understood.
    File,
    /// The container engine could not be used.
    Engine,
    /// Nobody who was asked over the network answered.
    Network,
    /// Ctrl-C.
    Interrupted,
    /// Standard output was closed by its reader: not an error to anybody.
    BrokenPipe,
}

impl Kind {
    /// The exit code, as documented in docs/exit-codes.md.
    pub fn exit_code(self) -> u8 {
        match self {
            Kind::Usage | Kind::File | Kind::Engine | Kind::Network => 2,
            Kind::Interrupted => 130,
            Kind::BrokenPipe => 0,
        }
    }
}

/// Every exit code and what it means; docs/exit-codes.md is made of it.
pub const EXIT_CODES: &[(u8, &str)] = &[
    (0, "No finding at or above `--fail-on` (default `error`). The report lists what could not be checked."),
    (
        1,
        "Findings at or above `--fail-on`; `resolve`: no such stack exists; `build`: the build or the \
         verification of the image failed.",
    ),
    (
        2,
        "envdoc could not do its work: wrong usage, a file that cannot be read, written or parsed, no \
         container engine, or no answer over the network.",
    ),
    (
        3,
        "With `--strict`: no finding, but something could not be checked; `cluster check`, `cluster init`: a \
         machine is unreachable; `build`: an expectation could not be verified; \
         `smoke`: the verdict is `unknown`; `lint`: a named file is of no known type.",
    ),
    (130, "Interrupted (Ctrl-C); everything that was started has been removed."),
];

/// An error that ends the program.
#[derive(Debug)]
pub struct Error {
    /// Decides the exit code.
    pub kind: Kind,
    /// What happened, where.
    pub message: String,
    /// What to do, each a sentence.
    pub hints: Vec<String>,
}

impl Error {
    /// An error without hints.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Error { kind, message: message.into(), hints: Vec::new() }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds the name that was most likely meant, where there is one.
    pub fn did_you_mean(self, near: Option<&str>) -> Self {
        match near {
            Some(near) => self.hint(format!("did you mean {near}?")),
            None => self,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)
    }
}

impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        let kind = if error.kind() == std::io::ErrorKind::BrokenPipe { Kind::BrokenPipe } else { Kind::File };
        Error::new(kind, format!("cannot write: {error}"))
    }
}
