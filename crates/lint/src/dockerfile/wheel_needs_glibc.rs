//! Packages without wheels for musl on Alpine.

use crate::read::dockerfile::Dockerfile;
use crate::rule::{Found, Judge, Location, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "wheel-needs-glibc",
    severity: Severity::Error,
    summary: "packages on Alpine have wheels for musl",
    explain: include_str!("wheel_needs_glibc.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM python:3.12-alpine\nRUN pip install --no-cache-dir torch==2.6.0\n"),
        dockerfile(
            "FROM alpine:3.20\nRUN apk add python3 py3-pip && pip install --no-cache-dir tensorflow\n",
        ),
        dockerfile(
            "FROM alpine:3.20\nCOPY libnvidia.so /usr/lib/\nRUN apk add python3 && python3 -m pip install \
             --no-cache-dir vllm\n",
        ),
    ],
    silent: &[
        dockerfile("FROM python:3.12-alpine\nRUN pip install --no-cache-dir requests numpy\n"),
        dockerfile("FROM python:3.12-slim\nRUN pip install --no-cache-dir torch==2.6.0\n"),
        dockerfile(
            "FROM python:3.12-alpine\nRUN pip install --no-cache-dir --find-links /wheels torch==2.6.0\n",
        ),
    ],
};

/// Packages that are published only for glibc (manylinux) on Linux.
const GLIBC: &[&str] = &[
    "torch",
    "torchvision",
    "torchaudio",
    "triton",
    "vllm",
    "tensorflow",
    "tensorflow-cpu",
    "jaxlib",
    "jax",
    "xformers",
    "onnxruntime-gpu",
    "tensorrt",
    "faiss-cpu",
    "faiss-gpu",
    "bitsandbytes",
    "flash-attn",
    "deepspeed",
    "sglang",
    "nvidia-cublas-cu12",
    "nvidia-nccl-cu12",
    "nvidia-cudnn-cu12",
    "cupy-cuda12x",
    "cupy-cuda11x",
];

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    for (stage, _, install) in file.installs() {
        let Some(image) = file.base(stage) else { continue };
        let base = image.text.rsplit('/').next().unwrap_or_default();
        let alpine = base.starts_with("alpine:")
            || base == "alpine"
            || base.split([':', '-']).any(|part| part.starts_with("alpine"));
        // Wheels of one's own may be for musl.
        if !alpine
            || !image.known
            || !install.extra.is_empty()
            || install.index.as_ref().is_some_and(|url| !url.text.contains("pytorch.org"))
        {
            continue;
        }
        let Some(one) = GLIBC.iter().find_map(|name| install.requirement(name)) else { continue };
        let message = format!(
            "{} has no wheel for musl, which Alpine uses; pip finds no matching distribution",
            one.name
        );
        let fix = "Use an image with glibc, such as python:3.12-slim";
        found.push(Found::error(Location::from(one), message, fix).unless_certain(install.certain));
    }
    found
}
