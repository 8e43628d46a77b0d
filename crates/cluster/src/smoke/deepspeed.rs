//! DeepSpeed trains a tiny model: ZeRO stage 2, started by its own launcher over ssh and hostfile, as `envdoc
//! cluster launch` does. Every rank must have the same loss after every step.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::outcome::{Captured, Outcome, PhaseFailed, Verdict};
use super::phase::PhaseId;
use crate::container_probe::ContainerProbe;
use crate::jobs;
use crate::launch::{self, FirstFailure};
use crate::plan::ClusterPlan;
use crate::program_line::{self, Stopped};
use crate::request::Launcher;
use crate::worker::bundle::Bundle;
use docker::container;
use docker::engine::Engine;

/// What every rank runs.
pub const SCRIPT: &str = include_str!("../../../../templates/smoke/deepspeed.py");
/// Its file name next to the worker in every container: not `deepspeed.py`, which `import deepspeed` would
/// find.
const SCRIPT_NAME: &str = "zero2.py";
/// Steps of the training.
const STEPS: usize = 20;
/// The longest that it may take, in seconds: from a cold disk torch and DeepSpeed take half a minute to be
/// imported.
const TRAIN_TIMEOUT_SECONDS: u64 = 150;
/// The part by which losses may differ where GPUs differ; the weights are the same everywhere.
const LOSS_TOLERANCE: f64 = 1e-5;
/// The longest that bringing the script may take.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(20);
/// Lines that are kept.
const OUTPUT_LINE_LIMIT: usize = 20_000;

/// What a rank prints.
#[derive(Debug, Clone, Deserialize)]
struct Said {
    rank: i64,
    torch: Option<String>,
    deepspeed: Option<String>,
    backend: Option<String>,
    first: Option<f64>,
    last: Option<f64>,
    #[serde(default)]
    losses: Vec<String>,
    seconds: Option<f64>,
    failed: Option<Stopped>,
}

/// The phase. [`jobs::end_all`] ends what was started, by its `mark`.
pub async fn train(
    plan: &ClusterPlan,
    containers: &[ContainerProbe<'_>],
    mark: &str,
    outcome: &mut Outcome,
) -> Result<(), PhaseFailed> {
    let start = Instant::now();
    let fail = |outcome: &mut Outcome, node: &str, why: String| {
        outcome.verdict = Verdict::Failed;
        outcome.finish_phase(PhaseId::Deepspeed, start, vec![(node.to_owned(), format!("{node}: {why}"))], "")
    };
    for one in containers {
        let uploaded = container::upload(one.engine, &one.node.name, "/", archive());
        let uploaded = tokio::time::timeout(UPLOAD_TIMEOUT, uploaded).await;
        let why = match uploaded {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("the Docker engine does not answer".to_owned()),
        };
        if let Some(why) = why {
            return fail(
                outcome,
                &one.node.name,
                format!("cannot copy the script into the container: {why}"),
            );
        }
    }
    let engines: Vec<(String, &Engine)> =
        containers.iter().map(|one| (one.node.name.clone(), one.engine)).collect();
    let Some((first_node, first_engine)) = engines.first() else { return Ok(()) };
    let (script, seconds, steps) =
        (format!("/{}/{SCRIPT_NAME}", Bundle::NAME), TRAIN_TIMEOUT_SECONDS.to_string(), STEPS.to_string());
    let words = [script, "--seconds".into(), seconds, "--steps".into(), steps];
    let jobs = match launch::jobs(plan, &engines, Launcher::Deepspeed, &words, mark) {
        Ok(jobs) => jobs,
        Err(error) => return fail(outcome, first_node, error.to_string()),
    };
    if let Err(error) = launch::mark_ranks(first_engine, first_node, mark).await {
        return fail(outcome, first_node, error.to_string());
    }
    let first = FirstFailure::of(plan);
    let lines: RefCell<Vec<String>> = RefCell::default();
    let keep = |node: &str, _: bool, line: &str| {
        first.line(node, line);
        let mut lines = lines.borrow_mut();
        if lines.len() < OUTPUT_LINE_LIMIT {
            lines.push(line.to_owned());
        }
    };
    let running = jobs::run(jobs, &engines, mark, true, &first.alarm, &keep);
    // The script ends itself; this is for a launcher that does not.
    let ended = tokio::time::timeout(Duration::from_secs(TRAIN_TIMEOUT_SECONDS + 20), running).await;
    let all = engines.iter().map(|(name, engine)| (name.as_str(), *engine));
    jobs::end_all(all, mark).await;
    launch::unmark_ranks(first_engine, first_node, mark).await;
    let how = match ended {
        Ok(ended) => launch::verdict(&ended, &first),
        Err(_) => Some(format!("not finished within {} s", TRAIN_TIMEOUT_SECONDS + 20)),
    };
    report(plan, &lines.into_inner(), how, start, outcome)
}

/// The script, to be unpacked at the root.
fn archive() -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_mode(0o644);
    header.set_size(SCRIPT.len() as u64);
    // Into memory: it cannot fail.
    let _ = tar.append_data(&mut header, format!("{}/{SCRIPT_NAME}", Bundle::NAME), SCRIPT.as_bytes());
    tar.into_inner().unwrap_or_default()
}

fn node_of(plan: &ClusterPlan, rank: i64) -> String {
    let mut first = 0;
    for node in &plan.nodes {
        first += i64::from(node.slots);
        if rank < first {
            return node.name.clone();
        }
    }
    plan.nodes.first().map_or_else(String::new, |node| node.name.clone())
}

/// Turns the output of the ranks into phases and findings.
fn report(
    plan: &ClusterPlan,
    lines: &[String],
    how: Option<String>,
    start: Instant,
    outcome: &mut Outcome,
) -> Result<(), PhaseFailed> {
    let world: usize = plan.nodes.iter().map(|node| node.slots as usize).sum();
    let all: Vec<Said> = lines.iter().filter_map(|line| program_line::read(line)).collect();
    let mut failed: Vec<(bool, String, String)> = Vec::new();
    for one in &all {
        if let Some(why) = &one.failed {
            let node = node_of(plan, one.rank);
            failed.push((why.waits, node.clone(), format!("{node}: rank {}: {why}", one.rank)));
        }
    }
    failed.sort();
    if failed.is_empty() && (how.is_some() || all.len() < world) {
        let node = node_of(plan, 0);
        // pdsh has the last word, and only says that ssh ended.
        let own = program_line::is_for_envdoc;
        let telling = |line: &&String| !line.trim().is_empty() && !line.starts_with("pdsh@") && !own(line);
        let error = |line: &&String| telling(line) && line.contains("Error");
        let last = lines.iter().rev().find(error).or_else(|| lines.iter().rev().find(telling));
        let last = last.map_or(String::new(), |line| format!("; last output: {}", line.trim()));
        let how = how.unwrap_or_else(|| format!("only {} of {world} ranks reported a loss", all.len()));
        failed.push((false, node, format!("{how}{last}")));
    }
    if !failed.is_empty() {
        outcome.verdict = Verdict::Failed;
        let lines = lines.iter().filter(|line| !program_line::is_for_envdoc(line)).cloned().collect();
        outcome.capture([Captured { from: "deepspeed".into(), lines }]);
        let failed = failed.into_iter().map(|(_, node, message)| (node, message)).collect();
        return outcome.finish_phase(PhaseId::Deepspeed, start, failed, "");
    }
    judge(plan, &all, start, outcome)
}

/// Every rank has reported its losses.
fn judge(plan: &ClusterPlan, all: &[Said], start: Instant, outcome: &mut Outcome) -> Result<(), PhaseFailed> {
    let Some(first) = all.first() else { return Ok(()) };
    let last = |one: &Said| one.last.unwrap_or(f64::NAN);
    let other = all.iter().find(|one| {
        let far = (last(one) - last(first)).abs() > LOSS_TOLERANCE * last(first).abs();
        far || last(one).is_nan() || one.losses.len() != STEPS
    });
    if let Some(other) = other {
        outcome.verdict = Verdict::Wrong;
        let node = node_of(plan, other.rank);
        let message = format!(
            "{node}: rank {} has the loss {} after {} steps, rank {} has {}; their weights have diverged",
            other.rank,
            last(other),
            other.losses.len(),
            first.rank,
            last(first)
        );
        return outcome.finish_phase(PhaseId::Deepspeed, start, vec![(node, message)], "");
    }
    let (begun, ended) = (first.first.unwrap_or(f64::NAN), last(first));
    if ended >= begun || begun.is_nan() {
        outcome.verdict = Verdict::Wrong;
        let node = node_of(plan, first.rank);
        let message = format!(
            "{node}: the loss did not decrease: {begun:.3} after the first step, {ended:.3} after {STEPS}"
        );
        return outcome.finish_phase(PhaseId::Deepspeed, start, vec![(node, message)], "");
    }
    let same = all.iter().all(|one| one.losses == first.losses);
    let message = format!(
        "DeepSpeed {} with torch {} over {} on {} ranks: {STEPS} steps of ZeRO-2 in {:.1} s; the loss \
            decreased from {begun:.3} to {ended:.3} and is {} on all ranks",
        first.deepspeed.as_deref().unwrap_or("?"),
        first.torch.as_deref().unwrap_or("?"),
        first.backend.as_deref().unwrap_or("?"),
        all.len(),
        all.iter().filter_map(|one| one.seconds).fold(0.0, f64::max),
        if same { "bitwise identical" } else { "identical up to rounding" }
    );
    outcome.message += &format!("; {message}");
    outcome.finish_phase(PhaseId::Deepspeed, start, Vec::new(), &message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    /// Two nodes of one rank each.
    fn plan() -> ClusterPlan {
        testing::two_nodes("")
    }

    fn line(rank: usize, last: &str, losses: &str) -> String {
        format!(
            "node{}: ENVDOC {{\"rank\": {rank}, \"host\": \"n\", \"torch\": \"2.6.0\", \"deepspeed\": \
                \"0.19.8\", \"backend\": \"gloo\", \"world\": 2, \"first\": 9.5, \"last\": {last}, \
                \"losses\": \
                [{losses}], \"seconds\": 0.5}}",
            rank + 1
        )
    }

    fn outcome(lines: &[String], how: Option<&str>) -> Outcome {
        let mut outcome = Outcome::new(catalog::testing::catalog(), vec!["node1".into(), "node2".into()]);
        outcome.verdict = Verdict::Ok;
        let _ = report(&plan(), lines, how.map(str::to_owned), Instant::now(), &mut outcome);
        outcome
    }

    #[test]
    fn passes_if_losses_are_identical_and_decrease() {
        let losses = vec!["\"0x1.8p+1\""; STEPS].join(",");
        let good = outcome(&[line(0, "3.0", &losses), line(1, "3.0", &losses)], None);
        assert_eq!(good.verdict, Verdict::Ok);
        assert!(good.message.contains("bitwise identical on all ranks"), "{}", good.message);
        let differ = outcome(&[line(0, "3.0", &losses), line(1, "3.1", &losses)], None);
        assert_eq!(differ.verdict, Verdict::Wrong);
        assert!(
            differ.message.contains("rank 1 has the loss 3.1")
                && differ.phases[0].node.as_deref() == Some("node2")
        );
        let risen = outcome(&[line(0, "9.9", &losses), line(1, "9.9", &losses)], None);
        assert_eq!(risen.verdict, Verdict::Wrong);
        let short = outcome(&[line(0, "3.0", "\"0x1.8p+1\""), line(1, "3.0", &losses)], None);
        assert_eq!(short.verdict, Verdict::Wrong);
    }

    #[test]
    fn rank_that_could_not_start_is_the_cause_with_its_output() {
        let stopped = |rank: usize, stage: &str, waits: bool, error: &str| {
            let failed = serde_json::json!({"stage": stage, "waits": waits, "error": error});
            let result = serde_json::json!({"rank": rank, "host": "a", "failed": failed});
            format!("node{}: ENVDOC {result}", rank + 1)
        };
        let waited = stopped(0, "init_distributed", true, "DistStoreError: Timed out");
        let broke = stopped(1, "import deepspeed", false, "ModuleNotFoundError: No module named 'deepspeed'");
        let trace = "node2: ModuleNotFoundError: No module named 'deepspeed'";
        let bad = outcome(&[waited, broke, trace.into()], Some("node1 ended with 1 after 3.0 s"));
        assert_eq!(bad.verdict, Verdict::Failed);
        assert!(bad.message.starts_with("deepspeed: node2: rank 1: import deepspeed"), "{}", bad.message);
        assert_eq!(bad.captured[0].lines, [trace]);
        let silent =
            outcome(&["bash: line 1: deepspeed: command not found".into()], Some("node1 ended with 127"));
        assert!(silent.message.contains("ended with 127; last output: bash: line 1"), "{}", silent.message);
    }
}
