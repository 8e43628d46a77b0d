//! A package that loads another cuDNN than the one in the base image.

use crate::read::dockerfile::{Dockerfile, Stage, apt};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "cudnn-of-other-release",
    severity: Severity::Warning,
    summary: "packages that load CUDA and cuDNN from the system find their major releases",
    explain: include_str!("cudnn_of_other_release.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y \
             python3-pip\nRUN pip3 install ctranslate2==4.5.0\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y \
             python3-pip\nRUN pip3 install onnxruntime-gpu==1.19.2\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y \
             python3-pip\nRUN pip3 install onnxruntime-gpu==1.18.0\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y \
             python3-pip\nRUN pip3 install onnxruntime-gpu==1.18.0\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y \
             python3-pip\nRUN pip3 install ctranslate2==4.4.0\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y \
             python3-pip\nRUN pip3 install ctranslate2==4.5.0 nvidia-cudnn-cu12\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y \
             python3-pip\nRUN pip3 install torch==2.5.1 ctranslate2==4.5.0\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y \
             python3-pip\nRUN pip3 install ctranslate2==4.5.0\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let shipped: Vec<usize> = file.shipped().iter().map(|stage| stage.line).collect();
    let Some(end) = file.stages.last().map(|stage| &stage.end) else { return Vec::new() };
    let Some(image) = end.image.filter(|image| image.repository == "nvidia/cuda") else { return Vec::new() };
    let has = match (image.has_cudnn, image.cudnn.as_deref()) {
        (Some(false), _) => None,
        (Some(true), Some(version)) => Some(version.split('.').next().unwrap_or_default().to_owned()),
        _ => return Vec::new(),
    };
    if end.opaque || file.shipped().iter().any(|stage| brings_cudnn(stage)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (stage, _, install) in file.installs() {
        if !shipped.contains(&stage.line) || install.elsewhere() {
            continue;
        }
        for one in install.requirements.iter().filter(|one| !one.default) {
            let Some(version) = &one.pin else { continue };
            let Some(row) = file.catalog.cudnn_users().of(&one.name, version) else { continue };
            let cuda = image.cuda.as_deref().and_then(|cuda| cuda.split('.').next()?.parse::<u32>().ok());
            if let Some(cuda) = cuda.filter(|cuda| *cuda != row.cuda) {
                let message = format!(
                    "{} {} on PyPI is built for CUDA {} and cuDNN {}, but {} has CUDA {cuda}; its libraries \
                     for \
                     the GPU cannot be loaded",
                    one.name,
                    one.pin_text,
                    row.cuda,
                    row.cudnn,
                    image.reference()
                );
                let all = file.catalog.cudnn_users().all().iter();
                let mut fitting = all.filter(|other| other.package == row.package && other.cuda == cuda);
                let fix = match fitting.next() {
                    Some(other) => format!("Use {} {} or newer", one.name, other.from),
                    None => format!("Use a base image with CUDA {} and cuDNN {}", row.cuda, row.cudnn),
                };
                found.push(Found::warning(one, message, fix));
                continue;
            }
            if has.as_deref() == Some(row.cudnn.to_string().as_str()) {
                continue;
            }
            let own = match &has {
                Some(major) => format!("cuDNN {major}"),
                None => "no cuDNN".to_owned(),
            };
            let message = format!(
                "{} {} loads cuDNN {}, but {} has {own}; on the GPU it fails with a library that cannot \
                 be loaded",
                one.name,
                one.pin_text,
                row.cudnn,
                image.reference()
            );
            let fix = format!(
                "Use a base image with cuDNN {}, or install nvidia-cudnn-cu12=={}.*",
                row.cudnn, row.cudnn
            );
            found.push(Found::warning(one, message, fix));
        }
    }
    found
}

/// Whether a stage may get cuDNN in another way.
fn brings_cudnn(stage: &Stage) -> bool {
    let packages = stage.end.packages.iter().any(|(name, _)| {
        ["nvidia-cudnn", "torch", "tensorflow", "paddlepaddle", "jax"]
            .iter()
            .any(|start| name.starts_with(start))
    });
    let installed = stage.runs.iter().any(|run| {
        let words = apt::packages(run.state.catalog, &run.command);
        words.iter().any(|word| !word.known || apt::name(word).contains("cudnn"))
            || run.command.text().contains("cudnn")
    });
    let copied = stage
        .instructions
        .iter()
        .any(|one| matches!(one.keyword.as_str(), "COPY" | "ADD" | "ENV") && one.text.text.contains("cudnn"));
    packages || installed || copied
}
