//! numpy 2 with a torch that was built against numpy 1.

use pep440_rs::{Operator, Version, VersionSpecifiers};

use crate::read::dockerfile::{Dockerfile, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "numpy-too-new-for-torch",
    severity: Severity::Error,
    summary: "torch 2.2 and older is installed with numpy < 2",
    explain: include_str!("numpy_too_new_for_torch.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM python:3.11\nRUN pip install torch==2.2.2 numpy==2.1.0\n"),
        dockerfile("FROM python:3.11\nRUN pip install torch==2.1.2 torchvision==0.16.2\n"),
        dockerfile("FROM python:3.11\nRUN pip install torch==2.1.0 && pip install \"numpy>=2\"\n"),
    ],
    silent: &[
        dockerfile("FROM python:3.11\nRUN pip install torch==2.2.2 torchvision==0.17.2 'numpy<2'\n"),
        dockerfile("FROM python:3.11\nRUN pip install torch==2.3.1 torchvision==0.18.1\n"),
        dockerfile("FROM python:3.11\nRUN pip install torch==2.2.2 -r requirements.txt\n"),
        dockerfile("FROM python:3.8-slim-bookworm\nRUN pip install torch==2.2.2 torchvision==0.17.2\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.stages.iter().filter_map(stage).collect()
}

fn stage(stage: &Stage) -> Option<Found> {
    let state = &stage.end;
    let torch = state.packages.get("torch")?;
    let pin = torch.pin.as_ref()?;
    if pin.release().first() != Some(&2) || pin.release().get(1).is_none_or(|minor| *minor > 2) {
        return None;
    }
    let second: Version = "2.0.0".parse().ok()?;
    let fix = "Add `'numpy<2'`";
    let message = format!(
        "torch {} was built against numpy 1 and fails with numpy 2 (\"Numpy is not \
         available\")",
        torch.pin_text
    );
    match state.packages.get("numpy") {
        Some(numpy) if numpy.pin.as_ref().is_some_and(|numpy| *numpy >= second) => {
            return Some(Found::error(numpy, message, fix).unless_certain(!torch.default && !numpy.default));
        }
        // `numpy>=2`
        Some(numpy) if numpy.versions.as_ref().is_some_and(|allowed| needs_second(allowed, &second)) => {
            return Some(Found::error(numpy, message, fix).unless_certain(!torch.default && !numpy.default));
        }
        Some(_) => return None,
        None => {}
    }
    // numpy 2 needs Python 3.9.
    let installs = stage.runs.iter().filter_map(|run| run.install.as_ref());
    let old = installs.clone().any(|one| matches!(one.python.series.as_deref(), Some("3.7" | "3.8")));
    let limited = installs.clone().any(|one| one.constrained) || state.more_packages || state.opaque || old;
    let brings = [
        "torchvision",
        "transformers",
        "pandas",
        "scipy",
        "scikit-learn",
        "datasets",
        "opencv-python",
        "matplotlib",
    ];
    let installer = brings.iter().find(|name| state.packages.contains_key(**name))?;
    let pinned = state.packages.values().filter(|one| !crate::torch::FAMILY.contains(&one.name.as_str()));
    if limited || pinned.into_iter().any(|one| one.pin.is_some()) {
        return None;
    }
    let message = format!("{message}; {installer} installs the newest numpy");
    Some(Found::warning(torch, message, fix))
}

/// Whether a range allows no release before the second one.
fn needs_second(allowed: &VersionSpecifiers, second: &Version) -> bool {
    allowed.iter().any(|one| {
        matches!(one.operator(), Operator::GreaterThanEqual | Operator::GreaterThan | Operator::TildeEqual)
            && one.version() >= second
    })
}
