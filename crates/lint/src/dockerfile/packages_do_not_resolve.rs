//! Pinned packages whose requirements contradict each other.

use std::collections::BTreeMap;

use catalog::Catalog;
use diagnostic::{Fix, shell};
use pep440_rs::VersionSpecifiers;

use crate::pythons_required;
use crate::read::dockerfile::install::{Install, Requirement};
use crate::read::dockerfile::{Dockerfile, Run};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile, with};
use crate::torch;
use catalog::packages::Row;

pub(crate) const RULE: Rule = Rule {
    id: "packages-do-not-resolve",
    severity: Severity::Error,
    summary: "packages pinned in one command are compatible with each other and with the Python",
    explain: include_str!("packages_do_not_resolve.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        with(
            "FROM python:3.11\nCOPY requirements.txt .\nRUN pip install torch==2.5.1 -r requirements.txt\n",
            &[("requirements.txt", "xformers==0.0.29.post3\n")],
        ),
        dockerfile("FROM python:3.11\nRUN pip install torch==2.5.1 xformers==0.0.29.post3\n"),
        dockerfile("FROM python:3.11\nRUN pip install stable-baselines3==2.4.1 numpy==2.1.0\n"),
        dockerfile("FROM python:3.10\nRUN pip install transformers==5.23.0\n"),
        dockerfile("FROM python:3.11\nRUN pip install torch==2.6.0 nvidia-nccl-cu12==2.27.3\n"),
        dockerfile("FROM python:3.11\nRUN pip install numpy==1.26.4 numpy==2.1.0\n"),
        // On Python 3.9 it requires numba 0.60.0.
        dockerfile("FROM python:3.9\nRUN pip install vllm==0.9.2 numba==0.61.2\n"),
        dockerfile("FROM python:3.12\nRUN pip install vllm==0.9.2 numba==0.60.0\n"),
        dockerfile("FROM python:3.11\nRUN pip install torchvision==0.17.2 xformers==0.0.29.post3\n"),
        dockerfile("FROM python:3.11\nRUN pip install torch==2.3.1 triton==3.3.1\n"),
        dockerfile(
            "FROM nvidia/cuda:12.6.3-cudnn-devel-ubuntu22.04\nRUN apt-get update && apt-get install -y \
             python3-pip\nRUN pip3 install --no-cache-dir \"jax[cuda12]==0.7.1\" flax\n",
        ),
        with(
            "FROM python:3.9-slim\nCOPY requirements.txt .\nRUN pip install -r requirements.txt\n",
            &[("requirements.txt", "jaxlib==0.4.35\n")],
        ),
    ],
    silent: &[
        dockerfile("FROM python:3.11\nRUN pip install 'jax[cuda12]==0.7.1' jaxlib==0.7.1\n"),
        dockerfile("FROM python:3.8\nRUN pip install jax==0.4.13\n"),
        with(
            "FROM python:3.11\nCOPY requirements.txt .\nRUN pip install -r requirements.txt\n",
            &[("requirements.txt", "torch==2.5.1\nxformers==0.0.29.post3; sys_platform == 'win32'\n")],
        ),
        dockerfile("FROM python:3.11\nRUN pip install torch==2.6.0 xformers==0.0.29.post3\n"),
        dockerfile(
            "FROM python:3.11\nRUN pip install torch==2.5.1\n\
             RUN pip install --no-deps xformers==0.0.29.post3\n",
        ),
        dockerfile("FROM python:3.11\nRUN pip install transformers==5.23.0 numpy==2.1.0\n"),
        dockerfile("FROM python:3.11\nRUN pip install torch==2.6.0 nvidia-nccl-cu12==2.21.5\n"),
        dockerfile("FROM python:3.11\nRUN pip install numpy==1.26 numpy==1.26.0 'numpy>=1.20'\n"),
        dockerfile("FROM python:3.11\nRUN pip install torchvision==0.21.0 xformers==0.0.29.post3\n"),
        dockerfile("FROM python:3.9\nRUN pip install vllm==0.9.2 numba==0.60.0\n"),
        // On aarch64 it requires no xformers.
        dockerfile("FROM python:3.12\nRUN pip install vllm==0.11.0 xformers==0.0.31\n"),
        // Which numba depends on the Python.
        dockerfile("FROM example/base:1\nRUN pip install vllm==0.9.2 numba==0.60.0\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let installs =
        file.installs().filter(|(_, _, install)| !install.elsewhere() && !install.option("--no-deps"));
    installs.flat_map(|(_, run, install)| conflicts(run, install)).collect()
}

fn conflicts(run: &Run, install: &Install) -> Vec<Found> {
    let mut found = Vec::new();
    for one in install.requirements.iter().filter(|one| one.pin.is_some()) {
        if let Some(row) = one.row(run.state.catalog) {
            found.extend(with_python(install, one, row));
            found.extend(with_others(install, one, row));
        } else {
            found.extend(with_older_python(install, one));
        }
    }
    found.extend(with_nccl(run, install));
    found.extend(twice(install));
    found.extend(two_torches(run.state.catalog, install));
    found.extend(with_triton(run, install));
    found
}

fn with_python(install: &Install, one: &Requirement, row: &Row) -> Option<Found> {
    let series = install.python.series.as_deref()?;
    let wanted: VersionSpecifiers = row.python.as_deref()?.parse().ok()?;
    // The newest patch release that anybody will have: a lower bound may name one.
    let late = format!("{series}.99").parse().ok()?;
    if wanted.contains(&late) || row.python.as_deref()?.contains('<') {
        return None;
    }
    let message = format!(
        "{} {} requires Python {wanted}, but this is {}; pip fails",
        one.name,
        one.pin_text,
        install.python.message()
    );
    Some(
        Found::error(one, message, "Use another Python or an older release")
            .unless_certain(install.certain && !one.default),
    )
}

/// A release that the catalog does not have, of which the lowest Python is known.
fn with_older_python(install: &Install, one: &Requirement) -> Option<Found> {
    let needed = pythons_required::lowest(&one.name, one.pin.as_ref()?)?;
    let minor: u64 = install.python.series.as_deref()?.strip_prefix("3.")?.parse().ok()?;
    let message = format!(
        "{} {} requires Python 3.{needed} or newer, but this is {}; pip fails",
        one.name,
        one.pin_text,
        install.python.message()
    );
    let found = Found::error(one, message, "Use another Python or an older release");
    (minor < needed).then(|| found.unless_certain(install.certain && !one.default))
}

fn with_others(install: &Install, one: &Requirement, row: &Row) -> Vec<Found> {
    let others = install.requirements.iter().filter(|other| other.name != one.name);
    others
        .filter_map(|other| {
            let wanted: VersionSpecifiers = install.required(row, &other.name)?.parse().ok()?;
            let pin = other.pin.as_ref()?;
            if wanted.contains(pin) {
                return None;
            }
            let message = format!(
                "{} {} requires {} {wanted}, but {} is pinned in the same command; pip fails",
                one.name, one.pin_text, other.name, other.pin_text
            );
            let certain = install.certain && !one.default && !other.default;
            Some(Found::error(one, message, resolve(one)).unless_certain(certain))
        })
        .collect()
}

fn with_nccl(run: &Run, install: &Install) -> Option<Found> {
    let torch = install.requirement("torch")?;
    let torch::Known::Release(release) = torch::known(run.state.catalog, torch) else { return None };
    let name = torch::build(run, install, release)?;
    let build: &catalog::torch::Build = release.build(&name)?;
    let nccl = build.nccl.as_deref()?;
    let one = install.requirements.iter().find(|one| one.name.starts_with("nvidia-nccl-cu"))?;
    // Older torch builds carry NCCL inside, and require none.
    let linked = release.pypi_build.as_deref() != Some(name.as_str());
    if linked || one.pin.is_none() || one.pin_text == nccl || !one.name.ends_with(&name[2..4]) {
        return None;
    }
    let message = format!(
        "torch {}+{name} requires {} {nccl}, but {} is pinned in the same command; pip fails",
        release.version, one.name, one.pin_text
    );
    let fix = "Remove the pin, or install another NCCL afterwards with `--no-deps`";
    Some(Found::error(one, message, fix).unless_certain(install.certain && !one.default && !torch.default))
}

/// One package with two pins.
fn twice(install: &Install) -> Option<Found> {
    let mut pins: BTreeMap<&str, &Requirement> = BTreeMap::new();
    install.requirements.iter().filter(|one| one.pin.is_some() && !one.text.contains(';')).find_map(|one| {
        let before = pins.insert(&one.name, one)?;
        let certain = install.certain && !one.default && !before.default;
        (before.pin != one.pin).then(|| {
            let here = before.file == one.file;
            let place = if here { format!("line {}", before.line) } else { before.location() };
            let message = format!(
                "{} is pinned to {} here and to {} in {}; pip fails",
                one.name, one.pin_text, before.pin_text, place
            );
            Found::error(one, message, "Remove one of the pins").unless_certain(certain)
        })
    })
}

/// Two packages of a command without torch that require different releases of torch.
fn two_torches(catalog: &'static Catalog, install: &Install) -> Option<Found> {
    if install.requirement("torch").is_some() {
        return None;
    }
    let partner = install.requirements.iter().find(|one| one.name == "torchvision")?;
    let known = catalog.torch_partners().partner("torchvision")?;
    let strict = known.requires_no_single_torch(&partner.pin_text) == Some(false);
    let torch::Known::Release(release) = torch::known(catalog, partner) else { return None };
    let version = release.version.parse().ok().filter(|_| strict)?;
    install.requirements.iter().filter(|one| one.pin.is_some()).find_map(|one| {
        let wanted: VersionSpecifiers = install.required(one.row(catalog)?, "torch")?.parse().ok()?;
        let message = format!(
            "{} {} requires torch {wanted}, and {} {} requires torch {}; pip fails",
            one.name, one.pin_text, partner.name, partner.pin_text, release.version
        );
        let certain = install.certain && !one.default && !partner.default;
        (!wanted.contains(&version)).then(|| Found::error(one, message, resolve(one)).unless_certain(certain))
    })
}

/// Finds what is compatible with a pin.
fn resolve(one: &Requirement) -> Fix {
    let pin = shell::word(&format!("{}=={}", one.name, one.pin_text)).into_owned();
    Fix::run("Find compatible versions:", format!("envdoc resolve --with {pin}"))
}

/// Another triton than the one that torch requires on x86_64.
fn with_triton(run: &Run, install: &Install) -> Option<Found> {
    let (torch, one) = (install.requirement("torch")?, install.requirement("triton")?);
    let torch::Known::Release(release) = torch::known(run.state.catalog, torch) else { return None };
    let build = release.build(&torch::build(run, install, release)?)?;
    let wanted = build.triton.as_deref().or(release.triton.as_deref())?;
    let wanted: VersionSpecifiers = match wanted.starts_with(|letter: char| letter.is_ascii_digit()) {
        true => format!("=={wanted}").parse().ok()?,
        false => wanted.parse().ok()?,
    };
    // On a newer Python it requires none.
    let series = install.python.series.as_deref()?;
    let requires = release
        .triton_python_below
        .as_deref()
        .is_none_or(|below| catalog::version::at_least(series, below) == Some(false));
    let pin = one.pin.as_ref().filter(|pin| requires && !wanted.contains(pin))?;
    let message = format!(
        "torch {} requires triton {wanted} on x86_64, but {pin} is pinned in the same command",
        release.version
    );
    // Wheels for other processors require no triton, or another one.
    Some(Found::warning(one, message, "Remove the pin"))
}
