//! How something that envdoc tried itself ended.

/// How a phase of a smoke test or an expectation of an image ended. [`crate::Verdict`] is what a rule says of
/// facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It holds.
    Passed,
    /// It does not hold.
    Failed,
    /// It ended without an answer.
    Unknown,
    /// It was not tried.
    Skipped,
}

impl Status {
    /// As written in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Status::Passed => "passed",
            Status::Failed => "failed",
            Status::Unknown => "unknown",
            Status::Skipped => "skipped",
        }
    }
}
