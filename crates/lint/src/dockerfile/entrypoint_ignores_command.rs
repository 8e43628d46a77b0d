//! CMD behind an ENTRYPOINT that does not take it.

use crate::read::dockerfile::instructions::Instruction;
use crate::read::dockerfile::{Dockerfile, Stage};
use crate::read::entry_scripts::{EntryScript, entry_scripts};
use crate::read::script::in_functions;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile, with};

pub(crate) const RULE: Rule = Rule {
    id: "entrypoint-ignores-command",
    severity: Severity::Warning,
    summary: "an ENTRYPOINT with CMD has the JSON form, and its script runs the command",
    explain: include_str!("entrypoint_ignores_command.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM ubuntu:24.04\nENTRYPOINT torchrun --standalone train.py\nCMD [\"--epochs\", \"2\"]\n",
        ),
        dockerfile("FROM python:3.12\nCMD --epochs 2\nENTRYPOINT exec python train.py\n"),
        with(
            "FROM python:3.12\nCOPY prepare.sh /usr/local/bin/\nENTRYPOINT [\"prepare.sh\"]\nCMD \
             [\"python\", \
             \"fit.py\"]\n",
            &[("prepare.sh", "#!/bin/sh\nset -e\nsay() { echo \"$1\"; }\nmkdir -p /cache\nsay ready\n")],
        ),
        with(
            "FROM python:3.12\nWORKDIR /srv\nCOPY . .\nENTRYPOINT [\"/bin/bash\", \"/srv/up.sh\"]\nCMD \
             [\"--port\", \
             \"80\"]\n",
            &[("up.sh", "python -m app --workers 2\n")],
        ),
    ],
    silent: &[
        with(
            "FROM python:3.12\nCOPY prepare.sh /usr/local/bin/\nENTRYPOINT [\"prepare.sh\"]\nCMD \
             [\"python\", \
             \"fit.py\"]\n",
            &[("prepare.sh", "#!/bin/sh\nset -e\nmkdir -p /cache\nexec \"$@\"\n")],
        ),
        with(
            "FROM python:3.12\nCOPY prepare.sh /prepare.sh\nENTRYPOINT [\"/prepare.sh\"]\nCMD [\"fit\"]\n",
            &[("prepare.sh", "#!/bin/bash\nMODE=${1:-serve}\nexec python -m \"app.$MODE\"\n")],
        ),
        // What it reads may run them.
        with(
            "FROM python:3.12\nCOPY prepare.sh /prepare.sh\nENTRYPOINT [\"/prepare.sh\"]\nCMD [\"fit\"]\n",
            &[("prepare.sh", "#!/bin/bash\nset -e\n. /opt/lib/start.sh\n")],
        ),
        dockerfile("FROM ubuntu:24.04\nENTRYPOINT [\"torchrun\", \"train.py\"]\nCMD [\"--epochs\", \"2\"]\n"),
        dockerfile("FROM ubuntu:24.04\nENTRYPOINT torchrun --standalone train.py\n"),
        dockerfile("FROM python:3.12\nENTRYPOINT exec python train.py \"$0\" \"$@\"\nCMD [\"--epochs\"]\n"),
        dockerfile("FROM ubuntu:24.04\nENTRYPOINT serve\nCMD []\n"),
        dockerfile("FROM ubuntu:24.04 AS a\nCMD [\"x\"]\nFROM ubuntu:24.04\nENTRYPOINT serve\n"),
        dockerfile("FROM ubuntu:24.04\nSHELL [\"pwsh\", \"-c\"]\nENTRYPOINT serve\nCMD [\"x\"]\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let Some(command) = file.stages.last().and_then(|stage| last(stage, "CMD")) else { return Vec::new() };
    let empty = command.json.as_ref().is_some_and(Vec::is_empty) || command.text.text.trim().is_empty();
    if empty {
        return Vec::new();
    }
    let Some(entry) = without_arguments(file) else {
        return by_script(file, command).into_iter().collect();
    };
    let message = format!(
        "the shell form of ENTRYPOINT ignores CMD (line {}) and the arguments of `docker run`",
        command.line
    );
    vec![Found::warning(entry.line, message, "Write ENTRYPOINT as `[\"program\", \"argument\"]`")]
}

/// A script as ENTRYPOINT that never looks at its arguments.
fn by_script(file: &Dockerfile, command: &Instruction) -> Option<Found> {
    let entry = last(file.stages.last()?, "ENTRYPOINT")?;
    let scripts = entry_scripts(file);
    let [script] = &scripts[..] else { return None };
    // Words behind the script would be its first arguments.
    let base = script.path.rsplit('/').next()?;
    let starts = entry.json.as_ref()?.last()?.rsplit('/').next() == Some(base);
    if !starts || uses_arguments(file.context_text(&script.path)?, script) {
        return None;
    }
    let message = format!(
        "{base} never uses its arguments: CMD (line {}) and the arguments of `docker run` are not run",
        command.line
    );
    Some(Found::warning(entry.line, message, format!("End {base} with `exec \"$@\"`")))
}

/// Whether a script may use its arguments, itself or in what it reads. Functions have arguments of their own.
fn uses_arguments(text: &str, script: &EntryScript) -> bool {
    let in_function = in_functions(text);
    let lines = text.lines().enumerate().filter(|(index, _)| !in_function(index + 1));
    let takes = |line: &str| {
        line.match_indices('$').any(|(at, _)| {
            let rest = line[at + 1..].trim_start_matches('{').trim_start_matches(['!', '#']);
            rest.starts_with(['@', '*', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
                || line[at + 1..].starts_with('#')
        })
    };
    let reads = |program: &str| matches!(program, "source" | "." | "eval" | "getopts");
    let harmless = |one: &str| one.ends_with("/activate") || one.starts_with("/etc/") || one.starts_with('-');
    lines.clone().any(|(_, line)| takes(line))
        || text.contains("BASH_ARGV")
        || script.commands.iter().any(|one| {
            let reads_more = reads(one.program()) && one.words.len() > 1 || one.program() == "shift";
            reads_more && !one.words[1..].iter().all(|word| harmless(&word.text))
        })
        // A loop over the arguments: `for one; do`.
        || lines.clone().any(|(_, line)| {
            let line = line.trim();
            line.starts_with("for ") && !line.contains(" in ") && !line.contains("((")
        })
}

/// The last one of a kind; an ENTRYPOINT drops the CMD of stages before its own.
fn last<'s>(stage: &'s Stage, keyword: &str) -> Option<&'s Instruction> {
    stage.instructions.iter().rev().find(|one| one.keyword == keyword)
}

/// The ENTRYPOINT of the last stage, where it drops its arguments.
pub(crate) fn without_arguments(file: &Dockerfile) -> Option<&Instruction> {
    let stage = file.stages.last()?;
    let entry = last(stage, "ENTRYPOINT")?;
    let text = entry.text.text.trim();
    // The shell has the words of CMD as its own arguments.
    let takes = text.contains("$@") || text.contains("$*") || text.contains("$0") || text.contains("$1");
    let unclear = text.is_empty() || text.starts_with('[') || last(stage, "SHELL").is_some();
    let drops = entry.json.is_none() && !takes && !unclear && entry.heredocs.is_empty();
    drops.then_some(entry)
}
