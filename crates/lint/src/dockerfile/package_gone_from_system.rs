//! A package that the distribution of the base image does not have.

use crate::base::Base;
use crate::read::dockerfile::{Dockerfile, Run, Stage, apt};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "package-gone-from-system",
    severity: Severity::Error,
    summary: "the APT repositories of the base image have the packages that are installed",
    explain: include_str!("package_gone_from_system.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM nvidia/cuda:12.6.3-runtime-ubuntu24.04\nRUN apt-get update && apt-get install -y \
             --no-install-recommends \\\n    python3-pip \\\n    libgl1-mesa-glx libglib2.0-0\n",
        ),
        dockerfile(
            "FROM python:3.12-slim-trixie\nRUN apt-get update && apt-get install -y libgl1-mesa-glx\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN apt-get update && apt install -y python git\n",
        ),
        dockerfile("FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y python3 python3-distutils\n"),
        dockerfile("FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y cuda-toolkit-12-4\n"),
        dockerfile("FROM debian:12\nRUN apt-get update && apt-get install -y netcat libcudnn9-cuda-12\n"),
    ],
    silent: &[
        dockerfile(
            "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN apt-get update && apt-get install -y \
             libgl1-mesa-glx\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y libgl1 python3-pip \
             python-is-python3\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nADD https://x/cuda-keyring_1.1-1_all.deb /tmp/\nRUN dpkg -i /tmp/*.deb && \
             apt-get update && apt-get install -y cuda-toolkit-12-4\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN apt-get update && apt-get install -y \
             cuda-toolkit-12-4\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nCOPY cuda.list /etc/apt/sources.list.d/\nRUN apt-get update && apt-get \
             install -y cuda-nvcc-12-4\n",
        ),
        dockerfile("FROM ubuntu:20.04\nRUN apt-get update && apt-get install -y python2 || true\n"),
        dockerfile(
            "FROM debian:12\nRUN apt-get update && apt-get install -y libgl1-mesa-glx python3-distutils\n",
        ),
    ],
};

/// Packages that systems no longer have, these systems, and what is there instead.
const GONE: &[(&str, &[&str], &str)] = &[
    ("libgl1-mesa-glx", &["ubuntu24.04", "ubuntu26.04", "debian13"], "libgl1"),
    ("python3-distutils", &["ubuntu24.04", "ubuntu26.04", "debian13"], "python3-setuptools"),
    ("python", &["ubuntu22.04", "ubuntu24.04", "debian12", "debian13"], "python3, or python-is-python3"),
    ("python-pip", &["ubuntu20.04", "ubuntu22.04", "ubuntu24.04", "debian12", "debian13"], "python3-pip"),
    ("python-dev", &["ubuntu22.04", "ubuntu24.04", "debian12", "debian13"], "python3-dev"),
    ("netcat", &["debian12", "debian13"], "netcat-openbsd"),
    ("libasound2", &["ubuntu24.04"], "libasound2t64"),
    ("libtinfo5", &["ubuntu24.04"], "libtinfo6"),
    ("software-properties-common", &["debian13"], "a file in /etc/apt/sources.list.d in place of a PPA"),
];

/// How the names of packages begin that only NVIDIA's repository of CUDA has.
const OF_NVIDIA: &[&str] = &[
    "cuda-toolkit-1",
    "cuda-nvcc-1",
    "cuda-cudart-1",
    "cuda-libraries-1",
    "cuda-compat-1",
    "libcudnn8",
    "libcudnn9",
];

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    for stage in &file.stages {
        for run in &stage.runs {
            found.extend(of_run(file, stage, run));
        }
    }
    found
}

fn of_run(file: &Dockerfile, stage: &Stage, run: &Run) -> Vec<Found> {
    let Some(system) = run.state.system.filter(|_| !run.state.archives && !run.state.opaque) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for word in apt::packages(file.catalog, &run.command).into_iter().filter(|word| word.known) {
        let name = apt::name(word);
        let gone =
            GONE.iter().find(|(gone, systems, _)| *gone == name && systems.contains(&system.id.as_str()));
        let (message, fix) = match gone {
            Some((_, _, instead)) => (
                format!(
                    "{} has no package {name}: `E: Package '{name}' has no installation candidate`",
                    system.name
                ),
                format!("Install {instead}"),
            ),
            None if OF_NVIDIA.iter().any(|start| name.starts_with(start)) && is_plain(file, stage) => (
                format!(
                    "{} has no package {name}, which only NVIDIA's repository has: `E: Unable to locate \
                     package \
                     {name}`",
                    system.name
                ),
                "Install the package cuda-keyring before it, or begin with an image nvidia/cuda".to_owned(),
            ),
            None => continue,
        };
        found
            .push(Found::error(word.line, message, fix).unless_certain(run.command.certain && !word.default));
    }
    found
}

/// Whether a stage begins with the bare system, to whose repositories nothing is added.
fn is_plain(file: &Dockerfile, stage: &Stage) -> bool {
    let Some(image) = file.base(stage) else { return false };
    let bare = matches!(Base::of(&image.text), Some(Base::System | Base::Python));
    let added = file.lineage(stage).into_iter().flat_map(|one| &one.instructions).any(|one| {
        let text = one.text.text.as_str();
        let copies = matches!(one.keyword.as_str(), "COPY" | "ADD")
            && (text.contains("/etc/") || text.contains(" / "));
        copies || text.contains("nvidia.com") || text.contains("keyring") || text.contains("sources.list")
    });
    image.known && bare && !added
}
