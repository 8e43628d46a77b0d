//! A package whose name stands for something else on the package index.

use pep440_rs::{Operator, VersionSpecifiers};

use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::install::Requirement;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile, named};

pub(crate) const RULE: Rule = Rule {
    id: "package-name-misleading",
    severity: Severity::Error,
    summary: "package names stand for what is meant, and can be installed",
    explain: include_str!("package_name_misleading.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        named("requirements.txt", "tensorflow-gpu==2.12.0\n"),
        named("requirements.txt", "numpy\nsklearn\n"),
        dockerfile("FROM python:3.12\nRUN pip install --no-cache-dir apex\n"),
    ],
    silent: &[
        named("requirements.txt", "tensorflow[and-cuda]\nscikit-learn\ntorch\nflashinfer-python\n"),
        named("requirements.txt", "tensorflow-gpu==2.11.0\n"),
        named("requirements.txt", "--index-url https://pypi.example.com/simple\nsklearn\n"),
        named("requirements.txt", "--extra-index-url https://pypi.example.com/simple\napex\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    // Another index may have a package of that name.
    let installs = file.installs().filter(|(_, run, install)| {
        install.index.is_none() && install.extra.is_empty() && !crate::torch::configured(run)
    });
    let requirements = installs.flat_map(|(_, run, install)| {
        install.requirements.iter().map(move |one| (run, one, install.certain))
    });
    let found = requirements.filter_map(|(run, one, certain)| {
        // `apex @ git+https://…` is not from the index; a marker may leave it out.
        let plain =
            !one.text.contains(['@', ';']) && !run.variables().any(|name| name.starts_with("SKLEARN_"));
        let row = file.catalog.misleading_packages().named(&one.name).filter(|_| plain)?;
        let fix = diagnostic::words::capital(&row.hint);
        match &row.refused {
            Some(releases) if takes(one, releases) => {
                Some(Found::error(one, row.problem.clone(), fix).unless_certain(certain))
            }
            Some(_) => None,
            None => Some(Found::warning(one, row.problem.clone(), fix)),
        }
    });
    found.collect()
}

/// Whether a requirement gets one of these releases, the newest among them.
fn takes(one: &Requirement, releases: &str) -> bool {
    let Ok(releases) = releases.parse::<VersionSpecifiers>() else { return false };
    match (&one.pin, &one.versions) {
        (Some(pin), _) => releases.contains(pin),
        (None, None) => !one.text.contains('='),
        (None, Some(versions)) => versions
            .iter()
            .all(|one| matches!(one.operator(), Operator::GreaterThan | Operator::GreaterThanEqual)),
    }
}
