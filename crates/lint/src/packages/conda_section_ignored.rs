//! A list for pip at a level of a conda environment at which conda ignores it.

use serde_yaml::Value;

use crate::kind::Kind;
use crate::read::packages::PackageList;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "conda-section-ignored",
    severity: Severity::Error,
    summary: "the list for pip is an item of the dependencies of a conda environment",
    explain: include_str!("conda_section_ignored.md"),
    judge: Judge::Packages(judge),
    fires: &[named(
        "environment.yml",
        "name: a\ndependencies:\n  - python=3.11\n  - pip\npip:\n  - wandb==0.17.9\n",
    )],
    silent: &[
        named(
            "environment.yml",
            "name: a\ndependencies:\n  - python=3.11\n  - pip\n  - pip:\n      - wandb==0.17.9\n",
        ),
        named("environment.yml", "name: a\ndependencies:\n  - python\nvariables:\n  A: b\n"),
    ],
};

fn judge(list: &PackageList) -> Vec<Found> {
    if list.kind != Kind::Conda {
        return Vec::new();
    }
    let Ok(file) = serde_yaml::from_str::<Value>(&list.text) else { return Vec::new() };
    let items = file.get("pip").and_then(Value::as_sequence).filter(|items| !items.is_empty());
    let line = list.text.lines().position(|line| line.starts_with("pip:"));
    let (Some(items), Some(line)) = (items, line) else { return Vec::new() };
    let count = items.len();
    let packages = if count == 1 { "its package is" } else { "its packages are" };
    let message = format!("conda ignores `pip` at the top level; {packages} not installed");
    vec![Found::error(line + 1, message, "Indent it as an item of `dependencies`: `  - pip:`")]
}
