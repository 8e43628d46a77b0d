//! A file that `.dockerignore` keeps out of the build context.

use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::copied::join;
use crate::read::dockerignore::Ignored;
use crate::rule::{Found, Judge, Rule, Severity, with};

pub(crate) const RULE: Rule = Rule {
    id: "copy-source-ignored",
    severity: Severity::Error,
    summary: ".dockerignore keeps no file that COPY names",
    explain: include_str!("copy_source_ignored.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        with(
            "FROM python:3.12-slim\nWORKDIR /app\nCOPY requirements.txt .\n",
            &[(".dockerignore", "# text\n*.md\n*.txt\n")],
        ),
        with("FROM python:3.12-slim\nCOPY ./data/train /data/\n", &[(".dockerignore", "data/\n")]),
    ],
    silent: &[
        with(
            "FROM python:3.12-slim\nCOPY requirements.txt .\n",
            &[(".dockerignore", "*.txt\n!requirements.txt\n")],
        ),
        with("FROM python:3.12-slim\nCOPY src /app/src\n", &[(".dockerignore", "*\n!src/**/*.py\n")]),
        with(
            "FROM python:3.12-slim AS a\nFROM python:3.12-slim\nCOPY --from=a /data /data\nCOPY . /app\n",
            &[(".dockerignore", "data\n")],
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let Some(text) = file.context_text(".dockerignore") else { return Vec::new() };
    let ignored = Ignored::read(text);
    let copies = file.instructions.iter().filter(|one| {
        matches!(one.keyword.as_str(), "COPY" | "ADD")
            && one.flag("from").is_none()
            && one.heredocs.is_empty()
    });
    let found = copies.filter_map(|one| {
        let words = one.words();
        let (_, sources) = words.split_last()?;
        let (source, line) = sources.iter().find_map(|source| {
            let remote = source.contains("://") || source.starts_with("git@");
            let plain = !source.contains(['$', '*', '?', '[', '"', '\'', '\\']) && !remote;
            let path = join("", source.trim_start_matches('/'));
            Some((source, ignored.by(&path).filter(|_| plain && !path.is_empty())?))
        })?;
        let message = format!(
            "line {} of .dockerignore, `{}`, keeps {source} out of the build context; the build fails \
             with `not \
             found`",
            line.0, line.1
        );
        let fix = format!(
            "Add `!{}` after it, or remove the \
            line",
            join("", source.trim_start_matches('/'))
        );
        Some(Found::error(one.line, message, fix))
    });
    found.collect()
}
