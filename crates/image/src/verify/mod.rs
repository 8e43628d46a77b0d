//! Proving an image: a container of it looks at itself ([`script`](self) in Python), and what it finds is
//! held against what was promised.
//!
//! No GPU is needed. What could not be asked is unknown, and never passes.

mod answer;
mod judge;
mod promise;

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

pub use promise::expectation;

use docker::engine::Engine;
use docker::run::{self, NotRan, Run};

/// The longest that an image may take to look at itself.
const DEADLINE: Duration = Duration::from_secs(900);
/// What runs inside.
const SCRIPT: &str = include_str!("script.py");
/// Finds the image's Python and gives it the script and the questions.
const START: &str = r#"script=$0; questions=$1; shift
for python in "$@"; do command -v "$python" >/dev/null 2>&1 && exec "$python" -c "$script" "$questions"; done
echo envdoc-no-python >&2; exit 127"#;
/// Where a Python is looked for when none was promised by name.
const PYTHONS: &[&str] = &["python", "python3", "/opt/conda/bin/python"];

/// What an image must answer. What is `None` or empty was not promised and is not asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proof {
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
    /// The NCCL that torch was built with or brings: `2.21.5`.
    pub nccl: Option<String>,
    /// Versions of packages by their normalised names.
    pub packages: BTreeMap<String, String>,
    /// Modules that must be importable.
    pub imports: Vec<String>,
    /// nvcc must be there, of this CUDA release: `12.4`; of any where it is empty.
    pub nvcc: Option<String>,
    /// Variables that must be set.
    pub environment: BTreeMap<String, String>,
}

/// How one thing, or all of it, came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It is as promised.
    Proved,
    /// It is not.
    Failed,
    /// It could not be asked.
    Unknown,
    /// It was not asked.
    Skipped,
}

/// The outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Proved {
    /// The worst of the items.
    pub status: Status,
    /// In a sentence.
    pub says: String,
    /// Each thing that was promised.
    pub items: Vec<Item>,
}

/// One thing that was promised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Item {
    /// `torch`, `import deepspeed`.
    pub what: String,
    /// How it came out.
    pub status: Status,
    /// What was found, and what should be.
    pub says: String,
}

impl Proof {
    /// How many things are promised in so many words; torch's libraries and DeepSpeed's report are looked at
    /// besides.
    pub fn promises(&self) -> usize {
        let single = [&self.python, &self.torch, &self.torch_build, &self.cuda, &self.nccl, &self.nvcc];
        let single = single.iter().filter(|part| part.is_some()).count();
        single + self.packages.len() + self.imports.len() + self.environment.len()
    }

    /// Whether nothing at all is promised.
    pub fn is_empty(&self) -> bool {
        *self == Proof::default()
    }
}

/// The outcome where nobody looked.
pub fn skipped(why: &str) -> Proved {
    Proved { status: Status::Skipped, says: why.to_owned(), items: Vec::new() }
}

/// Runs a container of the image and judges what it says. `name` is the container's, for [`run::remove`]
/// after an interruption.
pub async fn prove(engine: &Engine, image: &str, name: &str, proof: &Proof) -> Proved {
    if proof.is_empty() {
        return skipped("not verified: nothing to verify (set it with --expect NAME==VERSION)");
    }
    let questions = serde_json::json!({
        "imports": proof.imports,
        "torch": proof.torch.is_some() || proof.torch_build.is_some()
            || proof.cuda.is_some() || proof.nccl.is_some(),
        "nvcc": proof.nvcc.is_some(),
        "environment": proof.environment.keys().collect::<Vec<_>>(),
        "ds_report": proof.packages.contains_key("deepspeed"),
    });
    let mut command = ["/bin/sh", "-c", START, SCRIPT, &questions.to_string()].map(str::to_owned).to_vec();
    match &proof.interpreter {
        Some(interpreter) => command.push(interpreter.clone()),
        None => command.extend(PYTHONS.iter().map(|python| (*python).to_owned())),
    }
    let container = Run {
        image: image.to_owned(),
        command,
        environment: vec!["PYTHONDONTWRITEBYTECODE=1".into()],
        network: false,
        deadline: DEADLINE,
    };
    let found = match run::run(engine, name, &container).await {
        Ok(ran) => answer::read(&ran),
        Err(NotRan::Container(why)) => Err(format!("could not start a container of the image: {why}")),
        Err(NotRan::Engine(why)) => Err(format!("could not use the Docker Engine: {why}")),
    };
    match found {
        Ok(Some(answer)) => summary(judge::judge(proof, &answer)),
        Ok(None) => {
            let wanted = proof.interpreter.as_deref().unwrap_or("python, python3, conda's");
            let says = format!("not in the image (looked for {wanted})");
            summary(vec![Item { what: "python".into(), status: Status::Failed, says }])
        }
        Err(why) => {
            Proved { status: Status::Unknown, says: format!("could not verify: {why}"), items: Vec::new() }
        }
    }
}

fn summary(items: Vec<Item>) -> Proved {
    let count = |status| items.iter().filter(|item| item.status == status).count();
    let (failed, unknown, proved) = (count(Status::Failed), count(Status::Unknown), count(Status::Proved));
    let (status, says) = match (failed, unknown) {
        (0, 0) if proved == 1 => (Status::Proved, "verified in a container: the expectation holds".into()),
        (0, 0) => (Status::Proved, format!("verified in a container: all {proved} expectations hold")),
        (0, unknown) => (
            Status::Unknown,
            format!(
                "partly verified in a container: {proved} of {} expectations hold, {unknown} could not be \
                 checked",
                items.len()
            ),
        ),
        (failed, _) => (
            Status::Failed,
            format!(
                "verification failed: {failed} of {} expectations do not \
                 hold",
                items.len()
            ),
        ),
    };
    Proved { status, says, items }
}
