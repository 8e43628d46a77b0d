//! The report as text: the phases, the bandwidths, the verdict.

use std::fmt::Write;

use anstyle::AnsiColor;

use crate::report::unreached;
use crate::smoke::outcome::{Measured, Outcome, Phase, Status, Verdict};
use diagnostic::Fix;
use diagnostic::layout::Layout;
use diagnostic::terminal::colour;

/// Rows of the table of bandwidths unless all are asked for.
const TABLE_ROWS: usize = 8;

pub fn report(outcome: &Outcome, layout: &Layout) -> String {
    let mut text = String::new();
    let world = outcome.ranks.len();
    let _ = writeln!(
        text,
        "{world} rank{} over {}: {}\n",
        if world == 1 { "" } else { "s" },
        outcome.transport,
        outcome.ranks.join(", ")
    );
    text += &unreached::nodes(&outcome.access, *layout);
    let unusable = |node: &str| outcome.access.iter().any(|one| one.node == node && one.problem.is_some());
    let shown = |phase: &&Phase| !phase.node.as_deref().is_some_and(unusable);
    for phase in outcome.phases.iter().filter(shown) {
        let (sign, style) = match (phase.status, layout.unicode) {
            (Status::Passed, true) => ("✓", colour(AnsiColor::Green)),
            (Status::Passed, false) => ("+", colour(AnsiColor::Green)),
            (Status::Failed, true) => ("✗", colour(AnsiColor::Red).bold()),
            (Status::Failed, false) => ("x", colour(AnsiColor::Red).bold()),
            (Status::Unknown, _) => ("?", colour(AnsiColor::Yellow).bold()),
            (Status::Skipped, _) => ("-", colour(AnsiColor::BrightBlack)),
        };
        let indent = " ".repeat(27);
        let message = textwrap::fill(
            &phase.message,
            textwrap::Options::new(layout.width.max(60)).initial_indent(&indent).subsequent_indent(&indent),
        );
        let _ = writeln!(
            text,
            "{style}{sign}{style:#} {:<14} {:>6.2} s  {}",
            phase.id.id(),
            phase.seconds,
            message.trim_start()
        );
    }
    table(&outcome.results, layout, "", &mut text);
    if let Some(nccl) = outcome.nccl.as_ref().filter(|nccl| nccl.results != outcome.results) {
        table(&nccl.results, layout, "NCCL on the GPUs:", &mut text);
    }
    let style = match outcome.verdict {
        Verdict::Ok => colour(AnsiColor::Green).bold(),
        Verdict::Slow | Verdict::Unknown => colour(AnsiColor::Yellow).bold(),
        Verdict::Wrong | Verdict::Failed => colour(AnsiColor::Red).bold(),
    };
    let verdict = format!("{}: {}", outcome.verdict.id(), outcome.message);
    let verdict = textwrap::fill(&verdict, layout.width.max(60));
    let (word, rest) = verdict.split_at(outcome.verdict.id().len());
    let _ = writeln!(text, "\n{style}{word}{style:#}{rest}");
    if !outcome.causes.causes.is_empty() {
        text.push('\n');
        text += &diagnose::report::text::brief(&outcome.causes, *layout);
    }
    let problems = outcome.access.iter().filter_map(|one| one.problem.as_ref());
    let above: Vec<&Fix> = problems.flat_map(|problem| &problem.fixes).collect();
    let fixes = outcome.fixes.iter().filter(|fix| !above.contains(fix)).map(Fix::to_string).collect();
    let arrow = if layout.unicode { "→" } else { "->" };
    for (sign, list) in [(arrow, &fixes), ("note:", &outcome.remarks)] {
        for message in list {
            let indent = " ".repeat(sign.chars().count() + 3);
            let first = format!("  {sign} ");
            let options = textwrap::Options::new(layout.width.max(60))
                .initial_indent(&first)
                .subsequent_indent(&indent);
            let _ = writeln!(text, "{}", textwrap::fill(message, options));
        }
    }
    text
}

/// The largest sizes tell of bandwidth, the smallest of latency: where there are many, every few are shown.
fn table(results: &[Measured], layout: &Layout, title: &str, text: &mut String) {
    if results.is_empty() {
        return;
    }
    if !title.is_empty() {
        let _ = writeln!(text, "\n{title}");
    }
    let _ = writeln!(text, "\n{:>12} {:>12} {:>14} {:>14}", "bytes", "time", "algbw GB/s", "busbw GB/s");
    let last = results.len() - 1;
    let step = if layout.verbose { 1 } else { last / TABLE_ROWS + 1 };
    for (row, result) in results.iter().enumerate() {
        if !(last - row).is_multiple_of(step) && row != 0 {
            continue;
        }
        let _ = writeln!(
            text,
            "{:>12} {:>12} {:>14.3} {:>14.3}",
            result.bytes,
            time(result.seconds),
            result.algorithm / 1e9,
            result.bus / 1e9
        );
    }
}

/// `17.1 µs`, `3.56 ms`, `2.69 s`.
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smoke::phase::PhaseId;
    use crate::testing::{LAYOUT, SIX_NODES, plain, six_nodes};
    use std::time::Instant;

    #[test]
    fn unreachable_nodes_are_a_table_and_a_line_for_each_cause() {
        let ranks: Vec<String> = (1..=6).map(|number| format!("node{number}")).collect();
        let mut outcome = Outcome::new(catalog::testing::catalog(), ranks);
        let mut failed = vec![("node1".to_owned(), "node1: no container of this cluster".to_owned())];
        for one in six_nodes() {
            let Some(problem) = one.problem else { continue };
            failed.push((one.node.clone(), format!("{}: {}", one.node, problem.message)));
            outcome.fixes.extend(problem.fixes);
        }
        outcome.fixes.push(Fix::manual("Create what is missing"));
        let _ = outcome.finish_phase(PhaseId::Containers, Instant::now(), failed, "");
        outcome.access = six_nodes();
        let shown = plain(&report(&outcome, &LAYOUT));
        assert!(shown.contains(&format!("\n\n{SIX_NODES}✗ containers ")), "{shown}");
        for once in ["do something about node2", "do something about node3", "Create what is missing"] {
            assert_eq!(shown.matches(once).count(), 1, "{once}: {shown}");
        }
        assert_eq!(shown.matches("10.0.0.5 cannot").count(), 0, "{shown}");
    }
}
