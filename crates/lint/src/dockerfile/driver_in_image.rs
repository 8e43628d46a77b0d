//! An NVIDIA driver in an image.

use crate::read::dockerfile::{Dockerfile, apt};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "driver-in-image",
    severity: Severity::Warning,
    summary: "the image contains no NVIDIA driver; the host's driver is mounted at run time",
    explain: include_str!("driver_in_image.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y nvidia-driver-535 nvidia-utils-535\n\
             ",
        ),
        dockerfile("FROM ubuntu:22.04\nRUN ./repo.sh && apt-get update && apt-get -y install cuda\n"),
        dockerfile("FROM ubuntu:22.04\nRUN sh ./NVIDIA-Linux-x86_64-535.104.05.run -s --no-kernel-module\n"),
    ],
    silent: &[
        dockerfile(
            "FROM ubuntu:22.04\nRUN ./repo.sh && apt-get update && apt-get -y install cuda-toolkit-12-1 \
             cuda-nvcc-12-1 libnccl2\n",
        ),
        dockerfile("FROM ubuntu:22.04\nRUN apt-get purge -y nvidia-driver-535\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    for (_, run) in file.runs() {
        let packages = apt::packages(file.catalog, &run.command).into_iter().filter(|word| word.known);
        let names: Vec<(&str, usize)> = packages.map(|word| (apt::name(word), word.line)).collect();
        if let Some((name, line)) = names.iter().find(|(name, _)| is_driver(name)) {
            let message = format!(
                "{name} installs an NVIDIA driver into the image; it conflicts with the host driver \
                 mounted at run time"
            );
            found.push(
                Found::warning(
                    *line,
                    message,
                    "Remove it; `cuda-toolkit-X-Y` provides nvcc and the libraries without a driver",
                )
                .about(*name),
            );
        }
        if let Some((name, line)) = names.iter().find(|(name, _)| is_toolkit(name)) {
            let message = format!("{name} has no effect in an image; it belongs on the host");
            found.push(Found::warning(*line, message, "Remove it").about(*name));
        }
        let installer = run
            .command
            .words
            .iter()
            .find(|word| word.text.contains("NVIDIA-Linux-") && word.text.ends_with(".run"));
        let runs = matches!(run.command.program(), "sh" | "bash") || run.command.word(0).ends_with(".run");
        if let (Some(word), true) = (installer, runs) {
            found.push(Found::warning(
                word.line,
                "the NVIDIA driver installer runs during the image build; its libraries conflict with the \
                 host driver",
                "Remove it; the host driver is mounted at run time",
            ));
        }
    }
    found
}

fn is_driver(name: &str) -> bool {
    let numbered = |prefix: &str| {
        name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let begins = [
        "nvidia-driver-",
        "nvidia-headless-",
        "nvidia-utils-",
        "nvidia-dkms-",
        "nvidia-kernel-",
        "libnvidia-compute-",
        "nvidia-open-",
        "cuda-drivers",
    ];
    // `cuda-12-1`, but not `cuda-toolkit-12-1`.
    matches!(name, "nvidia-driver" | "nvidia-open" | "nvidia-smi" | "cuda")
        || numbered("cuda-")
        || begins.iter().any(|one| name.starts_with(one))
}

fn is_toolkit(name: &str) -> bool {
    matches!(
        name,
        "nvidia-docker2" | "nvidia-docker" | "nvidia-container-runtime" | "nvidia-container-toolkit"
    )
}
