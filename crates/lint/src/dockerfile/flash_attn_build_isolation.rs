//! flash-attn is built where it cannot see torch.

use crate::read::dockerfile::{Dockerfile, Run};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "flash-attn-build-isolation",
    severity: Severity::Error,
    summary: "flash-attn is installed with --no-build-isolation, after torch",
    explain: include_str!("flash_attn_build_isolation.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN uv venv /v\nENV VIRTUAL_ENV=/v\n\
             RUN uv pip install torch\nRUN uv pip install flash-attn\n",
        ),
        dockerfile("FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\nRUN pip install flash-attn==2.7.3\n"),
        dockerfile("FROM python:3.11\nRUN pip install --no-build-isolation torch flash-attn\n"),
        dockerfile(
            "FROM python:3.11\nRUN pip install flash-attn==2.6.3 --no-build-isolation\nRUN pip install \
             torch==2.4.1\n",
        ),
    ],
    silent: &[
        dockerfile("FROM nvcr.io/nvidia/pytorch:24.05-py3\nRUN pip install flash-attn\n"),
        dockerfile(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\n\
             RUN pip install flash-attn==2.7.3 --no-build-isolation\n",
        ),
        dockerfile(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\n\
             RUN pip install \
             https://h/flash_attn-2.7.3+cu12torch2.5cxx11abiFALSE-cp311-cp311-linux_x86_64.whl\n",
        ),
        dockerfile(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\nENV UV_NO_BUILD_ISOLATION=1\n\
             RUN uv pip install --system flash-attn\n",
        ),
        dockerfile(
            "FROM example/base:1\nRUN pip install --no-build-isolation --upgrade torch && pip install \
             --no-build-isolation flash-attn\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    for (_, run, install) in file.installs() {
        let Some(one) = install.requirement("flash-attn") else { continue };
        let variables = ["PIP_NO_BUILD_ISOLATION", "UV_NO_BUILD_ISOLATION", "UV_NO_BUILD_ISOLATION_PACKAGE"];
        let open = install.option("--no-build-isolation")
            || install.option("--no-build-isolation-package")
            || run.variables().any(|name| variables.contains(&name));
        let wheels = install.option("--find-links")
            || install.option("-f")
            || !install.extra.is_empty()
            || install.index.is_some();
        let fix = "Install torch first, then flash-attn with `--no-build-isolation`";
        if open {
            let there =
                run.state.packages.contains_key("torch") || run.state.more_packages || run.state.opaque;
            let none = run.state.bare && !there && install.requirement("torch").is_some();
            if none {
                let message = "flash-attn's setup.py imports torch, but torch is installed by the same \
                    command; \
                    the build fails";
                found.push(Found::warning(one, message, fix));
            } else if run.state.bare && !there && run.variable("PYTHONPATH").is_none() {
                let message = "flash-attn's setup.py imports torch, which is not installed yet; the build \
                    fails \
                    with `No module named 'torch'`";
                found.push(Found::error(one, message, fix).unless_certain(install.certain));
            }
        } else if !wheels && !run.state.indexes && (install.uv || usual(run)) {
            let message = "flash-attn is built with build isolation, where its setup.py cannot import torch";
            found.push(Found::error(one, message, fix).unless_certain(install.uv && install.certain));
        }
    }
    found
}

/// Whether the image is one whose pip is configured as usual: NVIDIA's own images bring flash-attn, and
/// settings of their own.
fn usual(run: &Run) -> bool {
    run.state.image.is_some_and(|image| !image.repository.starts_with("nvcr.io"))
}
