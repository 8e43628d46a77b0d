//! Operators are built ahead for GPUs that nobody named.

use crate::compiles;
use crate::read::dockerfile::Dockerfile;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "architecture-list-missing",
    severity: Severity::Warning,
    summary: "TORCH_CUDA_ARCH_LIST is set where CUDA code is compiled during the build",
    explain: include_str!("architecture_list_missing.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[dockerfile(
        "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n\
         RUN DS_BUILD_OPS=1 pip3 install deepspeed\n",
    )],
    silent: &[
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nENV TORCH_CUDA_ARCH_LIST=9.0\n\
             RUN apt-get update && apt-get install -y python3-pip\n\
             RUN DS_BUILD_OPS=1 pip3 install deepspeed\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n\
             RUN apt-get update && apt-get install -y python3-pip\n\
             RUN DS_BUILD_OPS=0 pip3 install deepspeed\n",
        ),
        dockerfile("FROM nvcr.io/nvidia/pytorch:24.05-py3\nRUN DS_BUILD_OPS=1 pip install deepspeed\n"),
        dockerfile("FROM example/base:1\nRUN DS_BUILD_OPS=1 pip install deepspeed\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    for (_, run, install) in file.installs() {
        // NGC's images set the list, and of others nobody knows.
        let known = run.state.image.is_some_and(|image| !image.repository.starts_with("nvcr.io"));
        let ahead = install.requirement("deepspeed").and_then(|_| compiles::deepspeed_ahead(run));
        if let (Some(variable), true, None) =
            (ahead, known && !run.state.opaque, run.variable("TORCH_CUDA_ARCH_LIST"))
        {
            let message = format!(
                "{variable}=1 compiles DeepSpeed operators without TORCH_CUDA_ARCH_LIST; a build sees no GPU \
                 and falls back to default architectures"
            );
            found.push(Found::warning(
                install.line,
                message,
                "Set `ENV TORCH_CUDA_ARCH_LIST=\"8.0;9.0\"` to the compute capabilities of the target GPUs",
            ));
        }
    }
    found
}
