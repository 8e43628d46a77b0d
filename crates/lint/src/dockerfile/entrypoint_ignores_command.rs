//! CMD behind an ENTRYPOINT that does not take it.

use crate::read::dockerfile::instructions::Instruction;
use crate::read::dockerfile::{Dockerfile, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "entrypoint-ignores-command",
    severity: Severity::Warning,
    summary: "an ENTRYPOINT with CMD has the JSON form",
    explain: include_str!("entrypoint_ignores_command.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM ubuntu:24.04\nENTRYPOINT torchrun --standalone train.py\nCMD [\"--epochs\", \"2\"]\n",
        ),
        dockerfile("FROM python:3.12\nCMD --epochs 2\nENTRYPOINT exec python train.py\n"),
    ],
    silent: &[
        dockerfile("FROM ubuntu:24.04\nENTRYPOINT [\"torchrun\", \"train.py\"]\nCMD [\"--epochs\", \"2\"]\n"),
        dockerfile("FROM ubuntu:24.04\nENTRYPOINT torchrun --standalone train.py\n"),
        dockerfile("FROM python:3.12\nENTRYPOINT exec python train.py \"$0\" \"$@\"\nCMD [\"--epochs\"]\n"),
        dockerfile("FROM ubuntu:24.04\nENTRYPOINT serve\nCMD []\n"),
        dockerfile("FROM ubuntu:24.04 AS a\nCMD [\"x\"]\nFROM ubuntu:24.04\nENTRYPOINT serve\n"),
        dockerfile("FROM ubuntu:24.04\nSHELL [\"pwsh\", \"-c\"]\nENTRYPOINT serve\nCMD [\"x\"]\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let command = file.stages.last().and_then(|stage| last(stage, "CMD"));
    let (Some(entry), Some(command)) = (without_arguments(file), command) else { return Vec::new() };
    let empty = command.json.as_ref().is_some_and(Vec::is_empty) || command.text.text.trim().is_empty();
    if empty {
        return Vec::new();
    }
    let message = format!(
        "the shell form of ENTRYPOINT ignores CMD (line {}) and the arguments of `docker run`",
        command.line
    );
    vec![Found::warning(entry.line, message, "Write ENTRYPOINT as `[\"program\", \"argument\"]`")]
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
