//! LD_LIBRARY_PATH or LD_PRELOAD puts other libraries before those of torch.

use crate::read::settings::Settings;
use crate::rule::{Found, Judge, Kind, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "libraries-shadowed",
    severity: Severity::Warning,
    summary: "the loader finds the CUDA and NCCL libraries that torch was built with",
    explain: include_str!("libraries_shadowed.md"),
    judge: Judge::Variables(judge),
    fires: &[
        named("train.sh", "export LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs:$LD_LIBRARY_PATH\ntrain\n"),
        named(
            "Dockerfile",
            "FROM python:3.12\nRUN pip install --no-cache-dir torch==2.6.0\n\
             ENV LD_LIBRARY_PATH=/usr/local/cuda/lib64:$LD_LIBRARY_PATH\n",
        ),
    ],
    silent: &[
        named("train.sh", "export LD_LIBRARY_PATH=/usr/local/cuda/lib64:$LD_LIBRARY_PATH\nmake\n"),
        named(
            "Dockerfile",
            "FROM nvidia/cuda:12.6.3-devel-ubuntu24.04\nENV LD_LIBRARY_PATH=/usr/local/cuda/lib64\n",
        ),
    ],
};

fn judge(settings: &Settings) -> Vec<Found> {
    let image_torch = settings.kind == Some(Kind::Dockerfile) && settings.installs_torch;
    let found = settings.scopes.iter().flat_map(|scope| &scope.settings).filter_map(|one| {
        // Mostly a value goes on with the one before: `/a:$LD_LIBRARY_PATH`.
        let value = one.written.as_str();
        match one.name.as_str() {
            "LD_LIBRARY_PATH"
                if value.split(':').any(|part| part.trim_end_matches('/').ends_with("/stubs")) =>
            {
                let message = "LD_LIBRARY_PATH contains a stubs directory; its libcuda is for linking only \
                    and \
                    fails every call";
                Some(Found::warning(one.location.clone(), message, "Remove the directory"))
            }
            "LD_LIBRARY_PATH" if image_torch => {
                let folder = value
                    .split(':')
                    .find(|part| part.starts_with("/usr/local/cuda") && part.contains("lib"))?;
                let message = format!(
                    "{folder} takes precedence over the CUDA libraries bundled with torch, \
                     which does not need it"
                );
                Some(Found::note(
                    one.location.clone(),
                    message,
                    "Remove it unless something else in the image \
                     needs it",
                ))
            }
            "LD_PRELOAD" if value.contains("libnccl") => {
                let message = format!(
                    "LD_PRELOAD={value} replaces torch's NCCL; every rank must load the same \
                     version"
                );
                Some(Found::note(one.location.clone(), message, "Remove it"))
            }
            _ => None,
        }
    });
    found.collect()
}
