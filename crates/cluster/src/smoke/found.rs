//! What a judgement finds.

/// What is wrong, or worth knowing.
pub(super) enum Found {
    /// Makes the run slow: why, and what to do.
    Slow(String, &'static str),
    /// Does not.
    Note(String),
    /// Leaves the run without a judgement: what could not be told and why, and what to do.
    Unknown(String, &'static str),
}

/// What to do where the processors are in the way.
pub(super) const LESS_LOAD: &str = "Run the test again while the machines are idle (the load and what \
    causes it: `uptime; top`)";
