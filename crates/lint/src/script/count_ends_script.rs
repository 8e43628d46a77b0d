//! A count or a search whose empty result ends the script before it is looked at.

use super::pipe_status_lost::ends_at_failure;
use crate::read::posix::masked;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "count-ends-script",
    severity: Severity::Warning,
    summary: "with `set -e`, a search that may find nothing does not end the script",
    explain: include_str!("count_ends_script.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "check.sh",
            "#!/bin/bash\nset -euo pipefail\nn=$(nvidia-smi -L | grep -c H100)\nif [ \"$n\" -eq 0 ]; then\n  \
             echo 'no H100'\n  exit 3\nfi\n",
        ),
        named(
            "check.sh",
            "#!/bin/bash -e\npid=$(pgrep -f train.py)\nif [[ -z $pid ]]; then python train.py; fi\n",
        ),
        named(
            "check.sh",
            "#!/bin/bash\nset -eo pipefail\nlast=$(ls ckpt | grep step_ | sort | tail -1)\n[ -n \"$last\" \
             ] && \
             ARGS=$last\n",
        ),
    ],
    silent: &[
        named("check.sh", "#!/bin/bash\nset -e\nn=$(grep -c x f || true)\n[ \"$n\" -eq 0 ] && echo none\n"),
        named("check.sh", "#!/bin/bash\nn=$(grep -c x f)\nif [ $n -eq 0 ]; then echo none; fi\n"),
        named("check.sh", "#!/bin/bash\nset -e\nl=$(ls | grep x | tail -1)\nif [ -z \"$l\" ]; then a; fi\n"),
        named(
            "check.sh",
            "#!/bin/bash\nset -e\nif n=$(grep -c x f); then echo \"$n\"; fi\n[ $n -eq 0 ] || a\n",
        ),
        named("check.sh", "#!/bin/bash\nset -e\nn=$(grep -c x f) || n=0\n[ $n -eq 0 ] && a\nm=$(grep y f)\n"),
        named("check.sh", "#!/bin/bash\nset -e\nf() {\n  local n=$(grep -c x f)\n  [ $n -eq 0 ] && a\n}\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let head = script.text.lines().next().unwrap_or_default();
    let pipefail = masked(&script.text).contains("pipefail") || head.contains("pipefail");
    let mut found = Vec::new();
    for (at, command) in script.commands.iter().enumerate() {
        let [(name, value)] = &command.sets[..] else { continue };
        let plain = command.words.is_empty() && command.exports.is_empty() && !command.condition;
        if !plain || command.after == "||" || command.after == "&&" || !ends_at_failure(script, command.line)
        {
            continue;
        }
        let Some(search) = search(&value.text, pipefail) else { continue };
        let later = script.commands[at + 1..].iter();
        let mut later = later.take_while(|one| !one.sets.iter().any(|(other, _)| other == name));
        let Some(test) = later.find_map(|one| asks(&one.text(), name).then_some(one.line)) else { continue };
        let message = format!(
            "{search} fails where it finds nothing, and `set -e` ends the script here without a message; the \
             test in line {test} never sees that"
        );
        let fix = "Write `|| true` behind it, inside of the parentheses";
        found.push(Found::warning(command.line, message, fix));
    }
    found
}

/// The search whose exit status is that of a command substitution.
fn search(value: &str, pipefail: bool) -> Option<&'static str> {
    let inner = value.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')'))?;
    if inner.contains("||") || inner.contains([';', '\n']) || inner.contains("&&") {
        return None;
    }
    let parts: Vec<&str> = masked_parts(inner);
    let counted = if pipefail { &parts[..] } else { parts.last().map(std::slice::from_ref)? };
    const SEARCHES: &[&str] = &["grep", "egrep", "fgrep", "pgrep"];
    let program = |part: &str| part.split_whitespace().next().unwrap_or_default().to_owned();
    counted.iter().find_map(|part| SEARCHES.iter().copied().find(|name| program(part) == *name))
}

/// The commands of a pipeline.
fn masked_parts(text: &str) -> Vec<&str> {
    let mask = masked(text);
    let mut parts = Vec::new();
    let mut from = 0;
    for (at, _) in mask.match_indices('|') {
        parts.extend(text.get(from..at));
        from = at + 1;
    }
    parts.extend(text.get(from..));
    parts
}

/// Whether a test asks for what an empty search gives.
fn asks(text: &str, name: &str) -> bool {
    let variable = [format!("${name}"), format!("${{{name}}}")];
    let words: Vec<&str> = text.split_whitespace().collect();
    if !matches!(words.first(), Some(&("[" | "[[" | "test"))) {
        return false;
    }
    let is = |word: &str| variable.iter().any(|one| one == word);
    let empty = words.windows(2).any(|two| matches!(two[0], "-z" | "-n") && is(two[1]));
    let zero = words.windows(3).any(|three| {
        is(three[0]) && matches!(three[1], "-eq" | "=" | "==" | "-gt" | "-lt" | "-ne") && three[2] == "0"
            || is(three[0]) && three[1] == "-lt" && three[2] == "1"
    });
    empty || zero
}
