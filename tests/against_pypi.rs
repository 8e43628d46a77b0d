//! The resolver against PyPI: what it calls a stack must install there, and what it refuses must be refused there too, where an
//! index can judge it. `uv pip compile` is the judge.
//!
//! Needs uv (on PATH, or named by `ENVDOC_UV`) and the network; without them the test says so loudly and counts as skipped. The
//! cases that PyPI and envdoc judge differently, each with the reason, stand in tests/against_pypi.yaml.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test: it runs uv and envdoc, says what it skipped, and fails by panics"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

const PYTHONS: &[&str] = &["3.9", "3.10", "3.11", "3.12", "3.13", "3.14"];
const TORCH: &[&str] = &[
    "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
    "2.11.0", "2.13.0", "2.14.1", "2.15.0",
];
const DEEPSPEED: &[&str] = &["", "0.14.4", "0.16.9", "0.19.8"];
const EXTRAS: &[&str] = &[
    "",
    "transformers",
    "trl",
    "xformers",
    "vllm",
    "stable-baselines3",
    "bitsandbytes",
    "peft",
    "numpy<2",
    "datasets<3",
    "torchvision==0.17.0",
];

/// One question: a line of the grid.
struct Case {
    python: &'static str,
    torch: &'static str,
    deepspeed: &'static str,
    extra: &'static str,
}

impl Case {
    fn name(&self) -> String {
        let mut name = format!("python {} torch {}", self.python, self.torch);
        if !self.deepspeed.is_empty() {
            let _ = write!(name, " deepspeed {}", self.deepspeed);
        }
        if !self.extra.is_empty() {
            let _ = write!(name, " {}", self.extra);
        }
        name
    }

    /// envdoc's answer: PyPI's build of this torch, no image.
    fn ask(&self) -> Value {
        let mut envdoc = Command::new(env!("CARGO_BIN_EXE_envdoc"));
        envdoc.env("ENVDOC_CATALOG_DIR", "").args(["resolve", "--format", "json", "--base", "none"]);
        envdoc.args([
            "--python",
            self.python,
            "--torch",
            &format!("{}+{}", self.torch, pypi_build(self.torch)),
        ]);
        if !self.deepspeed.is_empty() {
            envdoc.args(["--deepspeed", self.deepspeed]);
        }
        if !self.extra.is_empty() {
            envdoc.args(["--with", self.extra]);
        }
        let output = envdoc.output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}: {output:?}", self.name());
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The wishes as pip writes them.
    fn wishes(&self) -> Vec<String> {
        let mut lines = vec![format!("torch=={}", self.torch)];
        if !self.deepspeed.is_empty() {
            lines.push(format!("deepspeed=={}", self.deepspeed));
        }
        if !self.extra.is_empty() {
            lines.push(self.extra.to_owned());
        }
        lines
    }
}

fn pypi_build(torch: &str) -> &'static str {
    envdoc::catalog::torch::release(torch).unwrap().pypi_build.as_deref().unwrap()
}

/// A sample of the grid in which every pair of values of neighbouring columns occurs.
fn sample() -> Vec<Case> {
    let mut cases = Vec::new();
    for (row, &torch) in TORCH.iter().enumerate() {
        for (column, &python) in PYTHONS.iter().enumerate() {
            for turn in 0..2 {
                let number = row * 7 + column * 3 + turn * 5;
                cases.push(Case {
                    python,
                    torch,
                    deepspeed: DEEPSPEED[(number + turn) % DEEPSPEED.len()],
                    extra: EXTRAS[number % EXTRAS.len()],
                });
            }
        }
    }
    cases
}

/// The packages of a stack, every one with its version.
fn pinned(stack: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for name in ["torch", "torchvision", "torchaudio", "deepspeed"] {
        if let Some(version) = stack[name].as_str() {
            lines.push(format!("{name}=={version}"));
        }
    }
    for (name, version) in stack["packages"].as_object().unwrap() {
        lines.push(format!("{name}=={}", version.as_str().unwrap()));
    }
    lines
}

fn uv() -> Option<String> {
    let named = std::env::var("ENVDOC_UV").unwrap_or_else(|_| "uv".into());
    Command::new(&named).arg("--version").stdout(Stdio::null()).status().is_ok().then_some(named)
}

/// Whether uv finds versions for requirements; else what it says.
fn compiles(uv: &str, directory: &Path, python: &str, lines: &[String]) -> Result<(), String> {
    let file = directory.join("requirements.in");
    std::fs::write(&file, lines.join("\n")).unwrap();
    let output = Command::new(uv)
        .args(["pip", "compile", "--quiet", "--no-header", "--no-annotate", "--python-version", python])
        .args(["--python-platform", "x86_64-manylinux_2_35"])
        .arg(&file)
        .output()
        .unwrap();
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

/// Constraints that no index knows of: what is refused for these alone, PyPI cannot judge.
fn index_can_judge(constraint: &str) -> bool {
    [
        "torch-asked-for",
        "python-asked-for",
        "package-asked-for",
        "partner-asked-for",
        "torch-wheel-for-python",
        "package-wheel-for-python",
        "torch-requirement-met",
        "requirements-met",
    ]
    .contains(&constraint)
}

#[test]
fn stacks_install_and_refusals_are_refused() {
    let Some(uv) = uv() else {
        eprintln!("SKIPPED: uv is not here (pip install uv, or ENVDOC_UV=…)");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    if let Err(error) = compiles(&uv, directory.path(), "3.12", &["six==1.16.0".into()]) {
        eprintln!("SKIPPED: PyPI cannot be asked: {error}");
        return;
    }
    let explained: BTreeMap<String, String> =
        serde_yaml::from_str(include_str!("against_pypi.yaml")).unwrap();
    let (mut install, mut refused, mut not_judged, mut known) = (0, 0, 0, 0);
    let mut disagreements = Vec::new();
    let cases = sample();
    for case in &cases {
        let answer = case.ask();
        let disagreement = if answer["stack"].is_object() {
            let pinned = pinned(&answer["stack"]);
            match compiles(&uv, directory.path(), case.python, &pinned) {
                Ok(()) => {
                    install += 1;
                    continue;
                }
                Err(error) => format!("envdoc: {pinned:?}; uv: {error}"),
            }
        } else {
            let reasons = answer["conflict"]["reasons"].as_array().unwrap();
            let judged = reasons.iter().all(|one| index_can_judge(one["constraint"].as_str().unwrap()));
            match compiles(&uv, directory.path(), case.python, &case.wishes()) {
                Err(_) => {
                    refused += 1;
                    continue;
                }
                Ok(()) if !judged => {
                    not_judged += 1;
                    continue;
                }
                Ok(()) => format!("envdoc refuses: {}; uv installs it", answer["conflict"]["says"]),
            }
        };
        if explained.contains_key(&case.name()) {
            known += 1;
        } else {
            disagreements.push(format!("{}: {disagreement}", case.name()));
        }
    }
    eprintln!(
        "{} cases: {install} stacks install, {refused} refusals are refused, {not_judged} refusals that PyPI cannot judge, \
         {known} explained, {} disagreements",
        cases.len(),
        disagreements.len()
    );
    assert!(install > 30 && refused > 10, "the sample says too little");
    assert!(disagreements.is_empty(), "{}", disagreements.join("\n\n"));
}
