//! What came of a smoke test.

/// The whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// Why, in a sentence or two.
    pub says: String,
    /// Where each rank is.
    pub ranks: Vec<String>,
    /// The rungs of the ladder that were tried, in order; a failed one has a row for each node that it failed on.
    pub phases: Vec<Phase>,
    /// The sizes that were measured, in order.
    pub results: Vec<Measured>,
    /// What carried the data: `tcp`.
    pub transport: String,
    /// What it is held against.
    pub expected: Option<Expected>,
    /// What every link of the ring carries at the same time, in bytes per second: from the rank before to this one.
    pub links: Vec<f64>,
}

/// Verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Every element right, and as fast as can be expected.
    Ok,
    /// Every element right, but slower than what the path carries.
    Slow,
    /// Sums that are wrong.
    Wrong,
    /// A rung of the ladder broke.
    Failed,
}

impl Verdict {
    /// As it stands in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Slow => "slow",
            Verdict::Wrong => "wrong",
            Verdict::Failed => "failed",
        }
    }
}

/// A rung of the ladder.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    /// Which: `rendezvous`.
    pub name: &'static str,
    /// On which node, where it is one's.
    pub node: Option<String>,
    /// How it went.
    pub status: Status,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// What was seen.
    pub says: String,
}

/// How a rung went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It holds.
    Passed,
    /// It broke.
    Failed,
    /// It was not tried.
    Skipped,
}

impl Status {
    /// As it stands in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Status::Passed => "passed",
            Status::Failed => "failed",
            Status::Skipped => "skipped",
        }
    }
}

/// One size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Bytes that were reduced.
    pub bytes: usize,
    /// Median of the rounds, each as long as its slowest rank, in seconds.
    pub seconds: f64,
    /// Algorithm bandwidth in bytes per second.
    pub algorithm: f64,
    /// Bus bandwidth in bytes per second.
    pub bus: f64,
    /// Elements that were not the sum of all ranks, on all of them together.
    pub wrong: usize,
}

/// What a bandwidth is held against.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// Bus bandwidth in bytes per second.
    pub bus: f64,
    /// The part of it below which it is slow: 0.6.
    pub tolerance: f64,
    /// Where the number is from.
    pub from: String,
}
