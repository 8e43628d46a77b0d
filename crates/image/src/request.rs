//! `images/<name>/request.yaml`: an image, asked for in a file.
//!
//! The keys are the options of `envdoc render` and `envdoc build`; options win over the file.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use diagnostic::error::Error;
use diagnostic::yaml;
use resolve::lock::LockedPackage;
use resolve::parse::{self, Typed};
use resolve::request::{Base, Want, Wish};
use resolve::world::World;

/// A request for an image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ImageRequest {
    /// Name of the image, for its title and its tag; the name of the request's directory where it is left out.
    pub name: Option<String>,
    /// What the image is for, in a sentence: a label of the image.
    pub description: Option<String>,

    /// CUDA of the torch build and of the base image: `12.1`.
    pub cuda: Option<String>,
    /// Python: `3.12`.
    pub python: Option<String>,
    /// Who brings the Python where the base image does not: `uv`, or `deadsnakes` (an archive for Ubuntu). Left out: the system where it
    /// has it, else uv.
    pub python_from: Option<PythonFrom>,
    /// torch: `2.5`, `>=2.4,<2.7`, `2.6.0+cu124`.
    pub torch: Option<String>,
    /// DeepSpeed: a version, a range, or `any`.
    pub deepspeed: Option<String>,
    /// Operators of DeepSpeed that are compiled while the image is built, for the GPUs of `gpus`: `fused_adam`, `cpu_adam`. The finished
    /// image needs no nvcc then; operators that are not named cannot be compiled in it. Left out: each is compiled when it is first
    /// used, by nvcc in the image.
    pub deepspeed_ops: Vec<String>,
    /// Packages that are often wanted together: `torch`, `train`, `finetune`, `pretrain`, `rl`, `serve`.
    pub presets: Vec<String>,
    /// More Python packages, each maybe with a specifier: `numpy<2`. Those that the catalog knows are resolved; others are given to pip
    /// as they stand.
    pub packages: Vec<String>,

    /// Whether torchvision and torchaudio are installed beside torch, in the versions that go with it. True unless said otherwise.
    pub partners: Option<bool>,

    /// Kind of base image: `auto`, `cuda` (nvidia/cuda), `pytorch` (pytorch/pytorch), `ngc` (NVIDIA's PyTorch), `python` (Docker's Python
    /// images), or one image that the catalog knows (`nvidia/cuda:12.1.1-base-ubuntu22.04`).
    pub base: Option<String>,
    /// An image of one's own instead of `base`. `envdoc build` looks what is in it; `envdoc render` must be told: `os`, and `base_python`
    /// where it brings a Python of its own.
    pub base_image: Option<String>,
    /// The Python that stands first on PATH in `base_image`, where it is not the system's: `3.12`.
    pub base_python: Option<String>,
    /// Whether `base_image` has nvcc and the headers of CUDA; left out: not known, and `envdoc build` looks.
    pub base_nvcc: Option<bool>,
    /// An image with nvcc, with the same system and Python as `base_image`: what is compiled only while the image is built is compiled in
    /// it, and `base_image` needs no nvcc.
    pub base_devel: Option<String>,
    /// Digest of the base image (`sha256:…`), by which it is pinned.
    pub base_digest: Option<String>,
    /// System of the image: `ubuntu22.04`, `debian12`, `rockylinux9`, `ubi9`.
    pub os: Option<String>,
    /// Processors: `x86_64`, `aarch64`; the stack must hold on each of them.
    pub architectures: Vec<String>,

    /// GPUs that it must run on: `h100`, `RTX 4090`, `sm_86`.
    pub gpus: Vec<String>,
    /// The driver that it must run on: `550.54.14`.
    pub driver: Option<String>,
    /// Machines that it must run on: files made with `envdoc snapshot`, seen from this file.
    pub from: Vec<String>,
    /// What is compiled with nvcc: `build` (only while the image is built), `run` (also in the finished image).
    pub compile: Option<Compile>,

    /// System packages for the finished image, as the system calls them.
    pub apt: Vec<String>,
    /// Where packages come from during the build.
    pub mirrors: Mirrors,
    /// Directory in the build context that holds every wheel: no index is asked (`pip download` or `uv pip compile` tell which).
    pub wheels: Option<String>,
    /// Proxy for the build alone: `http://proxy.example:3128`. It is in no layer.
    pub proxy: Option<String>,
    /// A PEM bundle that the build trusts, seen from this file: for networks whose proxy signs TLS itself. It is in no layer.
    pub ca_certificates: Option<String>,
    /// Keep what apt and pip download in caches of the builder (needs BuildKit). True unless said otherwise.
    pub cache: Option<bool>,

    /// The user that the container runs as; made where it is not `root`.
    pub user: Option<String>,
    /// Number of that user; 10001 unless said otherwise.
    pub uid: Option<u32>,
    /// Working directory.
    pub workdir: Option<String>,
    /// Environment of the container. Nothing secret: it stands in the image for everybody.
    pub env: BTreeMap<String, String>,
    /// What is copied from the build context, last: a change of it rebuilds nothing else.
    pub copy: Vec<Copy>,
    /// Shell commands that run as root when the packages are installed, before `copy`.
    pub run: Vec<String>,
    /// Ports that the container listens on.
    pub ports: Vec<u16>,
    /// The program that the container runs.
    pub entrypoint: Vec<String>,
    /// Its arguments, or the program where there is no entrypoint.
    pub command: Vec<String>,
    /// Labels beside those that envdoc sets.
    pub labels: BTreeMap<String, String>,

    /// Where the request was read: `images/rl/request.yaml`; set by the program.
    #[serde(skip)]
    pub origin: Option<String>,
    /// What was asked for, in the user's words; set by the program.
    #[serde(skip)]
    pub says: Vec<String>,
    /// The whole Python set with hashes, from the lock; set by the program.
    #[serde(skip)]
    pub locked: Option<Vec<LockedPackage>>,
    /// Compute capabilities of the GPUs that it must run on; set by the program.
    #[serde(skip)]
    pub targets: Vec<(u32, u32)>,
    /// Mirrors of this machine's apt, by the family of systems that they are for (`ubuntu`, `debian`); set by the program.
    #[serde(skip)]
    pub host_apt: BTreeMap<String, String>,
    /// Indexes of this machine's pip or uv that have a login; set by the program.
    #[serde(skip)]
    pub hidden: HiddenIndexes,
}

/// Indexes that nobody may see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HiddenIndexes {
    /// Instead of `mirrors.pip_index`.
    pub index: Option<Hidden>,
    /// Instead of `mirrors.extra_index`, parted by spaces.
    pub extra: Option<Hidden>,
}

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Hidden(String);

impl From<String> for Hidden {
    fn from(text: String) -> Hidden {
        Hidden(text)
    }
}

impl Hidden {
    /// The text, for the engine alone.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.clone().into_bytes()
    }
}

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// What is compiled with nvcc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Compile {
    /// Only while the image is built: nvcc stays out of the finished image.
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
    /// The deadsnakes archive.
    Deadsnakes,
}

impl PythonFrom {
    /// `uv`, `deadsnakes`.
    pub fn name(self) -> &'static str {
        match self {
            PythonFrom::Uv => "uv",
            PythonFrom::Deadsnakes => "deadsnakes",
        }
    }
}

/// Where packages come from during the build; nothing of it stays in the image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Mirrors {
    /// A mirror under its name: see docs/request.md.
    pub preset: Option<String>,
    /// Index for Python packages.
    pub pip_index: Option<String>,
    /// Further indexes for Python packages.
    pub extra_index: Vec<String>,
    /// Mirror of the system's archive: the address before `/ubuntu` or `/debian`.
    pub apt: Option<String>,
    /// Mirror of python-build-standalone's releases, from which uv takes a Python that the system does not have.
    pub python: Option<String>,
    /// Take what is not said here from this machine's own pip, uv and apt: their files and variables. An address with a login is given to
    /// the build as a secret: it is in no layer and is never shown.
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

    /// The part of it that the resolver answers, as if it had been typed.
    pub fn typed(&self) -> Typed {
        let known = parse::package_names(World::get());
        let (known, _) = self
            .packages
            .iter()
            .partition::<Vec<&String>, _>(|text| known.contains(&parse::package_name(text).as_str()));
        let some = |list: &[String]| list.first().cloned();
        Typed {
            cuda: self.cuda.clone(),
            python: self.python.clone(),
            torch: self.torch.clone(),
            deepspeed: self.deepspeed.clone(),
            with: known.into_iter().cloned().collect(),
            preset: self.presets.clone(),
            gpu: self.gpus.clone(),
            driver: self.driver.clone(),
            os: self.os.clone(),
            arch: some(&self.architectures),
            base: self.base.clone().filter(|base| base != "auto" && self.base_image.is_none()),
            compile: self.compile.is_some() && self.base_image.is_none(),
        }
    }

    /// The wish for an image of one's own: to the resolver it is a machine with that system.
    pub fn own_base(&self) -> Option<Wish> {
        let own = self.base_image.as_ref()?;
        Some(Wish { says: format!("base_image {own}"), want: Want::Base(Base::None) })
    }

    /// Whether caches of the builder are used.
    pub fn caches(&self) -> bool {
        self.cache != Some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_keep_their_zeros() {
        let request = ImageRequest::parse("r.yaml", "python: 3.10\ncuda: 12.10\ndeepspeed: any\n").unwrap();
        assert_eq!(request.python.as_deref(), Some("3.10"));
        assert_eq!(request.cuda.as_deref(), Some("12.10"));
    }

    #[test]
    fn an_unknown_key_is_shown_with_its_line_and_the_nearest() {
        let error = ImageRequest::parse("r.yaml", "cuda: 12.1\npyhton: 3.12\n").unwrap_err();
        assert_eq!(error.message, "r.yaml, line 2: there is no key \"pyhton\"\n  2 | pyhton: 3.12");
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
