//! A `pyproject.toml` that no tool can read.

use crate::kind::Kind;
use crate::read::line_index::LineIndex;
use crate::read::packages::PackageList;
use crate::read::project;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "pyproject-invalid",
    severity: Severity::Error,
    summary: "pyproject.toml is TOML, and its lists of dependencies are lists",
    explain: include_str!("pyproject_invalid.md"),
    judge: Judge::Packages(judge),
    fires: &[
        named("pyproject.toml", "[project\nname = \"a\"\nversion = \"1\"\n"),
        named("pyproject.toml", "[project]\nname = \"a\"\nversion = \"1\"\ndependencies = \"torch\"\n"),
        named("pyproject.toml", "[project]\nname = \"a\"\nname = \"b\"\n"),
    ],
    silent: &[
        named("pyproject.toml", "[project]\nname = \"a\"\nversion = \"1\"\ndependencies = [\"torch\"]\n"),
        named(
            "pyproject.toml",
            "[dependency-groups]\ntest = [\"pytest\", { include-group = \"lint\" }]\nlint = [\"ruff\"]\n",
        ),
        named("pyproject.toml", "[tool.ruff]\nline-length = 100\n"),
    ],
};

fn judge(list: &PackageList) -> Vec<Found> {
    if list.kind != Kind::Pyproject {
        return Vec::new();
    }
    let Err(error) = project::pyproject(&list.text) else { return Vec::new() };
    let line = error.span().map_or(1, |span| LineIndex::new(&list.text).line(span.start) + 1);
    let why = error.message().lines().next().unwrap_or_default();
    let message = format!("pip, uv and Poetry cannot read the file: {why}");
    vec![Found::error(line, message, "Correct this line; no dependency of the file was checked")]
}
