//! A variable is set by an old name.

use catalog::Catalog;
use std::str::FromStr;

use pep440_rs::Version;

use crate::read::settings::{Scope, Setting, Settings};
use crate::rule::{Found, Judge, Rule, Severity, named};
use catalog::variables::{Owner, Status};

pub(crate) const RULE: Rule = Rule {
    id: "variable-renamed",
    severity: Severity::Warning,
    summary: "no variable is set under its old name",
    explain: include_str!("variable_renamed.md"),
    judge: Judge::Variables(judge),
    fires: &[
        named(
            "Dockerfile",
            "FROM pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime\nENV NCCL_ASYNC_ERROR_HANDLING=1\n",
        ),
        named("train.sh", "export NCCL_MAX_NRINGS=8\ntorchrun train.py\n"),
    ],
    silent: &[
        named(
            "train.env",
            "TORCH_NCCL_ASYNC_ERROR_HANDLING=1\nPYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n",
        ),
        named("train.env", "NCCL_BLOCKING_WAIT=0\nTORCH_NCCL_BLOCKING_WAIT=0\n"),
        named(
            "Dockerfile",
            "FROM pytorch/pytorch:2.1.2-cuda12.1-cudnn8-runtime\nENV NCCL_ASYNC_ERROR_HANDLING=1\n",
        ),
    ],
};

fn judge(settings: &Settings) -> Vec<Found> {
    settings.known().filter_map(|(scope, one, value)| renamed(settings.catalog, scope, one, value)).collect()
}

fn renamed(catalog: &'static Catalog, scope: &Scope, one: &Setting, value: &str) -> Option<Found> {
    let row = catalog.variable(&one.name).filter(|row| row.status == Status::Deprecated)?;
    let new = row
        .deprecated_by
        .as_deref()
        .and_then(|it| catalog.variable(it))
        .filter(|new| !scope.has(&new.name))?;
    let since = Version::from_str(new.since.as_deref()?).ok()?;
    let (reader, version) = match row.owner {
        Owner::Nccl => ("NCCL", &scope.nccl),
        _ => ("PyTorch", &scope.torch),
    };
    let message = |of: &str| format!("{} is the old name of {}, {of}", row.name, new.name);
    // A new name takes the old one's value, but a mode is no switch.
    let same = row.kind == new.kind;
    let fix = if same { format!("Set {}={value}", new.name) } else { format!("Use {}", new.name) };
    match version {
        Some(version) if *version < since => None,
        Some(version) => {
            let message =
                message(&format!("which {reader} {version} supports; the old name may stop working"));
            Some(Found::warning(one.location.clone(), message, fix))
        }
        // A name that is new itself may be unknown to what is installed.
        None if recent(row.owner, &since) => None,
        None => {
            let message = message(&format!("which {reader} supports since {since}"));
            Some(Found::note(one.location.clone(), message, fix))
        }
    }
}

/// Whether releases without the new name are still common: torch before 2.6, NCCL before 2.21.
fn recent(owner: Owner, since: &Version) -> bool {
    let old = if owner == Owner::Nccl { Version::new([2, 21]) } else { Version::new([2, 6]) };
    *since > old
}
