//! The report as Markdown.

use crate::smoke::outcome::{Measured, Outcome};

/// Markdown for an issue or a pull request.
pub fn markdown(outcome: &Outcome) -> String {
    let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    let mut text = format!("**smoke: {}** - {}\n\n", outcome.verdict.id(), cell(&outcome.says));
    text += "| phase | node | status | seconds | |\n|---|---|---|---:|---|\n";
    for phase in &outcome.phases {
        let node = phase.node.as_deref().unwrap_or("all");
        let (status, seconds) = (phase.status.id(), phase.seconds);
        text += &format!(
            "| {} | {} | {status} | {seconds:.2} | {} |\n",
            phase.id.id(),
            cell(node),
            cell(&phase.says)
        );
    }
    text += &sizes(&outcome.results);
    if let Some(nccl) = outcome.nccl.as_ref().filter(|nccl| nccl.results != outcome.results) {
        text += "\nNCCL on the GPUs:\n";
        text += &sizes(&nccl.results);
    }
    for cause in &outcome.causes.causes {
        text += &format!("\n**{}**: {}\n", cause.id, cell(&cause.message));
        for line in cause.evidence.iter().take(3) {
            text += &format!("\n    {}:{}: {}\n", line.file, line.line, line.text);
        }
    }
    for (heading, list) in [("What to do", &outcome.fix), ("Remarks", &outcome.remarks)] {
        if !list.is_empty() {
            text += &format!("\n{heading}:\n\n");
        }
        for says in list {
            text += &format!("- {says}\n");
        }
    }
    text
}

/// A table of sizes in Markdown.
fn sizes(results: &[Measured]) -> String {
    let head = "\n| bytes | time, µs | algbw, GB/s | busbw, GB/s | correct |\n|---:|---:|---:|---:|---|\n";
    let row = |result: &Measured| {
        format!(
            "| {} | {:.1} | {:.3} | {:.3} | {} |\n",
            result.bytes,
            result.seconds * 1e6,
            result.algorithm / 1e9,
            result.bus / 1e9,
            if result.wrong == 0 { "yes" } else { "no" }
        )
    };
    match results.is_empty() {
        true => String::new(),
        false => head.to_owned() + &results.iter().map(row).collect::<String>(),
    }
}
