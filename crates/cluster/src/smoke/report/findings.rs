//! The phases and the verdict as findings, for the renderers that all commands share.

use super::plot;
use super::text::time;
use crate::smoke::bandwidth::size;
use crate::smoke::outcome::{Measured, Outcome, Phase, Status, Verdict};
use crate::smoke::phase::{self, PhaseId};
use diagnose::root_cause::Cause;
use diagnostic::layout::Mark;
use diagnostic::report::{self, Body, Column, Report, Row, Section, Step};
use diagnostic::{Diagnostic, Subject};

/// A result for each phase, and for each node that a phase failed on; the verdict is the last one and has the
/// causes and fixes.
pub fn report(outcome: &Outcome) -> Report {
    let verdict = report::Outcome::new(phase::verdict(), verdict(outcome));
    Report {
        command: "envdoc smoke",
        about: about(outcome),
        properties: vec![
            ("verdict", outcome.verdict.id().to_owned()),
            ("ranks", outcome.ranks.len().to_string()),
            ("transport", outcome.transport.clone()),
        ],
        overview: Vec::new(),
        results: outcome.phases.iter().map(|phase| of_phase(outcome, phase)).chain([verdict]).collect(),
        sections: sections(outcome),
    }
}

/// The verdict, the ranks, and what they ran on.
fn about(outcome: &Outcome) -> Vec<String> {
    let mut about = vec![
        format!("{}: {}", outcome.verdict.id(), outcome.message),
        format!("{} ranks over {}: {}", outcome.ranks.len(), outcome.transport, outcome.ranks.join(", ")),
    ];
    about.extend(outcome.hardware.iter().cloned());
    about.extend(outcome.network.speed.map(|speed| format!("Slowest link: {speed} Mbit/s")));
    let mut known: Vec<(String, usize)> = Vec::new();
    for rank in outcome.nccl.iter().flat_map(|nccl| &nccl.ranks) {
        let (gpu, library) = (&rank.gpu, &rank.library);
        let driver = gpu.driver.as_deref().unwrap_or("unknown");
        let shown = format!("{} · driver {driver} · CUDA {} · NCCL {}", gpu.name, gpu.cuda, library.version);
        match known.iter_mut().find(|(other, _)| *other == shown) {
            Some((_, count)) => *count += 1,
            None => known.push((shown, 1)),
        }
    }
    about.extend(known.into_iter().map(|(gpu, count)| format!("{count} × {gpu}")));
    about
}

/// What was measured, and what else should be known.
fn sections(outcome: &Outcome) -> Vec<Section> {
    let gpus = outcome.nccl.as_ref().filter(|nccl| nccl.results != outcome.results);
    let gpus = gpus.map_or(&[][..], |nccl| &nccl.results);
    let plot = |results: &[Measured], expected| Body::Chart(Box::new(plot::chart(results, expected)));
    let slow = slow_sizes(outcome);
    // The finding of any other verdict has the fixes.
    let fixes = if outcome.verdict == Verdict::Unknown { outcome.fixes.clone() } else { Vec::new() };
    let all = [
        ("What to do", Body::Fixes(fixes)),
        ("Bandwidth by size", plot(&outcome.results, outcome.expected.as_ref())),
        ("Sizes", sizes(&outcome.results, &slow)),
        ("Bandwidth of NCCL on the GPUs", plot(gpus, None)),
        ("Sizes of NCCL on the GPUs", sizes(gpus, &[])),
        ("Remarks", Body::List(outcome.remarks.clone())),
    ];
    all.into_iter().filter_map(|(heading, body)| Section::new(heading, body)).collect()
}

/// The sizes to mark: those that were compared with a baseline, else the largest, which is compared with the
/// path.
fn slow_sizes(outcome: &Outcome) -> Vec<usize> {
    let largest = outcome.results.last().map(|result| result.bytes);
    match outcome.slow.contains(&PhaseId::Bandwidth) && outcome.slow_sizes.is_empty() {
        true => largest.into_iter().collect(),
        false => outcome.slow_sizes.clone(),
    }
}

/// The mark of what is correct and too slow.
const SLOW: (Mark, &str) = (Mark::Warning, "slow");

const SIZES: &[Column] = &[
    Column::number("size"),
    Column::number("time"),
    Column::number("algbw, GB/s"),
    Column::number("busbw, GB/s"),
    Column::words("correct"),
];

fn sizes(results: &[Measured], slow: &[usize]) -> Body {
    let row = |result: &Measured| {
        let cells = vec![
            size(result.bytes),
            time(result.seconds),
            format!("{:.3}", result.algorithm / 1e9),
            format!("{:.3}", result.bus / 1e9),
            if result.wrong == 0 { "yes" } else { "no" }.to_owned(),
        ];
        let mark = match (result.wrong > 0, slow.contains(&result.bytes)) {
            (true, _) => Some((Mark::Error, "wrong")),
            (false, slow) => slow.then_some(SLOW),
        };
        Row { cells, mark }
    };
    Body::Table { columns: SIZES, rows: results.iter().map(row).collect() }
}

fn of_phase(outcome: &Outcome, phase: &Phase) -> report::Outcome {
    let subject = phase.node.as_ref().map(Subject::node).unwrap_or_default();
    let verdict = match phase.status {
        Status::Passed => diagnostic::Verdict::Pass,
        Status::Skipped => diagnostic::Verdict::NotApplicable(phase.message.clone()),
        Status::Unknown => diagnostic::Verdict::unknown(phase.message.clone()),
        Status::Failed => {
            let found = Diagnostic { subject: subject.clone(), ..Diagnostic::error(&phase.message) };
            diagnostic::Verdict::Found(Box::new(found))
        }
    };
    // Rounds were repeated because something looked slow; here it still did.
    let repeated = phase.id == PhaseId::Repeat && !outcome.slow.is_empty();
    let slow = phase.status == Status::Passed && (repeated || outcome.slow.contains(&phase.id));
    let observed = phase.message.clone();
    let step = Some(Step { seconds: phase.seconds, observed, mark: slow.then_some(SLOW) });
    report::Outcome { subject, step, ..report::Outcome::new(phase.id, verdict) }
}

fn verdict(outcome: &Outcome) -> diagnostic::Verdict {
    if outcome.verdict == Verdict::Ok {
        return diagnostic::Verdict::Pass;
    }
    if outcome.verdict == Verdict::Unknown {
        return diagnostic::Verdict::unknown(outcome.message.clone());
    }
    let message = format!("{}: {}", outcome.verdict.id(), outcome.message);
    let evidence = outcome.causes.causes.iter().flat_map(of_cause).collect();
    let fixes = outcome.fixes.clone();
    diagnostic::Verdict::Found(Box::new(Diagnostic { evidence, fixes, ..Diagnostic::error(message) }))
}

/// A cause and the lines that it rests on.
fn of_cause(cause: &Cause) -> Vec<String> {
    let lines = cause.evidence.iter().map(|line| format!("{}:{}: {}", line.file, line.line, line.text));
    [format!("{}: {}", cause.id, cause.message)].into_iter().chain(lines).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::smoke::outcome::Captured;
    use crate::smoke::phase::PhaseId;
    use diagnostic::Fix;
    use diagnostic::render::{github, markdown, sarif};

    /// Two ranks; the second node's torch cannot be imported.
    fn failed() -> Outcome {
        let mut outcome = Outcome::new(catalog::testing::catalog(), vec!["node1".into(), "node2".into()]);
        let start = Instant::now();
        let _ = outcome.finish_phase(PhaseId::Tcp, start, Vec::new(), "all pairs connect");
        outcome.capture([Captured {
            from: "torch on node2".into(),
            lines: vec!["ModuleNotFoundError: No module named 'torch'".into()],
        }]);
        let why = ("node2".to_owned(), "node2: rank 1: import torch".to_owned());
        let _ = outcome.finish_phase(PhaseId::Torch, start, vec![why], "");
        outcome.fixes.push(Fix::manual("Install torch in the image"));
        outcome
    }

    #[test]
    fn a_failed_phase_names_its_node_and_the_verdict_has_causes_and_fixes() {
        let report = report(&failed());
        let ids: Vec<_> = report.results.iter().map(|result| result.rule.id.as_ref()).collect();
        assert_eq!(ids, ["tcp", "torch", "verdict"]);
        let summary = report.summary();
        assert_eq!((summary.pass, summary.error), (1, 2));
        assert_eq!(report.results[1].subject, Subject::node("node2"));
        let verdict = report.results[2].verdict.found().unwrap();
        assert!(verdict.evidence.iter().any(|line| line.contains("No module named 'torch'")), "{verdict:?}");
        assert_eq!(verdict.fixes, [Fix::manual("Install torch in the image")]);
    }

    #[test]
    fn github_annotations_and_sarif_have_every_failure() {
        let report = report(&failed());
        let annotations = github::report(&report);
        assert!(
            annotations.starts_with("::error title=node2%3A torch::node2: rank 1: import torch\n"),
            "{annotations}"
        );
        assert!(annotations.contains("::error title=verdict::failed: torch: node2"), "{annotations}");
        let sarif = sarif::report(&report);
        let results = sarif["runs"][0]["results"].as_array().unwrap();
        let rules: Vec<_> = results.iter().map(|result| result["ruleId"].as_str().unwrap()).collect();
        assert_eq!(rules, ["torch", "verdict"]);
        assert_eq!(sarif["runs"][0]["properties"]["verdict"], "failed");
    }

    #[test]
    fn an_unknown_verdict_says_what_to_do() {
        let mut outcome = failed();
        outcome.verdict = Verdict::Unknown;
        let text = markdown::report(&report(&outcome));
        assert!(text.contains("## What to do\n\nFix: Install torch in the image\n"), "{text}");
        assert_eq!(text.matches("Install torch in the image").count(), 1, "{text}");
        assert_eq!(markdown::report(&report(&failed())).matches("Install torch").count(), 1);
    }

    #[test]
    fn commands_are_code_and_a_restart_is_announced() {
        let mut outcome = failed();
        outcome.fixes = vec![Fix::restarts_service("Restart it, on node2:", &["docker restart node2"])];
        let shown = "Fix (restarts a service): Restart it, on node2:\n\n```sh\ndocker restart node2\n```\n";
        for verdict in [Verdict::Failed, Verdict::Unknown] {
            outcome.verdict = verdict;
            let text = markdown::report(&report(&outcome));
            assert!(text.contains(shown), "{text}");
        }
    }

    /// A slow run whose phases all passed: the phase and the size that are slow have a mark.
    #[test]
    fn what_is_slow_is_marked() {
        let mut outcome = Outcome::new(catalog::testing::catalog(), vec!["rank 0".into(), "rank 1".into()]);
        let start = Instant::now();
        for phase in [PhaseId::Tcp, PhaseId::Bandwidth, PhaseId::Repeat] {
            let _ = outcome.finish_phase(phase, start, Vec::new(), "all sizes");
        }
        let measured = |bytes, seconds| Measured::new(bytes, seconds, 2, 0);
        outcome.results = vec![measured(8, 17.1e-6), measured(1 << 20, 2.692_815_6)];
        let marks = |outcome: &Outcome| {
            let report = report(outcome);
            let steps = report.results.iter().filter_map(|result| result.step.as_ref());
            let steps: Vec<_> = steps.map(|step| step.mark.map_or("", |(_, word)| word)).collect();
            let Body::Table { rows, .. } = &report.sections[1].body else { panic!("the sizes") };
            let rows: Vec<_> = rows.iter().map(|row| row.mark.map_or("", |(_, word)| word)).collect();
            (steps, rows)
        };
        outcome.verdict = Verdict::Ok;
        assert_eq!(marks(&outcome), (vec!["", "", ""], vec!["", ""]));
        outcome.verdict = Verdict::Slow;
        outcome.slow = vec![PhaseId::Bandwidth];
        assert_eq!(marks(&outcome), (vec!["", "slow", "slow"], vec!["", "slow"]));
        outcome.slow_sizes = vec![8];
        assert_eq!(marks(&outcome).1, ["slow", ""]);
        let text = markdown::report(&report(&outcome));
        assert!(text.contains("| 1 MiB | 2.69 s | ") && text.contains("| 8 bytes **slow** |"), "{text}");
    }

    #[test]
    fn a_run_that_passes_has_no_findings() {
        let mut outcome = Outcome::new(catalog::testing::catalog(), vec!["rank 0".into(), "rank 1".into()]);
        outcome.verdict = Verdict::Ok;
        let _ = outcome.finish_phase(PhaseId::Tcp, Instant::now(), Vec::new(), "all pairs connect");
        let report = report(&outcome);
        assert_eq!((report.summary().pass, report.results.len()), (2, 2));
        assert_eq!(github::report(&report), "");
    }
}
