//! How bad a failure is, for every file of the catalog that says so.

use serde::{Deserialize, Serialize};

/// How bad a failure is for the job and for the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Nothing is wrong: a notice.
    Info,
    /// It may become worse, or concerns the program alone.
    Warning,
    /// Something did not work; the machine may continue to work.
    Error,
    /// The job or the machine does not work until somebody intervenes: a reset, a reboot, a new part.
    Fatal,
}

impl Severity {
    /// As it is written in the files.
    pub fn id(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
            Severity::Fatal => "fatal",
        }
    }
}
