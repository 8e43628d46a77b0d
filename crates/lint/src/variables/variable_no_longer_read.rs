//! A variable is set that newer releases do not read.

use catalog::Catalog;
use std::str::FromStr;

use pep440_rs::Version;

use crate::read::settings::{Scope, Setting, Settings};
use crate::rule::{Found, Judge, Rule, Severity, named};
use catalog::variables::{Owner, Status};

pub(crate) const RULE: Rule = Rule {
    id: "variable-no-longer-read",
    severity: Severity::Warning,
    summary: "no variable is set that newer releases no longer read",
    explain: include_str!("variable_no_longer_read.md"),
    judge: Judge::Variables(judge),
    fires: &[
        named("train.sh", "export NCCL_CHECKS_DISABLE=1\ntorchrun train.py\n"),
        named("train.env", "NCCL_TREE_THRESHOLD=0\n"),
        named(
            "Dockerfile",
            "FROM pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime\nENV TORCH_ENABLE_NCCL_HEALTH_CHECK=1\n",
        ),
    ],
    silent: &[
        named("train.env", "NCCL_WORK_FIFO_DEPTH=1024\nTORCH_NCCL_AVOID_RECORD_STREAMS=1\n"),
        named(
            "Dockerfile",
            "FROM pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime\nENV TORCH_NCCL_AVOID_RECORD_STREAMS=1\n",
        ),
    ],
};

/// The last release of NCCL before 2021: whatever only older ones read is read by none in use.
const LONG_GONE: &str = "2.8.3";

fn judge(settings: &Settings) -> Vec<Found> {
    settings.known().filter_map(|(scope, one, _)| dropped(settings.catalog, scope, one)).collect()
}

fn dropped(catalog: &'static Catalog, scope: &Scope, one: &Setting) -> Option<Found> {
    let row = catalog.variable(&one.name).filter(|row| row.status == Status::Removed)?;
    let last = row.last_seen.as_deref()?;
    let version = Version::from_str(last.split(' ').next().unwrap_or(last)).ok()?;
    let (reader, installed) = match row.owner {
        Owner::Nccl => ("NCCL", &scope.nccl),
        _ => ("PyTorch", &scope.torch),
    };
    let gone = match installed {
        Some(installed) => *installed > version,
        None => row.owner == Owner::Nccl && version < Version::from_str(LONG_GONE).ok()?,
    };
    let fix = row.deprecated_by.as_ref().map_or(
        "Remove \
         it"
        .to_owned(),
        |new| format!("Remove it; its replacement is {new}"),
    );
    let message = format!("{} has no effect: {reader} {version} was the last release that read it", row.name);
    gone.then(|| Found::warning(one.location.clone(), message, fix))
}
