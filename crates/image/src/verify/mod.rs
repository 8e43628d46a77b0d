//! Verification of an image: a Python script in a container of it reports what is installed, and the answer
//! is compared with the expectations.
//!
//! No GPU is needed. What could not be checked is unknown, and never passes.

mod expectation;
mod judge;
mod script_output;
mod status_word;

use std::collections::BTreeMap;
use std::time::Duration;

use diagnostic::render::message_keys;
use schemars::JsonSchema;
use serde::Serialize;

pub use diagnostic::Status;
pub use expectation::InvalidExpectation;
use status_word::StatusWord;

use docker::engine::Engine;
use docker::run::{self, NotRan};
use docker::spec::Run;
use script_output::ScriptError;

/// Timeout of the script.
const TIMEOUT: Duration = Duration::from_secs(900);
/// What runs inside.
const SCRIPT: &str = include_str!("script.py");
/// Runs the script with the first of several Pythons.
const START: &str = r#"script=$0; questions=$1; shift
for python in "$@"; do command -v "$python" >/dev/null 2>&1 && exec "$python" -c "$script" "$questions"; done
echo envdoc-no-python >&2; exit 127"#;
/// Pythons to try when none is expected by name.
const PYTHONS: &[&str] = &["python", "python3", "/opt/conda/bin/python"];

/// The expected contents of an image. What is `None` or empty is not checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expectations {
    /// The program to ask: `/opt/venv/bin/python`; the first of several usual ones where it is `None`.
    pub interpreter: Option<String>,
    /// Python: `3.12` or `3.12.4`.
    pub python: Option<String>,
    /// torch: `2.6.0`.
    pub torch: Option<String>,
    /// The build of torch: `cu124`, `cpu`.
    pub torch_build: Option<String>,
    /// `torch.version.cuda`: `12.4`.
    pub cuda: Option<String>,
    /// The NCCL that torch was built with or requires: `2.21.5`.
    pub nccl: Option<String>,
    /// Versions of packages by their normalised names.
    pub packages: BTreeMap<String, String>,
    /// Modules that must be importable.
    pub imports: Vec<String>,
    /// CUDA release of the nvcc that must be on PATH: `12.4`; empty: any release.
    pub nvcc: Option<String>,
    /// Variables that must be set.
    pub environment: BTreeMap<String, String>,
}

/// What envdoc checked inside the image, and the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(transform = message_keys::describe)]
pub struct Verification {
    /// The worst status of the items: `passed`, `skipped`, `unknown` or `failed`.
    #[serde(with = "StatusWord")]
    pub status: Status,
    /// The result in a sentence; the reason where the image was not verified.
    #[serde(flatten, with = "message_keys")]
    #[schemars(!flatten, with = "String")]
    pub message: String,
    /// What was expected of the image, one item each.
    pub items: Vec<Item>,
}

impl Verification {
    /// Whether the image may get its tags; with `strict` only if nothing is unknown. Where nothing could be
    /// checked it may not.
    pub fn allows_tag(&self, strict: bool) -> bool {
        match self.status {
            Status::Passed | Status::Skipped => true,
            Status::Unknown => !strict && !self.items.is_empty(),
            Status::Failed => false,
        }
    }
}

/// One checked expectation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(transform = message_keys::describe)]
pub struct Item {
    /// What was checked: `torch`, `import deepspeed`.
    pub what: String,
    /// `passed`, `failed`, `unknown` or `skipped`.
    #[serde(with = "StatusWord")]
    pub status: Status,
    /// What was found, and what was expected.
    #[serde(flatten, with = "message_keys")]
    #[schemars(!flatten, with = "String")]
    pub message: String,
}

impl Expectations {
    /// Adds those of `other`, which win.
    pub fn extend(&mut self, other: Expectations) {
        let put = |from: Option<String>, to: &mut Option<String>| {
            if from.is_some() {
                *to = from;
            }
        };
        put(other.interpreter, &mut self.interpreter);
        put(other.python, &mut self.python);
        if other.torch.is_some() {
            // A version without a build means any build.
            self.torch_build = None;
        }
        put(other.torch, &mut self.torch);
        put(other.torch_build, &mut self.torch_build);
        put(other.cuda, &mut self.cuda);
        put(other.nccl, &mut self.nccl);
        put(other.nvcc, &mut self.nvcc);
        self.packages.extend(other.packages);
        self.imports.extend(other.imports);
        self.environment.extend(other.environment);
    }

    /// Number of explicit expectations; torch's libraries and DeepSpeed's report are checked in addition.
    pub fn count(&self) -> usize {
        let single = [&self.python, &self.torch, &self.torch_build, &self.cuda, &self.nccl, &self.nvcc];
        let single = single.iter().filter(|part| part.is_some()).count();
        single + self.packages.len() + self.imports.len() + self.environment.len()
    }

    /// Whether there is nothing to check.
    pub fn is_empty(&self) -> bool {
        *self == Expectations::default()
    }
}

/// The result without a verification.
pub fn skipped(why: &str) -> Verification {
    Verification { status: Status::Skipped, message: why.to_owned(), items: Vec::new() }
}

/// Runs a container of the image and compares its answer. `name` is that of the container, for
/// [`run::remove`] after an interruption.
pub async fn verify(engine: &Engine, image: &str, name: &str, expected: &Expectations) -> Verification {
    if expected.is_empty() {
        return skipped("not verified: nothing to verify (set it with --expect NAME==VERSION)");
    }
    let questions = serde_json::json!({
        "imports": expected.imports,
        "torch": expected.torch.is_some()
            || expected.torch_build.is_some()
            || expected.cuda.is_some()
            || expected.nccl.is_some(),
        "nvcc": expected.nvcc.is_some(),
        "environment": expected.environment.keys().collect::<Vec<_>>(),
        "ds_report": expected.packages.contains_key("deepspeed"),
    });
    let mut command = ["/bin/sh", "-c", START, SCRIPT, &questions.to_string()].map(str::to_owned).to_vec();
    match &expected.interpreter {
        Some(interpreter) => command.push(interpreter.clone()),
        None => command.extend(PYTHONS.iter().map(|python| (*python).to_owned())),
    }
    let container = Run {
        image: image.to_owned(),
        command,
        environment: vec!["PYTHONDONTWRITEBYTECODE=1".into()],
        network: false,
        deadline: TIMEOUT,
        ..Run::default()
    };
    let found = match run::run(engine, name, &container).await {
        Ok(ran) => script_output::read(&ran),
        Err(NotRan::Container(why)) => Err(ScriptError::Container(why)),
        Err(NotRan::Engine(why)) => Err(ScriptError::Engine(why)),
    };
    match found {
        Ok(Some(output)) => summary(judge::judge(expected, &output)),
        Ok(None) => {
            let tried = expected.interpreter.as_deref().unwrap_or("python, python3, conda's");
            let message = format!("not found in the image (tried {tried})");
            summary(vec![Item { what: "python".into(), status: Status::Failed, message }])
        }
        Err(why) => Verification {
            status: Status::Unknown,
            message: format!("could not verify the image: {why}"),
            items: Vec::new(),
        },
    }
}

fn summary(items: Vec<Item>) -> Verification {
    let count = |status| items.iter().filter(|item| item.status == status).count();
    let (failed, unknown, met) = (count(Status::Failed), count(Status::Unknown), count(Status::Passed));
    let all = items.len();
    let (status, message) = match (failed, unknown) {
        (0, 0) if met == 1 => (Status::Passed, "verified in a container: the expectation holds".into()),
        (0, 0) => (Status::Passed, format!("verified in a container: all {met} expectations hold")),
        (0, unknown) => (
            Status::Unknown,
            format!(
                "partly verified in a container: {met} of {all} expectations hold, {unknown} could not be \
                    checked"
            ),
        ),
        (failed, _) => {
            (Status::Failed, format!("verification failed: {failed} of {all} expectations do not hold"))
        }
    };
    Verification { status, message, items }
}
