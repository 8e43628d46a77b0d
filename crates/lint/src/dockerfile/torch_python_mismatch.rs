//! A torch that has no wheel for the Python.

use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::install::{Install, Requirement};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};
use crate::torch::{self, Known};
use catalog::Catalog;
use catalog::torch::Release;

pub(crate) const RULE: Rule = Rule {
    id: "torch-python-mismatch",
    severity: Severity::Error,
    summary: "torch has wheels for the Python it is installed into",
    explain: include_str!("torch_python_mismatch.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM python:3.12-slim\nRUN pip install torch==2.1.2\n"),
        dockerfile(
            "FROM nvidia/cuda:12.8.1-base-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n\
             RUN pip3 install torch==2.15.0\n",
        ),
        dockerfile(
            "FROM python:3.12\nRUN uv venv --python 3.14 /v\nENV VIRTUAL_ENV=/v\n\
             RUN uv pip install torch==2.8.0\n",
        ),
    ],
    silent: &[
        dockerfile("FROM python:3.12-slim\nRUN pip install torch==2.2.0\n"),
        dockerfile("FROM python:3.12-slim\nRUN ./python.sh\nRUN pip install torch==2.1.2\n"),
        dockerfile(
            "FROM nvidia/cuda:12.8.1-base-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n\
             ENV PATH=/opt/conda/bin:$PATH\nRUN pip3 install torch==2.15.0\n",
        ),
        dockerfile("FROM python:3.12-slim\nRUN pip install torch==2.1.2 --target /x --python-version 3.11\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let installs = file.installs().filter(|(_, _, install)| !install.elsewhere());
    installs
        .filter_map(|(_, run, install)| mismatch(run.state.catalog, install, install.requirement("torch")?))
        .collect()
}

fn mismatch(catalog: &'static Catalog, install: &Install, one: &Requirement) -> Option<Found> {
    let series = install.python.series.as_deref()?;
    let Known::Release(release) = torch::known(catalog, one) else { return None };
    let build = one.local.as_deref().and_then(|local| release.build(local));
    let lists = [build.and_then(|build| build.pythons.as_ref()), release.pythons.as_ref()];
    let known = release.pythons.is_some() && lists.iter().flatten().all(|list| !has(list, series));
    if !known {
        return None;
    }
    let pythons = release.pythons.as_deref().unwrap_or_default();
    let message = format!(
        "torch {} has no wheel for {}, only for Python {}; pip finds no matching distribution",
        release.version,
        install.python.message(),
        pythons.join(", ")
    );
    Some(
        Found::error(one, message, fix(catalog, release, series))
            .unless_certain(install.certain && !one.default),
    )
}

fn has(list: &[String], series: &str) -> bool {
    list.iter().any(|one| one == series)
}

/// The release nearest to this one that has wheels for the Python.
fn fix(catalog: &Catalog, release: &Release, series: &str) -> String {
    let all = catalog.torch().all();
    let own = all.iter().position(|one| one.version == release.version).unwrap_or(0);
    let fits = |one: &&Release| one.pythons.as_deref().is_some_and(|list| has(list, series));
    let later = all[own..].iter().find(fits);
    let earlier = all[..own].iter().rev().find(fits);
    match later.or(earlier) {
        Some(near) => format!("Use torch=={}, which has a wheel for Python {series}", near.version),
        None => format!("Use another Python; no torch in the catalog has a wheel for Python {series}"),
    }
}
