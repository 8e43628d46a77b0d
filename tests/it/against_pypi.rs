//! The resolver against PyPI: what it calls a stack must install there, and what it refuses must be refused
//! there too, where an index can judge it. `uv pip compile` is the judge.
//!
//! Needs uv (on PATH, or named by `ENVDOC_UV`) and the network, and runs only when it is named: `cargo test
//! --test it -- --ignored`. The cases that PyPI and envdoc judge differently, each with the reason, are in
//! tests/against_pypi.yaml.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test: it runs uv and envdoc, says what it skipped, and fails by panics"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use catalog::packages;
use serde_json::Value;

use crate::judge;

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

    /// The requirements as pip writes them.
    fn requirements(&self) -> Vec<String> {
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
    catalog::testing::catalog().torch().release(torch).unwrap().pypi_build.as_deref().unwrap()
}

/// A sample of the grid.
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
    // A tenth of it takes two minutes with an empty cache of uv; ENVDOC_PYPI_EVERY=1 asks all.
    let every = std::env::var("ENVDOC_PYPI_EVERY").ok().and_then(|text| text.parse().ok()).unwrap_or(11);
    cases.into_iter().step_by(every).collect()
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

/// Whether uv finds versions for requirements; else what it says.
fn compiles(uv: &Path, directory: &Path, python: &str, lines: &[String]) -> Result<(), String> {
    let file = directory.join("requirements.in");
    std::fs::write(&file, lines.join("\n")).unwrap();
    let output = Command::new(uv)
        .args(["pip", "compile", "--quiet", "--no-header", "--no-annotate", "--python-version", python])
        .args(["--python-platform", "x86_64-manylinux_2_35"])
        // Any Python resolves; a download of the named one only fails slowly where its host cannot be
        // reached.
        .env("UV_PYTHON_DOWNLOADS", "never")
        // A package that has wheels is not built from source: envdoc calls that no stack.
        .args(
            packages::names()
                .filter(|name| *name != "flash-attn")
                .map(|name| format!("--only-binary={name}")),
        )
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

/// What came of a case.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// envdoc has a stack, and it installs.
    Installs,
    /// envdoc refuses, and so does the index.
    Refused,
    /// envdoc refuses for a reason that no index knows of.
    NotJudged,
    Disagrees(String),
}

fn compare(uv: &Path, directory: &Path, case: &Case) -> Outcome {
    let answer = case.ask();
    if answer["stack"].is_object() {
        let pinned = pinned(&answer["stack"]);
        return match compiles(uv, directory, case.python, &pinned) {
            Ok(()) => Outcome::Installs,
            Err(error) => Outcome::Disagrees(format!("envdoc: {pinned:?}; uv: {error}")),
        };
    }
    let reasons = answer["conflict"]["reasons"].as_array().unwrap();
    let judged = reasons.iter().all(|one| index_can_judge(one["constraint"].as_str().unwrap()));
    match compiles(uv, directory, case.python, &case.requirements()) {
        Err(_) => Outcome::Refused,
        Ok(()) if !judged => Outcome::NotJudged,
        Ok(()) => {
            Outcome::Disagrees(format!("envdoc refuses: {}; uv installs it", answer["conflict"]["says"]))
        }
    }
}

/// Writes where the test's harness does not catch it: what was skipped must be seen.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[test]
#[ignore = "asks the package index some hundred times; tests/run.sh runs it as a step of its own"]
fn uv_installs_resolved_stacks_and_rejects_conflicts() {
    let Some(uv) = judge::find("uv", "ENVDOC_UV", "pip install uv, or name it in ENVDOC_UV") else { return };
    let directory = tempfile::tempdir().unwrap();
    if let Err(error) = compiles(&uv, directory.path(), "3.12", &["six==1.16.0".into()]) {
        panic!("the package index cannot be asked: {error}");
    }
    let explained: BTreeMap<String, String> =
        serde_yaml::from_str(include_str!("../against_pypi.yaml")).unwrap();
    let cases = sample();
    // Most of the time is spent waiting for the index.
    let next = AtomicUsize::new(0);
    let work = || {
        let directory = tempfile::tempdir().unwrap();
        let mut outcomes = Vec::new();
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = compare(&uv, directory.path(), case);
            say(&format!("{}: {outcome:?}", case.name()));
            outcomes.push((case.name(), outcome));
        }
        outcomes
    };
    let outcomes: Vec<(String, Outcome)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..8).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    let count = |wanted: &Outcome| outcomes.iter().filter(|(_, outcome)| outcome == wanted).count();
    let disagrees = |(name, outcome): &(String, Outcome)| match outcome {
        Outcome::Disagrees(message) => Some((name.clone(), message.clone())),
        _ => None,
    };
    let (known, disagreements): (Vec<_>, Vec<_>) =
        outcomes.iter().filter_map(disagrees).partition(|(name, _)| explained.contains_key(name));
    let (install, refused) = (count(&Outcome::Installs), count(&Outcome::Refused));
    say(&format!(
        "{} cases: {install} stacks install, {refused} refusals are refused, {} refusals that PyPI cannot \
            judge, {} \
         disagreements that are explained, {} that are not",
        cases.len(),
        count(&Outcome::NotJudged),
        known.len(),
        disagreements.len()
    ));
    assert!(install * 3 > cases.len() && refused * 12 > cases.len(), "the sample says too little");
    assert!(disagreements.is_empty(), "{disagreements:#?}");
}
