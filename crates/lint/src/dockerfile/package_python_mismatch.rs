//! A package that has no wheel for the Python of the image, and no source.

use crate::read::dockerfile::Dockerfile;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "package-python-mismatch",
    severity: Severity::Error,
    summary: "TensorFlow has wheels for the Python of the image",
    explain: include_str!("package_python_mismatch.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM python:3.12-slim\nRUN pip install tensorflow==2.15.1\n"),
        dockerfile("FROM python:3.13\nRUN pip install \"tensorflow[and-cuda]==2.19.0\"\n"),
    ],
    silent: &[
        dockerfile("FROM python:3.11-slim\nRUN pip install tensorflow==2.15.1\n"),
        dockerfile("FROM python:3.13-slim\nRUN pip install tensorflow==2.20.0\n"),
        dockerfile("FROM python:3.12-slim\nRUN pip install -i https://h.example/simple tensorflow==2.15.1\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    for (_, run, install) in file.installs() {
        // Another index may have wheels of its own.
        if install.elsewhere() || install.index.is_some() || !install.extra.is_empty() {
            continue;
        }
        let Some(series) = install.python.series.as_deref() else { continue };
        for one in &install.requirements {
            let pin = one.pin.as_ref().filter(|pin| !pin.any_prerelease());
            let row = pin.and_then(|pin| run.state.catalog.wheel_pythons().of(&one.name, pin));
            let Some(row) = row.filter(|row| row.pythons.iter().all(|python| python != series)) else {
                continue;
            };
            let message = format!(
                "{} {} has no wheel for {}, only for Python {}; pip finds no matching distribution",
                one.name,
                one.pin_text,
                install.python.message(),
                row.pythons.join(", ")
            );
            let newest = row.pythons.last().map_or("", String::as_str);
            let fix = format!("Use Python {newest}, or another release of {}", one.name);
            let certain = install.certain && !one.default;
            found.push(Found::error(one, message, fix).unless_certain(certain));
        }
    }
    found
}
