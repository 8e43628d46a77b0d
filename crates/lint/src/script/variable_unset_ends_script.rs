//! A path that a script extends with a variable which need not be set, under `set -u`.

use crate::read::assigned;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "variable-unset-ends-script",
    severity: Severity::Warning,
    summary: "scripts with `set -u` give paths of the environment a default",
    explain: include_str!("variable_unset_ends_script.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "entrypoint.sh",
            "#!/usr/bin/env bash\nset -euo pipefail\nexport \
             LD_LIBRARY_PATH=\"/x/lib:$LD_LIBRARY_PATH\"\nexec \"$@\"\n",
        ),
        named("run.sh", "#!/bin/bash\nset -u\nexport PYTHONPATH=${PYTHONPATH}:/src\npython t.py\n"),
        named("run.sh", "#!/bin/bash\nset -o nounset\nLD_PRELOAD=$LD_PRELOAD:/x.so python t.py\n"),
        named("run.sh", "#!/bin/bash -eu\nexport PYTHONPATH=\"$PWD:$PYTHONPATH\"\npython t.py\n"),
    ],
    silent: &[
        named("run.sh", "set -u\nexport LD_LIBRARY_PATH=\"/x${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\"\n"),
        named("run.sh", "set -u\nexport PYTHONPATH=\"${PYTHONPATH:-}:/src\"\n"),
        named("run.sh", "set -e\nexport LD_LIBRARY_PATH=/x:$LD_LIBRARY_PATH\n"),
        named("run.sh", "set -u\nmodule load cuda\nexport LD_LIBRARY_PATH=/x:$LD_LIBRARY_PATH\n"),
        named(
            "run.sh",
            "set -u\nexport PYTHONPATH=/a\nexport PYTHONPATH=/x:$PYTHONPATH\nexport PATH=/y:$PATH\n",
        ),
        named("run.sh", "set -u\nset +u\nexport PYTHONPATH=/x:$PYTHONPATH\nset -u\n"),
        named("run.sh", "set -u\n: \"${PYTHONPATH:=}\"\nexport PYTHONPATH=/x:$PYTHONPATH\n"),
    ],
};

/// Paths of the environment that a login, a container and a batch job may well not have.
const PATHS: &[&str] =
    &["LD_LIBRARY_PATH", "PYTHONPATH", "LD_PRELOAD", "LIBRARY_PATH", "CPATH", "PKG_CONFIG_PATH", "MANPATH"];

fn judge(script: &Script) -> Vec<Found> {
    let Some(from) = since(script) else { return Vec::new() };
    // A file that it reads, or a module, may set them.
    let reads = script.commands.iter().any(|one| {
        matches!(
            one.words.first().map(|word| word.text.as_str()),
            Some("source" | "." | "module" | "ml" | "spack" | "eval")
        )
    });
    if reads {
        return Vec::new();
    }
    let sets = assigned::of_script(script);
    let mut found = Vec::new();
    for command in script.commands.iter().filter(|command| command.line >= from && command.certain) {
        for (name, word) in &command.sets {
            let extends = PATHS.contains(&name.as_str()) && assigned::used(&word.text).contains(name);
            let defaulted = script.text.lines().take(command.line.saturating_sub(1)).any(|line| {
                [":-", ":=", "-}", ":+", "+}", "+x}"]
                    .iter()
                    .any(|sign| line.contains(&format!("${{{name}{sign}")))
            });
            let before = sets.iter().any(|one| one.name == *name && one.line < command.line);
            if !extends || defaulted || before {
                continue;
            }
            let message = format!(
                "with `set -u` the script ends here where {name} is not set (`{name}: unbound variable`); an \
                 image, a container and a batch job need not have it"
            );
            let line = word.line.max(command.line);
            found.push(
                Found::warning(line, message, format!("Write `${{{name}:+:${name}}}` after the new path"))
                    .about(name),
            );
        }
    }
    found
}

/// The line since which an unset variable ends the script.
fn since(script: &Script) -> Option<usize> {
    let first = script.text.lines().next().unwrap_or_default();
    let has_letter = |word: &str, sign: char| {
        word.starts_with(sign)
            && !word.starts_with("--")
            && word[1..].chars().all(char::is_alphabetic)
            && word.contains('u')
    };
    if first.starts_with("#!") && first.split_whitespace().skip(1).any(|word| has_letter(word, '-')) {
        return Some(1);
    }
    let mut from = None;
    for command in script.commands.iter().filter(|command| command.program() == "set") {
        let words = || command.words[1..].iter().map(|word| word.text.as_str());
        if words().any(|word| has_letter(word, '+')) {
            return None;
        }
        if from.is_none() && words().any(|word| has_letter(word, '-') || word == "nounset") {
            from = Some(command.line);
        }
    }
    from
}
