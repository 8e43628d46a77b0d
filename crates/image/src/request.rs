//! `images/<name>/request.yaml`: an image, asked for in a file.
//!
//! The keys are the options of `envdoc render` and `envdoc build`; options win over the file.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use diagnostic::error::Error;
use diagnostic::yaml;
use resolve::lock::{Lock, LockedPackage};
use resolve::outcome;
use resolve::parameter::Source;
use resolve::parse::{self, StackOptions};
use resolve::request::{Base, Requirement, RequirementKind};

/// `request.yaml`: the versions and content of an image. Left out, envdoc chooses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ImageRequest {
    /// Name of the image, used for its title and tag [default: the name of the request's directory].
    pub name: Option<String>,
    /// Purpose of the image in one sentence; becomes a label.
    pub description: Option<String>,

    /// CUDA of the torch build and of the base image: `12.1`. `cpu`: a CPU build of torch, without CUDA.
    pub cuda: Option<String>,
    /// Python: `3.12`.
    pub python: Option<String>,
    /// Source of Python if the base image has no suitable one: `uv`, or `deadsnakes` (a PPA for Ubuntu)
    /// [default: the distribution if it has it, else uv].
    pub python_from: Option<PythonFrom>,
    /// torch: `2.5`, `>=2.4,<2.7`, `2.6.0+cu124`.
    pub torch: Option<String>,
    /// DeepSpeed: a version, a range, or `any`.
    pub deepspeed: Option<String>,
    /// DeepSpeed operators to compile during the image build, for the GPUs in `gpus`: `fused_adam`,
    /// `cpu_adam`. The final image then needs no nvcc, and other operators cannot be compiled in it. By
    /// default each operator is compiled on first use, by nvcc in the image.
    pub deepspeed_ops: Vec<String>,
    /// Package groups: `torch`, `train`, `finetune`, `pretrain`, `rl`, `serve`.
    pub presets: Vec<String>,
    /// More Python packages, optionally with a specifier: `numpy<2`. Packages in the catalog are resolved;
    /// others are passed to pip unchanged.
    pub packages: Vec<String>,

    /// Install torchvision and torchaudio in the versions that match torch [default: true].
    pub partners: Option<bool>,

    /// Kind of base image: `auto`, `cuda` (nvidia/cuda), `pytorch` (pytorch/pytorch), `ngc` (NVIDIA PyTorch),
    /// `python` (official Python images), or an image in the catalog (`nvidia/cuda:12.1.1-base-ubuntu22.04`).
    pub base: Option<String>,
    /// Your own image instead of `base`. `envdoc build` inspects it; `envdoc render` requires `os`, and
    /// `base_python` if the image contains its own Python.
    pub base_image: Option<String>,
    /// The Python that is first on PATH in `base_image`, if it is not the distribution's: `3.12`.
    pub base_python: Option<String>,
    /// Whether `base_image` has nvcc and the CUDA headers [default: unknown; `envdoc build` checks].
    pub base_nvcc: Option<bool>,
    /// An image with nvcc and the same operating system and Python as `base_image`, used as the build stage,
    /// so that `base_image` needs no nvcc.
    pub base_devel: Option<String>,
    /// Digest that pins the base image (`sha256:…`).
    pub base_digest: Option<String>,
    /// Operating system of the image: `ubuntu22.04`, `debian12`, `rockylinux9`, `ubi9`.
    pub os: Option<String>,
    /// CPU architectures: `x86_64`, `aarch64`; the stack must work on each of them.
    pub architectures: Vec<String>,

    /// Target GPUs: `h100`, `RTX 4090`, `sm_86`.
    pub gpus: Vec<String>,
    /// Target driver: `550.54.14`.
    pub driver: Option<String>,
    /// Target machines: files made with `envdoc snapshot`, relative to this file.
    pub from: Vec<String>,
    /// When nvcc is needed: `build` (only during the image build), `run` (also in the final image).
    pub compile: Option<Compile>,

    /// System packages for the final image, by their names in the distribution.
    pub apt: Vec<String>,
    /// Package mirrors during the build.
    pub mirrors: Mirrors,
    /// Directory in the build context with all wheels; no package index is used (`pip download` or `uv pip
    /// compile` list them).
    pub wheels: Option<String>,
    /// Proxy for the build only: `http://proxy.example:3128`. Not stored in a layer.
    pub proxy: Option<String>,
    /// PEM bundle that the build trusts, relative to this file, for networks with a TLS-inspecting proxy. Not
    /// stored in a layer.
    pub ca_certificates: Option<String>,
    /// Keep downloads of apt and pip in builder cache mounts (requires BuildKit) [default: true].
    pub cache: Option<bool>,

    /// User that the container runs as; created unless it is `root`.
    pub user: Option<String>,
    /// UID of that user [default: 10001].
    pub uid: Option<u32>,
    /// Directory in which containers start [default: /workspace].
    pub workdir: Option<String>,
    /// Environment variables of the container. No secrets: everyone who can pull the image can read them.
    pub env: BTreeMap<String, String>,
    /// Files to copy from the build context. They are copied last, so a change rebuilds nothing else.
    pub copy: Vec<Copy>,
    /// Shell commands to run as root after the packages are installed and before `copy`.
    pub run: Vec<String>,
    /// Ports that the container listens on.
    pub ports: Vec<u16>,
    /// The program that the container runs.
    pub entrypoint: Vec<String>,
    /// Arguments of the entrypoint, or the program if there is none.
    pub command: Vec<String>,
    /// Labels in addition to those that envdoc sets.
    pub labels: BTreeMap<String, String>,

    /// Where the request was read: `images/rl/request.yaml`; set by the program.
    #[serde(skip)]
    pub origin: Option<String>,
    /// Requirement lines of the project for packages outside the catalog; set by the program.
    #[serde(skip)]
    pub declared: Vec<String>,
    /// What was asked for, in the user's words; set by the program.
    #[serde(skip)]
    pub requested: Vec<String>,
    /// The lock to install by, where the stack is still the one in it; set by the program.
    #[serde(skip)]
    pub lock: Option<Lock>,
    /// The lock of the project, which is installed where `lock` is not; set by the program.
    #[serde(skip)]
    pub project_lock: Option<ProjectLock>,
    /// Compute capabilities of the GPUs that it must run on; set by the program.
    #[serde(skip)]
    pub targets: Vec<(u32, u32)>,
    /// Mirrors of this machine's apt, by the family of systems that they are for (`ubuntu`, `debian`); set by
    /// the program.
    #[serde(skip)]
    pub host_apt: BTreeMap<String, String>,
    /// Indexes of this machine's pip or uv that have a login; set by the program.
    #[serde(skip)]
    pub secret_indexes: SecretIndexes,
}

/// The lock of a project, as far as it is installed in the image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectLock {
    /// As it is shown: `uv.lock`.
    pub file: String,
    pub packages: Vec<LockedPackage>,
    /// Packages of it that are installed in a step of their own, because their build needs torch.
    pub separate: Vec<String>,
    /// Packages that an option or a key asks for: the lock must have them. Of the others of a stack the image
    /// gets what the lock has.
    pub asked: Vec<String>,
    /// Pages of torch's index that have files of the lock.
    pub links: Vec<String>,
    /// How to add a package to it, as a sentence begins: "add it with `uv add`".
    pub add: String,
}

/// Indexes that nobody may see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecretIndexes {
    /// Instead of `mirrors.pip_index`.
    pub index: Option<SecretText>,
    /// Instead of `mirrors.extra_index`, separated by spaces.
    pub extra: Option<SecretText>,
}

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(String);

impl From<String> for SecretText {
    fn from(text: String) -> SecretText {
        SecretText(text)
    }
}

impl SecretText {
    /// The text, for the engine alone.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.clone().into_bytes()
    }
}

impl std::fmt::Debug for SecretText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// What is compiled with nvcc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Compile {
    /// Only during the image build: the final image has no nvcc.
    Build,
    /// At run time too.
    Run,
}

/// Who brings a Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum PythonFrom {
    /// uv: python-build-standalone.
    Uv,
    /// The deadsnakes PPA.
    Deadsnakes,
}

impl From<PythonFrom> for outcome::PythonFrom {
    fn from(requested: PythonFrom) -> outcome::PythonFrom {
        match requested {
            PythonFrom::Uv => outcome::PythonFrom::Uv,
            PythonFrom::Deadsnakes => outcome::PythonFrom::Deadsnakes,
        }
    }
}

/// Package mirrors during the build; none of this stays in the image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Mirrors {
    /// Name of a known mirror: see docs/request.md.
    pub preset: Option<String>,
    /// Index for Python packages.
    pub pip_index: Option<String>,
    /// Further indexes for Python packages.
    pub extra_index: Vec<String>,
    /// Mirror of the distribution's package repository: the URL before `/ubuntu` or `/debian`.
    pub apt: Option<String>,
    /// Mirror of the python-build-standalone releases, from which uv downloads Python.
    pub python: Option<String>,
    /// Take what is not said here from this machine's own pip, uv and apt: their files and variables. An
    /// address with a login is given to the build as a secret: it is in no layer and is never shown.
    pub from_host: bool,
}

/// Something that is copied into the image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Copy {
    /// Path in the build context: `src`.
    pub from: String,
    /// Path in the image: `/workspace/src`.
    pub to: String,
}

impl ImageRequest {
    /// Reads a file; `name` is how the file is called in messages.
    pub fn parse(name: &str, text: &str) -> Result<ImageRequest, Error> {
        yaml::parse(name, text)
    }

    /// The part of it that the resolver handles.
    pub fn stack_options(&self) -> StackOptions {
        let is_known = |text: &&String| parse::is_package(&parse::package_name(text));
        let some = |list: &[String]| list.first().cloned();
        StackOptions {
            cuda: self.cuda.clone(),
            python: self.python.clone(),
            torch: self.torch.clone(),
            deepspeed: self.deepspeed.clone(),
            with: self.packages.iter().filter(is_known).cloned().collect(),
            preset: self.presets.clone(),
            gpu: self.gpus.clone(),
            driver: self.driver.clone(),
            os: self.os.clone(),
            arch: some(&self.architectures),
            base: self.base.clone().filter(|base| base != "auto" && self.base_image.is_none()),
            compile: self.compile.is_some() && self.base_image.is_none(),
        }
    }

    /// The requirement for an image of one's own: to the resolver it is a machine with that system.
    pub fn own_base(&self) -> Option<Requirement> {
        let own = self.base_image.as_ref()?;
        Some(Requirement {
            source: Source::Stated(format!("base_image {own}")),
            kind: RequirementKind::Base(Base::None),
        })
    }

    /// The platforms of its architectures, as the engine names them; without any that of the processor that
    /// its GPUs come with, or of x86_64.
    pub fn platforms(&self, of_gpu: Option<&str>) -> Vec<&'static str> {
        let platform = |architecture: &str| match parse::architecture_named(architecture).as_deref() {
            Some("aarch64") => "linux/arm64",
            _ => "linux/amd64",
        };
        match self.architectures.is_empty() {
            true => vec![platform(of_gpu.unwrap_or("x86_64"))],
            false => self.architectures.iter().map(|one| platform(one)).collect(),
        }
    }

    /// The platform that the Dockerfile names, as the engine does: where the request names its architectures,
    /// and of every stack for another processor than x86_64.
    pub(crate) fn platform(&self, architecture: &str) -> Option<String> {
        let platform = if architecture == "aarch64" { "linux/arm64" } else { "linux/amd64" };
        (architecture == "aarch64" || !self.architectures.is_empty()).then(|| platform.into())
    }

    /// Whether caches of the builder are used.
    pub fn uses_cache(&self) -> bool {
        self.cache != Some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_of_architectures_by_all_their_names() {
        let architectures = ["armv8", "linux/arm64", "AMD64"].map(str::to_owned).to_vec();
        let request = ImageRequest { architectures, ..ImageRequest::default() };
        assert_eq!(request.platforms(None), ["linux/arm64", "linux/arm64", "linux/amd64"]);
    }

    #[test]
    fn versions_keep_their_zeros() {
        let request = ImageRequest::parse("r.yaml", "python: 3.10\ncuda: 12.10\ndeepspeed: any\n").unwrap();
        assert_eq!(request.python.as_deref(), Some("3.10"));
        assert_eq!(request.cuda.as_deref(), Some("12.10"));
    }

    #[test]
    fn an_unknown_key_is_shown_with_its_line_and_the_nearest() {
        let error = ImageRequest::parse("r.yaml", "cuda: 12.1\npyhton: 3.12\n").unwrap_err();
        assert_eq!(error.message, "r.yaml, line 2: unknown key \"pyhton\"\n  2 | pyhton: 3.12");
        assert_eq!(error.hints[0], "did you mean python?");
        let error = ImageRequest::parse("r.yaml", "cuda: 12.1\nmirrors:\n  pip_indx: x\n").unwrap_err();
        assert!(error.message.contains("line 3") && error.hints[0] == "did you mean pip_index?", "{error:?}");
        let error = ImageRequest::parse("r.yaml", "copy:\n- from: a\n  too: b\n").unwrap_err();
        assert!(error.message.contains("line 3") && error.hints[0] == "did you mean to?", "{error:?}");
    }

    #[test]
    fn a_value_of_the_wrong_kind_shows_its_line() {
        let error = ImageRequest::parse("r.yaml", "cuda: 12.1\npackages: numpy\n").unwrap_err();
        assert!(error.message.contains("r.yaml, line 2"), "{error:?}");
        assert!(ImageRequest::parse("r.yaml", "# nothing\n\n").unwrap() == ImageRequest::default());
    }
}
