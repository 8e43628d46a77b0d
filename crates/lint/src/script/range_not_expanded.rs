//! A range in braces whose end is a variable.

use crate::read::handed::all_commands;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "range-not-expanded",
    severity: Severity::Error,
    summary: "ranges in braces have plain ends",
    explain: include_str!("range_not_expanded.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "run.sh",
            "for i in {0..$N}; do CUDA_VISIBLE_DEVICES=$i python eval.py --shard $i & done\nwait\n",
        ),
        named("run.sh", "N=4\nfor rank in {1..${N}}; do echo $rank; done\n"),
        named("run.sh", "parallel python eval.py ::: {0..$((N-1))}\n"),
        named("run.sh", "mkdir -p /data/shard-{00..$LAST}\n"),
    ],
    silent: &[
        named("run.sh", "for i in {0..7}; do echo $i; done\n"),
        named(
            "run.sh",
            "for i in $(seq 0 $N); do echo $i; done\nfor i in $(eval echo {0..$N}); do echo $i; done\n",
        ),
        named(
            "run.sh",
            "eval \"for i in {0..$N}; do echo; done\"\npython t.py --data \"s3://b/{00..$N}.tar\"\n",
        ),
        named("run.sh", "#!/bin/zsh\nfor i in {0..$N}; do echo $i; done\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let first = script.text.lines().next().unwrap_or_default();
    if first.starts_with("#!") && (first.contains("zsh") || first.contains("ksh")) {
        return Vec::new();
    }
    let mut found: Vec<Found> = Vec::new();
    for command in all_commands(script).iter().filter(|command| command.program() != "eval") {
        for word in command.words.iter().filter(|word| !word.quoted) {
            let Some(range) = range(&word.text) else { continue };
            let line = word.line.max(command.line);
            let message =
                format!("bash expands {range} before its variables: it stays one word, as it is written");
            if found.last().is_none_or(|one| one.line != line) {
                found.push(Found::error(
                    line,
                    message,
                    "Use `$(seq FIRST LAST)`, or `for ((i = 0; i < N; i++))`",
                ));
            }
        }
    }
    found
}

/// The first range of a word with a variable in it; nothing inside of a substitution.
fn range(text: &str) -> Option<&str> {
    let open = text.match_indices('{').map(|(at, _)| at).find(|at| !text[..*at].ends_with('$'))?;
    if text[..open].contains("$(") || text[..open].contains('`') {
        return None;
    }
    let inner = &text[open + 1..];
    let dots = inner.find("..")?;
    let (from, rest) = (&inner[..dots], &inner[dots + 2..]);
    let end = closing(rest)?;
    let to = &rest[..end];
    let plain = |end: &str| !end.is_empty() && !end.contains([',', '/', ' ']);
    (plain(from) && !to.is_empty() && (from.contains('$') || to.contains('$')))
        .then(|| &text[open..open + 1 + dots + 2 + end + 1])
}

/// Where the brace that is open at the beginning of a text is closed.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}
