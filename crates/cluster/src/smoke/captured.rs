//! Output of programs that failed: a known cause may be in it.

/// The output of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// Whose: `torch on node2`.
    pub from: String,
    /// Its lines.
    pub lines: Vec<String>,
}
