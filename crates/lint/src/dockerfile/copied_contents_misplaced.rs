//! COPY of a directory, and a start that looks for the directory itself.

use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::start::{self, started};
use crate::rule::{Found, Judge, Rule, Severity, with};

pub(crate) const RULE: Rule = Rule {
    id: "copied-contents-misplaced",
    severity: Severity::Error,
    summary: "CMD and ENTRYPOINT name files where COPY puts them",
    explain: include_str!("copied_contents_misplaced.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[with(
        "FROM python:3.12-slim\nWORKDIR /app\nCOPY src/ /app/\nCMD [\"python\", \"/app/src/train.py\"]\n",
        &[("src/train.py", "print()\n")],
    )],
    silent: &[
        with(
            "FROM python:3.12-slim\nWORKDIR /app\nCOPY src/ /app/src/\nCMD \
             [\"python\", \"/app/src/train.py\"]\n",
            &[("src/train.py", "print()\n")],
        ),
        with(
            "FROM python:3.12-slim\nWORKDIR /app\nCOPY src/ /app/\nRUN mkdir src && mv train.py src\nCMD \
             [\"python\", \"/app/src/train.py\"]\n",
            &[("src/train.py", "print()\n")],
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let Some(line) = start::entrypoint(file).or_else(|| start::command(file)).map(|one| one.line) else {
        return Vec::new();
    };
    let Some(end) = file.stages.last().map(|stage| &stage.end) else { return Vec::new() };
    let found = started_files(file).into_iter().find_map(|path| {
        let places = end.files.candidates(&path);
        let absent = !places.is_empty() && !places.iter().any(|one| file.context_text(one).is_some());
        let is_there = |other: &String| file.text_at(end, other).is_some();
        let right = shorter(&path).into_iter().find(is_there).filter(|_| absent)?;
        let message = format!(
            "{path} does not exist in the image: COPY of a directory copies what is in it, so that the \
             file is \
             {right}"
        );
        let fix = format!("Use {right}, or copy to a directory of the same name");
        Some(Found::error(line, message, fix).unless_certain(!end.opaque))
    });
    found.into_iter().collect()
}

/// The scripts that a container starts with.
pub(crate) fn started_files(file: &Dockerfile) -> Vec<String> {
    let is_script =
        |text: &str| (text.ends_with(".py") || text.ends_with(".sh")) && !text.contains(['$', '*', '=']);
    let words = started(file).into_iter().flat_map(|command| command.words.into_iter().take(3));
    words.filter(|word| word.known && is_script(&word.text)).map(|word| word.text).collect()
}

/// A path without one of its directories.
pub(crate) fn shorter(path: &str) -> Vec<String> {
    let parts: Vec<&str> = path.split('/').collect();
    let without = |at: usize| {
        let kept = parts.iter().enumerate().filter(|(index, _)| *index != at).map(|(_, part)| *part);
        kept.collect::<Vec<_>>().join("/")
    };
    let first = usize::from(path.starts_with('/'));
    (first..parts.len().saturating_sub(1)).map(without).collect()
}
