//! A directory of a CUDA release that the image does not have.

use crate::read::dockerfile::stage::{settings, unquoted};
use crate::read::dockerfile::{Dockerfile, From, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};
use catalog::version;

pub(crate) const RULE: Rule = Rule {
    id: "cuda-home-missing",
    severity: Severity::Warning,
    summary: "CUDA_HOME and the paths name the CUDA release of the image",
    explain: include_str!("cuda_home_missing.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nENV CUDA_HOME=/usr/local/cuda-12.1\n"),
        dockerfile("FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nENV PATH=/usr/local/cuda-11.8/bin:$PATH\n"),
        dockerfile(
            "FROM python:3.12-slim\nENV CUDA_HOME=/usr/local/cuda\nRUN pip install --no-cache-dir torch\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nENV CUDA_HOME=/usr/local/cuda-12.4 \
             X=/usr/local/cuda\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN apt-get update && apt-get install -y \
             cuda-toolkit-11-8\nENV CUDA_HOME=/usr/local/cuda-11.8\n",
        ),
        dockerfile("FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nENV CUDA_HOME=/usr/local/cuda-12\n"),
        dockerfile("FROM example/base:1\nENV CUDA_HOME=/usr/local/cuda-11.8\n"),
        dockerfile(
            "FROM python:3.12-slim\nENV CUDA_HOME=/usr/local/cuda\nCOPY \
             --from=nvidia/cuda:12.4.1-devel-ubuntu22.04 /usr/local/cuda /usr/local/cuda\n",
        ),
    ],
};

const NAMES: &[&str] = &[
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_ROOT",
    "CUDA_TOOLKIT_ROOT_DIR",
    "CUDACXX",
    "CUDA_BIN_PATH",
    "PATH",
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "CPATH",
];

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.stages.iter().filter(|stage| matches!(stage.from, From::Image(_))).flat_map(stage).collect()
}

fn stage(stage: &Stage) -> Vec<Found> {
    let image = stage.end.image.filter(|_| !stage.end.toolkit && !stage.end.opaque);
    let Some(image) = image.filter(|image| !image.repository.starts_with("nvcr.io")) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for one in stage.instructions.iter().filter(|one| one.keyword == "ENV") {
        for (name, value) in
            settings(&one.text.text).into_iter().filter(|(name, _)| NAMES.contains(&name.as_str()))
        {
            let value = unquoted(&value.unwrap_or_default());
            let parts = value.split(':').filter_map(|part| part.strip_prefix("/usr/local/cuda"));
            let other = parts.filter_map(|rest| {
                let release = rest.strip_prefix('-')?.split('/').next()?;
                version::minor(release).filter(|_| release.contains('.'))
            });
            let has = image.cuda.as_deref().and_then(version::minor);
            if let (Some(other), Some(has)) = (other.into_iter().find(|other| Some(*other) != has), has) {
                let directory = format!("/usr/local/cuda-{}.{}", other.0, other.1);
                let message = format!("{name} names {directory}, but the image has CUDA {}.{}", has.0, has.1);
                found.push(Found::warning(one.line, message, "Use /usr/local/cuda").about(&name));
            } else if has.is_none()
                && image.cuda.is_none()
                && matches!(name.as_str(), "CUDA_HOME" | "CUDA_PATH")
                && value.starts_with("/usr/local/cuda")
            {
                let message = format!("{name} is {value}, but {} has no CUDA toolkit", image.reference());
                found.push(Found::warning(
                    one.line,
                    message,
                    "Use a devel image of nvidia/cuda, or remove it",
                ));
            }
        }
    }
    found
}
