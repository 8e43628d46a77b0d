//! An environment of conda that is not YAML.

use serde::de::IgnoredAny;

use crate::kind::Kind;
use crate::read::broken::line_of;
use crate::read::packages::PackageList;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "conda-environment-invalid",
    severity: Severity::Error,
    summary: "the environment file of conda is YAML",
    explain: include_str!("conda_environment_invalid.md"),
    judge: Judge::Packages(judge),
    fires: &[
        named(
            "environment.yml",
            "name: a\ndependencies:\n  - python=3.11\n  - pip:\n    - torch\n   - numpy\n",
        ),
        named("environment.yml", "name: [a\ndependencies:\n  - python=3.11\n"),
    ],
    silent: &[
        named("environment.yml", "name: a\ndependencies:\n  - python=3.11\n  - pip:\n    - torch\n"),
        named("environment.yml", "name: a\ndependencies: [python=3.11, pip]\n"),
    ],
};

fn judge(list: &PackageList) -> Vec<Found> {
    if list.kind != Kind::Conda {
        return Vec::new();
    }
    let Err(error) = serde_yaml::from_str::<IgnoredAny>(&list.text) else { return Vec::new() };
    let line = line_of(&error, &list.text);
    let why = error.to_string();
    let why = why.lines().next().unwrap_or_default();
    let message = format!("conda cannot read the file: {why}");
    vec![Found::error(line, message, "Correct this line; no dependency of the file was checked")]
}
