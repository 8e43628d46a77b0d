//! The outcome of a resolution: a stack with the decisions behind it, or a conflict.

use std::collections::BTreeMap;
use std::fmt;

use crate::requirement_keys;
use catalog::images::Reference;
use diagnostic::render::message_keys;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The outcome for a request.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The best stack.
    Resolved(Box<Resolution>),
    /// There is no stack.
    Conflict(Box<Conflict>),
}

/// A stack, and why it is this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Resolution {
    /// Versions of everything that belongs to the stack.
    pub stack: Stack,
    /// The reason of each choice, in the order of the choices.
    #[serde(rename = "because")]
    pub decisions: Vec<Decision>,
    /// The newest alternatives that were refused, and why.
    pub rejected: Vec<Rejected>,
    /// What to know before using it.
    pub warnings: Vec<Warning>,
}

/// A stack: versions that go together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stack {
    /// Python series: `3.12`.
    pub python: String,
    /// torch release without its build: `2.5.1`.
    pub torch: String,
    /// The build: `cu121`, or `cpu` where it has no CUDA.
    pub torch_build: String,
    /// The torchvision of the same release, where there is one.
    pub torchvision: Option<String>,
    /// The torchaudio that goes with the build, where there is one.
    pub torchaudio: Option<String>,
    /// The triton that torch requires; a range (`~=3.8.0`) where it does not pin one.
    pub triton: Option<String>,
    /// The CUDA of the torch build: `12.1`. `cpu`, which is no version: the build has no CUDA, and the stack
    /// needs no GPU and no driver.
    pub cuda: String,
    /// The cuDNN that the build requires or carries.
    pub cudnn: Option<String>,
    /// The NCCL that the build requires or carries.
    pub nccl: Option<String>,
    /// DeepSpeed, where it was asked for or is required.
    pub deepspeed: Option<String>,
    /// Every other Python package that was asked for or is required, with its version.
    pub packages: BTreeMap<String, String>,
    /// What pip installs besides, as it was asked for: envdoc did not check that it goes with the stack.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<String>,
    /// The base image; `null`: none, the machine itself.
    #[schemars(with = "Option<String>")]
    pub base_image: Option<Reference>,
    /// The system of the image: `ubuntu22.04`.
    pub system: Option<String>,
    /// The processor: `x86_64`, `aarch64`.
    pub architecture: String,
    /// The wheel index of the torch build; `null`: the default index (PyPI) has it.
    pub index_url: Option<String>,
    /// The oldest driver on which it runs: the newest of what the CUDA of the torch build needs (by
    /// minor-version compatibility) and what the GPUs that were named need. A version or a branch (`570`).
    /// `null` for a CPU build.
    pub driver_min: Option<String>,
    /// The last driver branch that supports the GPUs that were named; `null`: none is known to be the last.
    #[serde(default)]
    pub driver_max_branch: Option<u32>,
    /// The compute capabilities that the torch build has machine code for (`9.0`); `null`: not known; empty
    /// for a CPU build.
    pub gpu_archs: Option<Vec<String>>,
    /// Where the Python comes from.
    pub python_from: PythonFrom,
    /// Shell commands that install the Python packages into the active environment, in order.
    pub install: Vec<String>,
}

/// Where a Python comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PythonFrom {
    /// The base image contains it.
    Image,
    /// The packages of Ubuntu or Debian.
    Apt,
    /// The packages of Rocky Linux or Red Hat UBI.
    Dnf,
    /// Packages of the deadsnakes PPA (Ubuntu).
    Deadsnakes,
    /// `uv python install`.
    Uv,
    /// None of these: the machine itself provides it.
    #[default]
    Machine,
}

impl fmt::Display for PythonFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PythonFrom::Image => "image",
            PythonFrom::Apt => "apt",
            PythonFrom::Dnf => "dnf",
            PythonFrom::Deadsnakes => "deadsnakes",
            PythonFrom::Uv => "uv",
            PythonFrom::Machine => "machine",
        })
    }
}

/// The CUDA of a stack whose torch is a CPU build. Not a version, so that nobody compares it with one.
pub const NO_CUDA: &str = "cpu";

impl Stack {
    /// Whether its torch is a CPU build.
    pub fn is_cpu(&self) -> bool {
        self.cuda == NO_CUDA
    }

    /// What torch was built for: `CUDA 12.1`, `CPU`.
    pub(crate) fn target(&self) -> String {
        if self.is_cpu() { "CPU".to_owned() } else { format!("CUDA {}", self.cuda) }
    }

    /// The drivers on which it runs, or that they are unknown; empty for a CPU build.
    pub(crate) fn driver_text(&self) -> String {
        let unknown = if self.is_cpu() { "" } else { "unknown" };
        self.drivers().unwrap_or_else(|| unknown.to_owned())
    }

    /// The drivers on which it runs: `525.60.13 or newer`, `525.60.13 or newer, up to branch 580`.
    pub fn drivers(&self) -> Option<String> {
        let min = self.driver_min.as_ref().map(|min| format!("{min} or newer"));
        let max = self.driver_max_branch.map(|branch| format!("up to branch {branch}"));
        let parts: Vec<String> = min.into_iter().chain(max).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// One choice of the stack, and why it was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Because")]
#[schemars(transform = message_keys::describe)]
pub struct Decision {
    /// What was chosen: `torch`, `python`, `base_image`, `deepspeed`, a package.
    pub part: String,
    /// The version, or of `base_image` the reference; `none` without one.
    pub chosen: String,
    /// Why, in a sentence or two.
    #[serde(flatten, with = "message_keys")]
    #[schemars(!flatten, with = "String")]
    pub message: String,
    /// The message without the sentence about the partners of torch, for images that leave them out.
    #[serde(skip)]
    pub reason: String,
    /// Ids of the constraints that decided it.
    pub constraints: Vec<String>,
    /// Sources of the catalog rows that the choice rests on.
    pub sources: Vec<String>,
}

/// A newer candidate that was refused, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Rejected {
    /// Name and version: `torch 2.6.0+cu124`, `numpy 2.3.5`.
    pub candidate: String,
    /// The constraints that refuse it, with a sentence each.
    pub reasons: Vec<Reason>,
    /// The reason as a predicate, where it has the candidate as its subject.
    #[serde(skip)]
    pub predicate: Option<Predicate>,
}

/// What is said of one candidate, and of several that are refused alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Predicate {
    /// `has no wheel for Python 3.8`.
    pub one: String,
    /// `have no wheel for Python 3.8`.
    pub several: String,
}

/// Why something does not go together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(transform = message_keys::describe)]
pub struct Reason {
    /// Id of the constraint; `envdoc explain ID` tells more.
    pub constraint: String,
    /// The reason, in a sentence.
    #[serde(flatten, with = "message_keys")]
    #[schemars(!flatten, with = "String")]
    pub message: String,
}

/// Something to know before using a stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(transform = message_keys::describe)]
pub struct Warning {
    /// Kebab case: `unknown-gpu-code`, `forward-compatibility-needed`, `python-end-of-life`.
    pub id: String,
    /// What it is and what to do about it.
    #[serde(flatten, with = "message_keys")]
    #[schemars(!flatten, with = "String")]
    pub message: String,
}

impl Warning {
    /// The id where pip refuses to install into a Python that its distribution manages (PEP 668).
    pub const EXTERNALLY_MANAGED: &str = "python-externally-managed";
    /// The id about what pip installs and envdoc did not check.
    pub const NOT_IN_CATALOG: &str = "packages-not-in-catalog";
}

/// Why there is no stack, and what comes nearest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(transform = message_keys::describe)]
#[schemars(transform = requirement_keys::describe)]
pub struct Conflict {
    /// Which requirements cannot hold together, in a sentence; one for each conflict where there are several.
    #[serde(flatten, with = "message_keys")]
    #[schemars(!flatten, with = "String")]
    pub message: String,
    /// The smallest set of requirements that cannot hold together, as the user wrote them.
    #[serde(flatten, with = "requirement_keys")]
    #[schemars(!flatten, with = "Vec<String>")]
    pub requirements: Vec<String>,
    /// The constraints that keep these requirements apart, with a sentence each.
    pub reasons: Vec<Reason>,
    /// Stacks without as few of the requirements as possible, the cheapest first.
    pub nearest: Vec<Nearest>,
    /// Whether a stack may exist all the same: what was asked for is older or newer than the catalog.
    pub undecided: bool,
}

/// A stack without one of the requirements, or without several where one is not enough.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Nearest {
    /// The requirement that is left out: `--torch 2.5`.
    #[serde(rename = "wish")]
    pub requirement: String,
    /// What to write instead: `--torch 2.7.1`; `null`: nothing, `change` tells what has to be done without or
    /// on the machine.
    #[serde(rename = "instead")]
    pub replacement: Option<String>,
    /// What it costs, in a sentence: `torch 2.7.1 instead of 2.5`.
    pub change: String,
    /// Versions of everything that belongs to the stack.
    pub stack: Stack,
}
