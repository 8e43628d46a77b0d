//! An index of PyTorch in place of PyPI, for packages that only PyPI has.

use crate::read::dockerfile::install::Install;
use crate::read::dockerfile::{Dockerfile, Run};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile, named};
use crate::torch;

pub(crate) const RULE: Rule = Rule {
    id: "index-without-pypi",
    severity: Severity::Error,
    summary: "packages that only PyPI has are not installed from PyTorch's index alone",
    explain: include_str!("index_without_pypi.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        named(
            "requirements.txt",
            "--index-url https://download.pytorch.org/whl/cu124\ntorch==2.5.1\ntransformers==4.46.3\n",
        ),
        dockerfile(
            "FROM python:3.12\nRUN pip install torch deepspeed --index-url \
             https://download.pytorch.org/whl/cu121\n",
        ),
    ],
    silent: &[
        named(
            "requirements.txt",
            "--index-url https://download.pytorch.org/whl/cu124\n\
             --extra-index-url https://pip.example/simple\ntorch==2.5.1\ntransformers==4.46.3\n",
        ),
        named(
            "requirements.txt",
            "--index-url https://download.pytorch.org/whl/cu124\ntorch==2.5.1\ntorchvision==0.20.1\nnumpy\n",
        ),
        dockerfile(
            "FROM python:3.12\nENV PIP_EXTRA_INDEX_URL=https://pip.example/simple\nRUN pip install torch \
             deepspeed --index-url https://download.pytorch.org/whl/cu121\n",
        ),
        named("requirements.txt", "--index-url https://pip.example/simple\ntorch==2.5.1\ntransformers\n"),
    ],
};

/// Packages that PyTorch's index has never had. It does have many others that are not PyTorch's own, such as
/// numpy, pandas and datasets: pytorch/test-infra:s3_management/manage.py@027dd134.
const ONLY_PYPI: &[&str] = &[
    "accelerate",
    "bitsandbytes",
    "deepspeed",
    "diffusers",
    "einops",
    "evaluate",
    "fastapi",
    "flash-attn",
    "gradio",
    "hydra-core",
    "librosa",
    "mlflow",
    "opencv-python",
    "opencv-python-headless",
    "peft",
    "pytorch-lightning",
    "scikit-learn",
    "scipy",
    "sentence-transformers",
    "soundfile",
    "tensorboard",
    "timm",
    "tokenizers",
    "transformers",
    "trl",
    "uvicorn",
    "wandb",
];

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.installs().filter_map(|(_, run, install)| missing(run, install)).collect()
}

fn missing(run: &Run, install: &Install) -> Option<Found> {
    let index = install.index.as_ref().filter(|index| index.known && install.extra.is_empty())?;
    let of_torch = index.text.starts_with("https://download.pytorch.org/whl");
    let elsewhere =
        install.torch_backend.is_some() || torch::configured(run) || install.option("--find-links");
    if !of_torch || elsewhere || install.option("--no-index") {
        return None;
    }
    // What is installed already is not looked for.
    let missing = |name: &str| ONLY_PYPI.contains(&name) && !run.state.packages.contains_key(name);
    let one = install.requirements.iter().find(|one| missing(&one.name) && !one.text.contains('@'))?;
    let message = format!(
        "--index-url {} replaces PyPI, and that index has no {}; pip finds no matching distribution",
        index.text, one.name
    );
    let fix = format!("Use `--extra-index-url {}`, or install {} without it", index.text, one.name);
    Some(Found::error(one, message, fix).unless_certain(install.certain && !one.default))
}
