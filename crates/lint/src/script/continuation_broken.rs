//! A command over several lines that ends too early.

use std::collections::BTreeSet;

use crate::programs;
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
        named("run.sh", "torchrun --standalone \\\n  # --max-restarts=3 \\\n  train.py \\\n  --lr 1e-4\n"),
        named("run.sh", "torchrun --standalone --nproc_per_node=8 train.py\n  --lr 1e-4\n"),
        named("run.sh", "opts=(--bf16)\ntorchrun --standalone train.py\n  --lr 1e-4\n"),
    ],
    silent: &[
        named("run.sh", "torchrun --standalone \\\n  --nproc_per_node=8 \\\n  train.py\n"),
        named("run.sh", "ARGS=(\n  --lr 1e-4\n  # --bf16\n  --epochs 2\n)\npython train.py \"${ARGS[@]}\"\n"),
        named(
            "run.sh",
            "job=(\n  torchrun\n  --standalone   # one node (8 GPUs)\n  --nproc_per_node=8\n  train.py\n\
             \x20 --tag=\"a (b\"\n)\n\"${job[@]}\"\n",
        ),
        named("run.sh", "cat <<EOF\npython x \\ \n --a\nEOF\n# a \\\n# b\necho 'a \\ \n b'\n"),
        named("run.sh", "python train.py \\\n  --epochs 2 \\\n  # the end\n\necho done\n"),
        named("run.sh", "python train.py \\\n  --epochs 2 \\\n  # --bf16 \\\n  # --lr 1 \\\n\necho done\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let lines: Vec<&str> = script.text.lines().collect();
    let in_documents = in_documents(script);
    let in_arrays = in_arrays(&lines, &in_documents);
    let mut found = Vec::new();
    let is_code = |index: usize| !in_documents.contains(&(index + 1)) && !in_arrays.contains(&(index + 1));
    for (index, line) in lines.iter().enumerate().filter(|(index, _)| is_code(*index)) {
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
            let message = "a space follows the backslash, so the command ends here; the next line is a \
                command of its own";
            let blanks = &line[line.trim_end().len()..];
            let change = Change::end(index + 1, &format!("\\{blanks}"), "\\");
            let one = match is_in_quotes(&lines, index) {
                true => {
                    let message = "a space follows the backslash inside quotes, so the text keeps the \
                        backslash, and a program gets it as an argument";
                    Found::warning(index + 1, message, "Remove the space")
                }
                false => Found::error(index + 1, message, "Remove the space"),
            };
            found.push(one.change(change));
        } else if comment
            && goes_on(before)
            && (is_option(after()) || line.ends_with('\\') && goes_on_below(&lines, index))
        {
            let message = "the comment ends the command; the lines below it are a command of their own";
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

/// Whether the end of a line is inside of a text in double quotes that began in it, or in the lines that go
/// on to it.
fn is_in_quotes(lines: &[&str], index: usize) -> bool {
    let goes_on = |line: &&&str| line.trim_end().ends_with('\\');
    let above = lines[..index].iter().rev().take_while(goes_on).count();
    let quotes =
        lines[index - above..=index].iter().map(|line| line.replace("\\\"", "").matches('"').count());
    quotes.sum::<usize>() % 2 == 1
}

/// Whether comments are followed directly by something else than a blank line.
fn goes_on_below(lines: &[&str], comment: usize) -> bool {
    let below = lines[comment + 1..].iter().map(|line| line.trim());
    below.into_iter().find(|line| !line.starts_with('#')).is_some_and(|line| !line.is_empty())
}

/// The lines, from 1, of here-documents.
fn in_documents(script: &Script) -> BTreeSet<usize> {
    script.documents.iter().flat_map(|document| document.lines.iter().map(|(number, _)| *number)).collect()
}

/// The lines, from 1, inside `NAME=( … )`: the end of a line separates elements there as a blank does.
fn in_arrays(lines: &[&str], in_documents: &BTreeSet<usize>) -> BTreeSet<usize> {
    let mut elements = BTreeSet::new();
    let (mut depth, mut quote) = (0_usize, None);
    for (index, line) in lines.iter().enumerate().filter(|(index, _)| !in_documents.contains(&(index + 1))) {
        let mut rest = *line;
        if depth > 0 {
            elements.insert(index + 1);
        } else {
            let Some((_, begun)) = line.split_once("=(").filter(|(name, _)| is_assigned(name)) else {
                continue;
            };
            (rest, depth, quote) = (begun, 1, None);
        }
        let (mut before, mut escaped) = (' ', false);
        for letter in rest.chars() {
            match (quote, letter) {
                _ if escaped => escaped = false,
                (None | Some('"'), '\\') => escaped = true,
                (Some(open), _) if letter == open => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') => quote = Some(letter),
                (None, '#') if before.is_whitespace() => break,
                (None, '(') => depth += 1,
                (None, ')') => depth = depth.saturating_sub(1),
                _ => {}
            }
            before = letter;
        }
    }
    elements
}

/// Whether a text ends with the name of an array that is assigned: `ARGS`, `local -a args`, `ARGS+`.
fn is_assigned(text: &str) -> bool {
    let name = text.split_whitespace().next_back().unwrap_or_default().trim_end_matches('+');
    let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    !text.ends_with(char::is_whitespace)
        && !text.contains(['#', '"', '\''])
        && !name.is_empty()
        && name.chars().all(fits)
}

/// Whether a line starts a job and ends its command.
fn starts_job(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    let ends = !line.trim_end().ends_with(['\\', '(', '|', '&', '\'', '"', ';']);
    (programs::is_python(first) || programs::starts_tasks(first)) && ends && !line.contains(['\'', '"'])
}
