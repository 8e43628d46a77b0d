//! What a real container of this machine's engine showed (`check --live`).

use super::{Expected, Fact, Facts, gather};
use catalog::Catalog;
use host::Host;
use host::snapshot::Snapshot;

/// The attempt with one container.
#[derive(Debug, Clone)]
pub struct Live {
    /// The image that it was made of.
    pub image: String,
    /// Whether GPUs were asked for.
    pub gpus: bool,
    /// What envdoc saw inside, or where the attempt stopped.
    pub in_container: Result<Box<Facts>, Failure>,
}

/// Result of starting a container.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The image it was tried with.
    pub image: String,
    /// The snapshot that envdoc recorded inside, as JSON; or where it stopped and why.
    pub outcome: Result<String, Failure>,
}

/// Where the attempt stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What was being done: `creating the container`, `starting it`, …
    pub step: &'static str,
    pub message: String,
    /// Whether the container itself failed, rather than envdoc's way of looking into it.
    pub of_container: bool,
    /// Whether the engine knows no runtime that gives a container GPUs.
    pub no_gpu_runtime: bool,
}

/// Why nothing was tried at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotTried {
    /// Ctrl-C.
    Interrupted,
    Reason(String),
}

/// Facts of the container out of the snapshot that was recorded in it. Absent stays for runs without
/// `--live`.
pub fn of(answer: Result<Answer, NotTried>, gpus: bool, catalog: &'static Catalog) -> Fact<Live> {
    let answer = match answer {
        Ok(answer) => answer,
        Err(NotTried::Interrupted) => return Fact::unknown("interrupted"),
        Err(NotTried::Reason(why)) => return Fact::unknown(format!("no container was started: {why}")),
    };
    let in_container = answer.outcome.and_then(|text| match serde_json::from_str::<Snapshot>(&text) {
        Ok(snapshot) => Ok(Box::new(facts(&snapshot.host(), catalog))),
        Err(error) => Err(Failure {
            step: "reading what envdoc said inside",
            message: format!("not a snapshot: {error}"),
            of_container: false,
            no_gpu_runtime: false,
        }),
    });
    Fact::Known(Live { image: answer.image, gpus, in_container })
}

fn facts(host: &dyn Host, catalog: &'static Catalog) -> Facts {
    gather::recorded(host, Expected { role: Some(super::Role::Container), ..Expected::default() }, catalog)
}
