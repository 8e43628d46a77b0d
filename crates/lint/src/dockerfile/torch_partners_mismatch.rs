//! torch and torchvision or torchaudio that do not belong together.

use crate::read::dockerfile::install::Install;
use crate::read::dockerfile::{Dockerfile, Run};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};
use crate::torch::{self, Known};
use catalog::torch::Release;

pub(crate) const RULE: Rule = Rule {
    id: "torch-partners-mismatch",
    severity: Severity::Error,
    summary: "torchvision and torchaudio match the torch installed with them",
    explain: include_str!("torch_partners_mismatch.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM python:3.12\nRUN pip install torch==2.6.0 torchvision==0.17.0\n"),
        dockerfile("FROM python:3.12\nRUN pip install torch==2.5.1 \\\n    torchaudio==2.5.0\n"),
    ],
    silent: &[
        dockerfile("FROM python:3.12\nRUN pip install torch==2.6.0 torchvision==0.21.0 torchaudio==2.6.0\n"),
        dockerfile("FROM python:3.12\nRUN pip install torch==2.15.0 torchaudio==2.11.0\n"),
        dockerfile("FROM python:3.12\nRUN pip install torch==2.6.0 torchvision\n"),
        dockerfile("FROM python:3.12\nRUN pip install torch==2.15.0 torchvision==0.29.1\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let installs = file.installs().filter(|(_, _, install)| !install.elsewhere());
    installs.flat_map(|(_, run, install)| mismatches(run, install)).collect()
}

fn mismatches(run: &Run, install: &Install) -> Vec<Found> {
    let Some(torch) = install.requirement("torch") else { return Vec::new() };
    let Known::Release(release) = torch::known(run.state.catalog, torch) else { return Vec::new() };
    let partners = ["torchvision", "torchaudio"].into_iter().filter_map(|name| install.requirement(name));
    partners
        .filter_map(|partner| {
            let Known::Release(own) = torch::known(run.state.catalog, partner) else { return None };
            if goes(&partner.name, own, release) {
                return None;
            }
            let message = format!(
                "{} {} requires torch {}, not {}; pip reports a conflict",
                partner.name, partner.pin_text, own.version, release.version
            );
            let fix = match torch::version(release, &partner.name) {
                Some(version) => {
                    format!("Use {}=={version} with torch {}", partner.name, release.version)
                }
                None => format!("Remove it; torch {} has no matching {}", release.version, partner.name),
            };
            let certain = install.certain && !torch.default && !partner.default;
            Some(Found::error(partner, message, fix).unless_certain(certain))
        })
        .collect()
}

/// Whether the partner of one release goes with another.
fn goes(name: &str, own: &Release, torch: &Release) -> bool {
    let version = torch::version(own, name);
    // torchaudio's last release requires no torch; torchvision requires exactly one up to 0.29.0.
    let loose = match name {
        "torchaudio" => version == Some("2.11.0"),
        _ => version.and_then(|version| catalog::version::at_least(version, "0.29.1")) != Some(false),
    };
    loose || own.version == torch.version || version == torch::version(torch, name)
}
