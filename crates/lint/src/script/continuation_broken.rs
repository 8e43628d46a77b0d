//! A command over several lines that ends too early.

use crate::read::script::Script;
use crate::rule::{Change, Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "continuation-broken",
    severity: Severity::Error,
    summary: "a command over several lines continues to its last line",
    explain: include_str!("continuation_broken.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("run.sh", "torchrun --standalone \\\n  --nproc_per_node=8 \\ \n  train.py\n"),
        named("run.sh", "python train.py \\\n  --lr 1e-4 \\\n  # --bf16 \\\n  --epochs 2\n"),
        named("run.sh", "torchrun --standalone --nproc_per_node=8 train.py\n  --lr 1e-4\n"),
    ],
    silent: &[
        named("run.sh", "torchrun --standalone \\\n  --nproc_per_node=8 \\\n  train.py\n"),
        named("run.sh", "ARGS=(\n  --lr 1e-4\n  # --bf16\n  --epochs 2\n)\npython train.py \"${ARGS[@]}\"\n"),
        named("run.sh", "cat <<EOF\npython x \\ \n --a\nEOF\n# a \\\n# b\necho 'a \\ \n b'\n"),
        named("run.sh", "python train.py \\\n  --epochs 2 \\\n  # the end\n\necho done\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let documents =
        script.documents.iter().flat_map(|document| document.lines.iter().map(|(number, _)| *number));
    let in_documents: std::collections::BTreeSet<usize> = documents.collect();
    let lines: Vec<&str> = script.text.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate().filter(|(index, _)| !in_documents.contains(&(index + 1))) {
        let before = index.checked_sub(1).and_then(|before| lines.get(before)).copied().unwrap_or_default();
        let next = || lines[index + 1..].iter().find(|line| !line.trim().is_empty());
        // Only where it matters: many blank lines would each look for the end of all.
        let after = || next().map_or("", |line| line.trim_start());
        let comment = line.trim_start().starts_with('#');
        let goes_on = |line: &str| {
            line.ends_with('\\') && !line.ends_with("\\\\") && !line.trim_start().starts_with('#')
        };
        let blank = line.trim_end().ends_with('\\') && !line.ends_with('\\') && !comment;
        let is_option = |text: &str| {
            text.starts_with("--") || (text.starts_with('-') && text.len() > 1 && !text.starts_with("- "))
        };
        if blank && (goes_on(before) || is_option(after())) {
            let message = "a blank follows the backslash, so the command ends here; the next line is a \
                command of its own";
            let blanks = &line[line.trim_end().len()..];
            let change = Change::end(index + 1, &format!("\\{blanks}"), "\\");
            found.push(Found::error(index + 1, message, "Remove the blank").change(change));
        } else if comment && goes_on(before) && is_option(after()) {
            let message = "the comment ends the command; the options below it are a command of their own";
            found.push(Found::error(
                index + 1,
                message,
                "Move the comment above the command, or keep the options in an array",
            ));
        } else if is_option(line.trim_start()) && starts_job(before) {
            let message =
                "no backslash at the end of the line before; this line runs as a command of its own";
            found.push(Found::error(index + 1, message, "End the line before with ` \\`"));
        }
    }
    found
}

/// Whether a line starts a job and ends its command.
fn starts_job(line: &str) -> bool {
    const PROGRAMS: &[&str] = &["torchrun", "deepspeed", "accelerate", "mpirun", "srun", "python", "python3"];
    let first = line.split_whitespace().next().unwrap_or_default();
    let ends = !line.trim_end().ends_with(['\\', '(', '|', '&', '\'', '"', ';']);
    PROGRAMS.contains(&first) && ends && !line.contains(['\'', '"'])
}
