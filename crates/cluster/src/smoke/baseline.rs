//! A run that was good, kept to hold later ones against.

use serde::{Deserialize, Serialize};

use super::outcome::{Outcome, Verdict};
use super::phase::PhaseId;
use diagnostic::units::rate;

/// Version of the file.
const SCHEMA: u32 = 1;
/// The part of the kept bandwidth that a later run must reach. Two runs in a row differed by up to 15 %
/// (docs/measurements/smoke.md).
const MIN_BANDWIDTH_RATIO: f64 = 0.75;
/// How many times the kept time a small all-reduce may take.
const MAX_LATENCY_RATIO: f64 = 2.0;
/// From this size on bandwidth counts, in bytes; up to [`LATENCY_UP_TO_BYTES`] the time does.
const BANDWIDTH_FROM_BYTES: usize = 1 << 20;
/// See [`BANDWIDTH_FROM_BYTES`].
const LATENCY_UP_TO_BYTES: usize = 4 << 10;

/// What is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// Version of this format.
    pub schema: u32,
    /// When, as RFC 3339.
    pub saved: String,
    /// Where each rank was.
    pub ranks: Vec<String>,
    /// What carried the data.
    pub transport: String,
    /// Sizes in order.
    pub results: Vec<Kept>,
}

/// One size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Bytes that were reduced.
    pub bytes: usize,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// Bus bandwidth in bytes per second.
    pub bus: f64,
}

/// Why a run does not become a baseline, or cannot be compared with one.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// A run that is no measure of anything.
    #[error("the verdict is {}; only a run with the verdict ok becomes a baseline", .0.id())]
    Verdict(Verdict),
    /// Not such a file.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The file of another version.
    #[error("its schema version is {0}, this envdoc supports {SCHEMA}")]
    Schema(u32),
    /// Runs that say nothing of each other.
    #[error(
        "it has {} ranks over {}, this run has {} over {}",
        .saved.ranks, .saved.transport, .now.ranks, .now.transport
    )]
    OtherSetup { saved: Setup, now: Setup },
}

/// What two runs must have in common to be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// How many ranks.
    pub ranks: usize,
    /// What carried the data.
    pub transport: String,
}

/// The file of a run. One that did not hold is no measure of anything.
pub fn keep(outcome: &Outcome, saved: &str) -> Result<String, BaselineError> {
    if outcome.verdict != Verdict::Ok {
        return Err(BaselineError::Verdict(outcome.verdict));
    }
    let of = |result: &super::outcome::Measured| Kept {
        bytes: result.bytes,
        seconds: result.seconds,
        bus: result.bus,
    };
    let baseline = Baseline {
        schema: SCHEMA,
        saved: saved.to_owned(),
        ranks: outcome.ranks.clone(),
        transport: outcome.transport.clone(),
        results: outcome.results.iter().map(of).collect(),
    };
    Ok(serde_json::to_string_pretty(&baseline)? + "\n")
}

pub fn parse(text: &str) -> Result<Baseline, BaselineError> {
    let baseline: Baseline = serde_json::from_str(text)?;
    match baseline.schema {
        SCHEMA => Ok(baseline),
        other => Err(BaselineError::Schema(other)),
    }
}

/// Holds a run against one: what is worse, in words. Runs of other ranks or another transport say nothing of
/// each other.
pub fn compare(outcome: &mut Outcome, baseline: &Baseline) -> Result<(), BaselineError> {
    let now = Setup { ranks: outcome.ranks.len(), transport: outcome.transport.clone() };
    let saved = Setup { ranks: baseline.ranks.len(), transport: baseline.transport.clone() };
    if now != saved {
        return Err(BaselineError::OtherSetup { saved, now });
    }
    let mut worst: Option<(f64, String)> = None;
    let (mut compared, mut slow_sizes) = (0, Vec::new());
    for now in &outcome.results {
        let Some(then) = baseline.results.iter().find(|kept| kept.bytes == now.bytes) else { continue };
        // How many times worse than what is let pass.
        let (worse, message) = match now.bytes {
            bytes if bytes >= BANDWIDTH_FROM_BYTES => (
                then.bus * MIN_BANDWIDTH_RATIO / now.bus,
                format!("{} busbw at {bytes} bytes, the baseline has {}", rate(now.bus), rate(then.bus)),
            ),
            bytes if bytes <= LATENCY_UP_TO_BYTES => (
                now.seconds / (then.seconds * MAX_LATENCY_RATIO),
                format!(
                    "{:.0} µs for {bytes} bytes, the baseline has {:.0}",
                    now.seconds * 1e6,
                    then.seconds * 1e6
                ),
            ),
            _ => continue,
        };
        compared += 1;
        if worse > 1.0 {
            slow_sizes.push(now.bytes);
        }
        if worse > 1.0 && worst.as_ref().is_none_or(|(most, _)| worse > *most) {
            worst = Some((worse, message));
        }
    }
    match worst {
        Some((_, message)) => {
            outcome.verdict = Verdict::Slow;
            outcome.slow.push(PhaseId::Bandwidth);
            outcome.slow_sizes.extend(slow_sizes);
            outcome.message =
                format!("{}; worse than the baseline of {}: {message}", outcome.message, baseline.saved);
        }
        None if compared == 0 => outcome.remarks.push("the baseline contains none of these sizes".into()),
        None => outcome
            .remarks
            .push(format!("matches the baseline of {} ({compared} sizes compared)", baseline.saved)),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smoke::outcome::Measured;

    fn run(bus: f64, seconds: f64) -> Outcome {
        let mut outcome = Outcome::new(catalog::testing::catalog(), vec!["node1".into(), "node2".into()]);
        outcome.verdict = Verdict::Ok;
        let of = |bytes, seconds, bus| Measured { bytes, seconds, algorithm: bus, bus, wrong: 0 };
        outcome.results = vec![of(8, seconds, 1e5), of(65_536, 1.0, 1.0), of(16 << 20, 0.1, bus)];
        outcome
    }

    #[test]
    fn compares_run_with_saved_baseline() {
        let kept = parse(&keep(&run(1e9, 5e-5), "2026-01-02T03:04:05Z").unwrap()).unwrap();
        let judged = |bus, seconds| {
            let mut now = run(bus, seconds);
            compare(&mut now, &kept).unwrap();
            (now.verdict, now.message)
        };
        assert_eq!(judged(0.8e9, 9e-5).0, Verdict::Ok);
        let (verdict, message) = judged(0.5e9, 5e-5);
        assert!(
            verdict == Verdict::Slow
                && message.contains("0.50 GB/s busbw at 16777216 bytes, the baseline has 1.00"),
            "{message}"
        );
        assert!(judged(1e9, 2e-4).1.contains("200 µs for 8 bytes, the baseline has 50"));
        let mut three = run(1e9, 5e-5);
        three.ranks.push("node3".into());
        let other = compare(&mut three, &kept).unwrap_err();
        assert!(
            matches!(&other, BaselineError::OtherSetup { saved, now } if saved.ranks == 2 && now.ranks == 3)
        );
        assert!(other.to_string().contains("has 2 ranks"), "{other}");
        let mut slow = run(1e9, 5e-5);
        slow.verdict = Verdict::Slow;
        assert!(matches!(keep(&slow, ""), Err(BaselineError::Verdict(Verdict::Slow))));
        assert!(matches!(parse("{}"), Err(BaselineError::Json(_))));
    }
}
