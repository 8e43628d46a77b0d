//! A command that looks like the JSON form and is not.

use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::instructions::Instruction;
use crate::rule::{Change, Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "command-not-json",
    severity: Severity::Error,
    summary: "commands in brackets are valid JSON",
    explain: include_str!("command_not_json.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM python:3.12\nCMD ['python', 'app.py']\n"),
        dockerfile("FROM python:3.12\nENTRYPOINT [\"python\", \"app.py\",]\n"),
        dockerfile("FROM python:3.12\nCMD [\"python\" \"app.py\"]\n"),
        dockerfile("FROM python:3.12\nCMD [python, app.py]\n"),
        dockerfile("FROM python:3.12\nCMD [\"serve\", \"--port\", 8000]\n"),
        dockerfile("FROM python:3.12\nSHELL /bin/bash -c\n"),
        dockerfile("FROM python:3.12\nHEALTHCHECK CMD ['curl', 'http://localhost']\n"),
    ],
    silent: &[
        dockerfile("FROM python:3.12\nCMD [\"python\", \"app.py\"]\nENTRYPOINT []\n"),
        dockerfile("FROM python:3.12\nRUN [ -f x ] && [ \"$A\" = b ]\nCMD [ -f x ] && serve\n"),
        dockerfile("FROM python:3.12\nRUN [ a = b ]\nSHELL [\"/bin/bash\", \"-c\"]\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.instructions.iter().filter_map(fault).collect()
}

fn fault(one: &Instruction) -> Option<Found> {
    let keyword = one.keyword.as_str();
    if !matches!(keyword, "CMD" | "ENTRYPOINT" | "RUN" | "SHELL" | "HEALTHCHECK") || one.json.is_some() {
        return None;
    }
    let text = one.text.text.trim();
    if keyword == "SHELL" {
        let message = "SHELL takes only the JSON form; the build fails";
        return Some(Found::error(one.line, message, "Write `SHELL [\"/bin/bash\", \"-c\"]`"));
    }
    let text = match keyword {
        "HEALTHCHECK" => text.strip_prefix("CMD")?.trim(),
        _ => text,
    };
    if serde_json::from_str::<Vec<String>>(text).is_ok() || !is_list(text) {
        return None;
    }
    let first = text.split_whitespace().next().unwrap_or_default();
    let why = match text {
        _ if text.contains(['\u{201c}', '\u{201d}', '\u{2019}']) => "it has typographic quotes",
        _ if text.contains('\'') && !text.contains('"') => "JSON needs double quotes",
        _ if text.trim_end_matches(']').trim_end().ends_with(',') => "it has a comma before the bracket",
        _ if text.contains("\" \"") => "a comma is missing between two words",
        _ if !text.contains('"') => "JSON needs double quotes",
        _ => "every element must be a string in double quotes",
    };
    let message = format!("{keyword} is not valid JSON ({why}), so a shell runs the command `{first}`");
    let found = Found::error(one.line, message, format!("Write `{keyword} [\"program\", \"argument\"]`"));
    Some(found.change_if(as_json(text).map(|json| Change::word(one.line, text, &json))))
}

/// The list with double quotes and without a comma at its end, where that makes it JSON.
fn as_json(text: &str) -> Option<String> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?.trim_end().trim_end_matches(',');
    let quoted = match inner.contains('"') || inner.contains('\\') {
        true => format!("[{inner}]"),
        false => format!("[{}]", inner.replace('\'', "\"")),
    };
    serde_json::from_str::<Vec<String>>(&quoted).is_ok().then_some(quoted)
}

/// Whether a text is meant as a list: `['a', 'b']`, and not the test of a shell, `[ -f x ]`.
fn is_list(text: &str) -> bool {
    let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else { return false };
    let test = inner.starts_with([' ', '[']) && !inner.trim_start().starts_with(['"', '\'', '\u{201c}']);
    let operators =
        [" ] ", " = ", " == ", " -eq ", " != ", "] &&", "] ||"].iter().any(|one| inner.contains(one));
    !test && !operators && !inner.trim().is_empty()
}
