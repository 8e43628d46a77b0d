//! pip into a Python that refuses it.

use crate::read::dockerfile::install::Install;
use crate::read::dockerfile::python::Kind;
use crate::read::dockerfile::{Dockerfile, Run};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "externally-managed-python",
    severity: Severity::Error,
    summary: "pip does not install into an externally managed Python",
    explain: include_str!("externally_managed_python.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y python3-pip && pip3 install numpy\n",
        ),
        dockerfile("FROM pytorch/pytorch:2.12.0-cuda13.0-cudnn9-runtime\nRUN pip install deepspeed\n"),
    ],
    silent: &[
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3-pip && pip3 install numpy\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y python3-pip && pip3 install \
             --break-system-packages numpy\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04\nENV PIP_BREAK_SYSTEM_PACKAGES=1\n\
             RUN apt-get update && apt-get install -y python3-pip && pip3 install numpy\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y python3-venv && python3 -m venv /v\n\
             ENV PATH=\"/v/bin:$PATH\"\nRUN pip install numpy\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y python3-pip && rm \
             /usr/lib/python3*/EXTERNALLY-MANAGED\nRUN pip3 install numpy\n",
        ),
        dockerfile("FROM python:3.12-slim-bookworm\nRUN pip install numpy\n"),
        dockerfile(
            "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y python3-venv && python3 -m venv /v \
             && . /v/bin/activate && pip install numpy\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut lines = Vec::new();
    let refused = file.installs().filter(|(_, run, install)| refused(run, install));
    refused
        .filter(|(stage, _, _)| {
            // One finding a stage: the build ends with the first.
            let first = !lines.contains(&stage.line);
            lines.push(stage.line);
            first
        })
        .map(|(_, _, install)| {
            let message = format!(
                "pip refuses to install into {} (error: externally-managed-environment)",
                install.python.message()
            );
            Found::error(
                install.line,
                message,
                "Create a virtual environment, or set `ENV \
                 PIP_BREAK_SYSTEM_PACKAGES=1`",
            )
            .unless_certain(install.certain)
        })
        .collect()
}

fn refused(run: &Run, install: &Install) -> bool {
    let variables = [
        "PIP_BREAK_SYSTEM_PACKAGES",
        "UV_BREAK_SYSTEM_PACKAGES",
        "VIRTUAL_ENV",
        "PIP_CONFIG_FILE",
        "PIP_USER",
        "PIP_TARGET",
        "PIP_PREFIX",
    ];
    install.python.kind == Kind::System
        && run.state.managed == Some(true)
        && !install.elsewhere()
        && !install.option("--break-system-packages")
        && !run.variables().any(|name| variables.contains(&name))
}
