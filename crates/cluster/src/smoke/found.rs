//! What a judgement finds.

use diagnostic::Fix;

/// What is wrong, or worth knowing.
pub(super) enum Found {
    /// Makes the run slow: why, and what to do.
    Slow(String, Option<Fix>),
    /// Does not.
    Note(String),
    /// Leaves the run without a judgement: what could not be determined and why, and what to do.
    Unknown(String, Option<Fix>),
}

/// What to do where the processors are in the way.
pub(super) fn less_load() -> Fix {
    Fix::safe(
        "Run the test again while the machines are idle; show the load and its causes:",
        &["uptime", "top"],
    )
}
