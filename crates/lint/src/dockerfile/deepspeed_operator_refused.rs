//! An operator of DeepSpeed that is to be built without what it is built against.

use catalog::deepspeed::Operator;

use crate::read::dockerfile::{Dockerfile, Run, Stage, apt};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "deepspeed-operator-refused",
    severity: Severity::Error,
    summary: "libraries of DeepSpeed operators that are built ahead are installed before them",
    explain: include_str!("deepspeed_operator_refused.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\nENV TORCH_CUDA_ARCH_LIST=9.0\n\
             RUN DS_BUILD_AIO=1 pip install deepspeed==0.14.4\n",
        ),
        dockerfile(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\nENV TORCH_CUDA_ARCH_LIST=9.0 \
             DS_BUILD_EVOFORMER_ATTN=1\n\
             RUN pip install deepspeed\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\nENV TORCH_CUDA_ARCH_LIST=9.0\n\
             RUN apt-get update && apt-get install -y libaio-dev\nRUN DS_BUILD_AIO=1 pip install deepspeed\n",
        ),
        dockerfile(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\nENV TORCH_CUDA_ARCH_LIST=9.0 DS_BUILD_AIO=0\n\
             RUN pip install deepspeed\n",
        ),
        dockerfile(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\nENV TORCH_CUDA_ARCH_LIST=9.0 \
             CUTLASS_PATH=/opt/cutlass\n\
             RUN DS_BUILD_EVOFORMER_ATTN=1 pip install deepspeed\n",
        ),
        dockerfile("FROM example/base:1\nRUN DS_BUILD_AIO=1 pip install deepspeed\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let installs = file.installs().filter(|(_, run, install)| {
        let known = run.state.image.is_some_and(|image| !image.repository.starts_with("nvcr.io"));
        known && !run.state.opaque && install.requirement("deepspeed").is_some()
    });
    let mut found = Vec::new();
    for (stage, run, install) in installs {
        for operator in file.catalog.deepspeed().operators() {
            let on = run.variable(&operator.variable).and_then(|value| value.text).as_deref() == Some("1");
            let Some((what, fix)) = missing(stage, run, operator).filter(|_| on) else { continue };
            let message = format!(
                "{}=1 builds {}, but {what}; DeepSpeed refuses to build it, and newer releases leave it out",
                operator.variable, operator.name
            );
            found.push(Found::error(install.line, message, fix).unless_certain(install.certain));
        }
    }
    found
}

/// What an operator is built against and the image certainly lacks, and how to get it.
fn missing(stage: &Stage, run: &Run, operator: &Operator) -> Option<(&'static str, &'static str)> {
    let needs = |library: &str| operator.libraries.iter().any(|one| one == library);
    let before = |name: &str| {
        let earlier = stage.runs.iter().filter(|one| one.instruction <= run.instruction);
        earlier
            .flat_map(|one| apt::packages(one.state.catalog, &one.command))
            .any(|word| !word.known || apt::name(word).starts_with(name))
    };
    // Other package managers, and what is built from source.
    let other = stage.runs.iter().any(|one| {
        let text = one.command.text();
        one.instruction <= run.instruction && (text.contains("libaio") || text.contains("cutlass"))
    });
    if needs("libaio") && !before("libaio") && !other && !stage_below(stage) {
        return Some(("libaio-dev is not installed", "Install libaio-dev with apt-get before it"));
    }
    let path = run.variable("CUTLASS_PATH").is_some();
    if needs("cutlass") && !path && !other && !stage_below(stage) {
        return Some(("CUTLASS_PATH is not set", "Clone CUTLASS and set `ENV CUTLASS_PATH`"));
    }
    None
}

/// Whether a stage goes on from another one of the file, whose packages are not looked at.
fn stage_below(stage: &Stage) -> bool {
    matches!(stage.from, crate::read::dockerfile::From::Stage(_))
}
