//! A DeepSpeed that cannot be imported with the other installed packages.

use std::rc::Rc;

use pep440_rs::{Version, VersionSpecifiers};

use crate::read::dockerfile::install::Requirement;
use crate::read::dockerfile::state::State;
use crate::read::dockerfile::{Dockerfile, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};
use catalog::deepspeed::{Breaks, Incompatibility};

pub(crate) const RULE: Rule = Rule {
    id: "deepspeed-import-fails",
    severity: Severity::Error,
    summary: "the pinned DeepSpeed can be imported with the installed torch, numpy and Python",
    explain: include_str!("deepspeed_import_fails.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM python:3.11\nRUN pip install torch==2.4.1 'numpy<2'\nRUN pip install deepspeed==0.14.0\n",
        ),
        dockerfile("FROM python:3.11\nRUN pip install deepspeed==0.12.3 numpy==2.1.0\n"),
        dockerfile("FROM python:3.10\nRUN pip install torch==2.3.1 deepspeed==0.9.5\n"),
    ],
    silent: &[
        dockerfile("FROM python:3.11\nRUN pip install torch==2.4.1 deepspeed==0.16.4\n"),
        dockerfile("FROM python:3.11\nRUN pip install torch==2.3.1 deepspeed==0.14.0 'numpy<2'\n"),
        dockerfile(
            "FROM python:3.11\nRUN pip install -r requirements.txt\nRUN pip install deepspeed==0.14.0\n",
        ),
        dockerfile("FROM python:3.11\nRUN pip install deepspeed\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for stage in &file.stages {
        // A stage that goes on from another one has its packages, too.
        for one in of_stage(stage) {
            if !found
                .iter()
                .any(|known| known.line == one.line && known.file == one.file && known.message == one.message)
            {
                found.push(one);
            }
        }
    }
    found
}

fn of_stage(stage: &Stage) -> Vec<Found> {
    let state = &stage.end;
    let Some(own) = state.packages.get("deepspeed") else { return Vec::new() };
    let Some(version) = &own.pin else { return Vec::new() };
    let rows =
        state.catalog.deepspeed().incompatibilities().iter().filter(|row| row.breaks == Breaks::Import);
    let about = |row: &&Incompatibility| {
        row.deepspeed.parse::<VersionSpecifiers>().is_ok_and(|s| s.contains(version))
    };
    rows.filter(about).filter_map(|row| conflict(stage, state, own, row)).collect()
}

fn conflict(stage: &Stage, state: &Rc<State>, own: &Requirement, row: &Incompatibility) -> Option<Found> {
    let with = row.with_package.as_deref()?;
    let versions: VersionSpecifiers = row.with_versions.as_deref()?.parse().ok()?;
    if row.python.is_some() || with == "python" {
        return None;
    }
    let text = format!(
        "deepspeed {} is incompatible with {}: {}",
        own.pin_text,
        row.with,
        row.effect.trim_end_matches('.')
    );
    let default = own.default;
    match state.packages.get(with) {
        Some(other) if certainly(other, &versions) => {
            return Some(
                Found::error(own, text, diagnostic::words::capital(&row.fix))
                    .unless_certain(!default && !other.default),
            );
        }
        Some(other)
            if other.versions.as_ref().is_some_and(|limit| !limit.is_empty()) || other.pin.is_some() =>
        {
            return None;
        }
        Some(other) if other.versions.is_none() => return None,
        _ => {}
    }
    if with == "torch" && !state.packages.contains_key("torch") {
        let version: Version = state.image?.torch.as_deref()?.parse().ok()?;
        let found = versions.contains(&version) && !state.more_packages;
        return found
            .then(|| Found::error(own, text, diagnostic::words::capital(&row.fix)).unless_certain(!default));
    }
    // pip takes the newest numpy where nothing says otherwise.
    let limited = state.more_packages || state.opaque || constrained(stage) || held_back(state, with);
    if with != "numpy" || limited || !state.bare {
        return None;
    }
    let message = format!(
        "deepspeed {} is incompatible with {}, and nothing limits the numpy version",
        own.pin_text, row.with
    );
    Some(Found::warning(own, message, diagnostic::words::capital(&row.fix)))
}

/// Whether every version that a requirement allows is among some.
fn certainly(requirement: &Requirement, versions: &VersionSpecifiers) -> bool {
    requirement.pin.as_ref().is_some_and(|pin| versions.contains(pin))
}

fn constrained(stage: &Stage) -> bool {
    stage.runs.iter().filter_map(|run| run.install.as_ref()).any(|install| install.constrained)
}

/// Whether another pinned package requires numpy < 2, on whatever Python.
fn held_back(state: &State, name: &str) -> bool {
    let Ok(second) = "2.1.0".parse::<Version>() else { return true };
    state.packages.values().any(|one| {
        let Some(package) = state.catalog.package(&one.name) else { return false };
        let rows = package.rows.iter().filter(|row| row.releases.contains_key(&one.pin_text));
        let limits = rows.flat_map(|row| row.requirements_anywhere(name));
        limits.filter_map(|text| text.parse::<VersionSpecifiers>().ok()).any(|one| !one.contains(&second))
    })
}
