//! A torch release or build that does not exist.

use crate::read::dockerfile::install::{Install, Requirement};
use crate::read::dockerfile::{Dockerfile, Run};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile, with};
use crate::torch::{self, Known};
use catalog::torch::CudaBuild;

pub(crate) const RULE: Rule = Rule {
    id: "torch-release-missing",
    severity: Severity::Error,
    summary: "the requested torch, torchvision and torchaudio exist, with the requested CUDA build",
    explain: include_str!("torch_release_missing.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        with(
            "FROM python:3.12\nWORKDIR /app\nCOPY requirements.txt .\nRUN pip install -r requirements.txt\n",
            &[("requirements.txt", "# all\ntransformers\ntorch==2.6.1\n")],
        ),
        dockerfile(
            "FROM python:3.12\nRUN pip install torch==2.6.0+cu121 --extra-index-url \
             https://download.pytorch.org/whl/cu121\n",
        ),
        dockerfile("FROM python:3.12\nRUN pip install torch==2.6.1\n"),
        dockerfile(
            "FROM python:3.12\nRUN pip install torch==2.6.0 --index-url \
             https://download.pytorch.org/whl/cu121\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM python:3.12\nRUN pip install torch==2.5.1+cu121 --extra-index-url \
             https://download.pytorch.org/whl/cu121\n",
        ),
        dockerfile(
            "FROM python:3.12\nRUN pip install torch==2.6.0 --index-url \
             https://download.pytorch.org/whl/cu124\n",
        ),
        dockerfile("FROM python:3.12\nARG V\nRUN pip install torch==$V torch==2.6.* 'torch>=2.6.1'\n"),
        dockerfile(
            "FROM python:3.12\nRUN pip install torch==2.6.0+cpu --index-url \
             https://download.pytorch.org/whl/cpu\n",
        ),
        dockerfile("FROM python:3.12\nRUN uv pip install --system --torch-backend=auto torch==2.6.0\n"),
        dockerfile("FROM python:3.12\nRUN pip install torch==99.0.0\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    torch::first_of_each(file, missing)
}

fn missing(run: &Run, install: &Install, one: &Requirement) -> Option<Found> {
    let certain = install.certain && !one.default;
    let release = match torch::known(run.state.catalog, one) {
        Known::Release(release) => release,
        Known::Never(near) => {
            let message = format!(
                "{} {} does not exist; pip finds no matching \
                 distribution",
                one.name, one.pin_text
            );
            return Some(
                Found::error(one, message, format!("Use {}", near.join(" or "))).unless_certain(certain),
            );
        }
        Known::Unknown => return None,
    };
    let build = match (&one.local, &install.index) {
        (Some(local), _) => local.as_str(),
        (None, Some(index)) if index.known && install.extra.is_empty() && !torch::configured(run) => {
            torch::build_of_index(&index.text)?
        }
        _ => return None,
    };
    // torchaudio's last release serves later releases of torch, which have other builds.
    let frozen = one.name == "torchaudio" && torch::version(release, "torchaudio") != Some(&release.version);
    if !torch::is_cuda_build(build) || !release.builds_complete || frozen || release.build(build).is_some() {
        return None;
    }
    let index = if one.local.is_none() { format!(" (the index has {build} only)") } else { String::new() };
    let message = format!(
        "{} {}+{build} does not exist{index}; {} has builds for {}",
        one.name,
        one.pin_text,
        match one.name.as_str() {
            "torch" => "it".to_owned(),
            _ => format!("its torch {}", release.version),
        },
        torch::builds(release)
    );
    let newest = run.state.catalog.torch().all().iter().rev().find(|other| other.build(build).is_some());
    let newest = newest.and_then(|newest| torch::version(newest, &one.name));
    // Of two that are as near the newer one.
    let near = release.builds.iter().rev().min_by_key(|other| distance(&other.build, build))?;
    let mut fix = format!("Use {}=={}+{}", one.name, one.pin_text, near.build);
    if let Some(newest) = newest {
        fix.push_str(&format!(" or {}=={newest}+{build}, each from its own index", one.name));
    }
    Some(Found::error(one, message, fix).unless_certain(certain))
}

/// How far apart two builds are: `cu121` and `cu124`.
fn distance(one: &str, other: &str) -> u32 {
    let number =
        |text: &str| CudaBuild::parse(text).map_or(0, |build| build.major * 10 + build.minor.unwrap_or(0));
    number(one).abs_diff(number(other))
}
