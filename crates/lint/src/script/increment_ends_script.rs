//! `((x++))` from 0 in a script with `set -e`.

use std::collections::{BTreeMap, BTreeSet};

use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "increment-ends-script",
    severity: Severity::Warning,
    summary: "scripts with `set -e` do not count up from 0 with `((x++))`",
    explain: include_str!("increment_ends_script.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "wait.sh",
            "#!/bin/bash\nset -euo pipefail\ntries=0\nuntil curl -f localhost:8000; \
             do\n  ((tries++))\n  sleep 5\ndone\n",
        ),
        named("run.sh", "#!/bin/bash -e\nfailed=0\nfor f in *; do\n  let failed++\ndone\n"),
    ],
    silent: &[
        named(
            "a.sh",
            "#!/bin/bash\nset -e\ntries=0\nuntil\n  (( tries++ ))\n  umount /mnt\ndo\n  sleep 1\ndone\n",
        ),
        named("a.sh", "#!/bin/bash\ntries=0\nuntil curl -f localhost; do\n  ((tries++))\ndone\n"),
        named(
            "a.sh",
            "#!/bin/bash\nset -e\ntries=0\nwhile true; do\n  ((tries++)) || true\n  ((++tries))\ndone\n",
        ),
        named("a.sh", "#!/bin/bash\nset -e\ntries=1\nwhile true; do\n  ((tries++))\ndone\n"),
        named(
            "a.sh",
            "#!/bin/bash\nset -e\ni=0\nfor ((i=0; i<3; i++)); do\n  a\ndone\nif ((i++)); then a; fi\n",
        ),
        named("a.sh", "#!/bin/bash\nset -e\ni=0\nset +e\n((i++))\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let in_documents: BTreeSet<usize> = script
        .documents
        .iter()
        .flat_map(|document| document.lines.iter().map(|(number, _)| *number))
        .collect();
    let first = script.text.lines().next().unwrap_or_default();
    let mut exits = first.starts_with("#!") && first.split_whitespace().skip(1).any(is_errexit);
    let mut zero: BTreeMap<&str, bool> = BTreeMap::new();
    // Commands between `until` and `do` are its condition, whose failures do not end the script.
    let mut in_condition = false;
    let mut found = Vec::new();
    for (index, line) in script.text.lines().enumerate() {
        if in_documents.contains(&(index + 1)) {
            continue;
        }
        let text = line.split(" #").next().unwrap_or_default().trim();
        let mut words = text.split([' ', '\t', ';']).filter(|word| !word.is_empty());
        let starts = |names: &[&str]| names.iter().any(|name| text.split_whitespace().next() == Some(name));
        let has = |name: &str| text.split([' ', '\t', ';']).any(|word| word == name);
        in_condition = match starts(&["until", "while"]) {
            true => !has("do"),
            false => in_condition && !has("do"),
        };
        if words.next() == Some("set") {
            let rest: Vec<&str> = words.collect();
            exits |= rest.iter().any(|word| is_errexit(word)) || rest.contains(&"errexit");
            exits &= !rest.iter().any(|word| word.starts_with('+') && word.contains('e'));
            continue;
        }
        if let Some((name, value)) = assigned(text) {
            zero.insert(name, value == "0");
            continue;
        }
        let Some(name) = incremented(text).filter(|_| exits && !in_condition) else { continue };
        if zero.get(name) == Some(&true) {
            let message = format!(
                "{name} is 0 here: the value of `{text}` is 0, so that its exit status is 1, and `set -e` \
                 ends the \
                 script without a message"
            );
            found.push(Found::warning(index + 1, message, format!("Write `{name}=$(({name} + 1))`")));
        }
    }
    found
}

/// `-e`, `-euo`, `-xe`.
fn is_errexit(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.contains('e')
}

/// Name and value of a line that only sets a variable.
fn assigned(text: &str) -> Option<(&str, &str)> {
    let text = ["local ", "declare -i ", "declare ", "typeset -i "]
        .iter()
        .find_map(|word| text.strip_prefix(word))
        .unwrap_or(text);
    let (name, value) = text.split_once('=')?;
    let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    plain.then(|| (name, value.trim_end_matches(';').trim_matches(['"', '\''])))
}

/// The variable of a line that is only `((x++))`, `((x--))` or `let x++`.
fn incremented(text: &str) -> Option<&str> {
    let text = text.trim_end_matches(';').trim_end();
    let inner = match text.strip_prefix("((") {
        Some(rest) => rest.strip_suffix("))")?.trim(),
        None => text.strip_prefix("let ")?.trim().trim_matches(['"', '\'']),
    };
    let name = inner.strip_suffix("++").or_else(|| inner.strip_suffix("--"))?.trim_end();
    let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    plain.then_some(name)
}
