//! One tag of one repository, and what is known of the repository.

use serde::Deserialize;

use crate::Sources;

/// What an image brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flavour {
    /// The CUDA runtime alone (nvidia/cuda `base`).
    Base,
    /// The CUDA libraries (nvidia/cuda and pytorch/pytorch `runtime`).
    Runtime,
    /// With nvcc and headers (`devel`, and NGC's images).
    Devel,
    /// No CUDA at all (Docker's Python images, plain systems).
    Plain,
}

/// What says that an image exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// Its publisher's list, or one read from the registry.
    Listed,
    /// A public lock file with its digest.
    Digest,
    /// Files of others that use it.
    Used,
    /// The workflow that makes it; nobody was seen to use it.
    Workflow,
}

/// One tag.
#[derive(Debug, Clone)]
pub struct Image {
    /// `nvidia/cuda`, `pytorch/pytorch`, `nvcr.io/nvidia/pytorch`, `python`, `ubuntu`, `debian`,
    /// `rockylinux`.
    pub repository: &'static str,
    /// `12.1.1-cudnn8-devel-ubuntu22.04`.
    pub tag: String,
    /// What it brings.
    pub flavour: Flavour,
    /// Key into `systems`: `ubuntu22.04`, `debian12`, `rockylinux9`, `ubi9`; `None` where it is not known.
    pub system: Option<String>,
    /// The CUDA toolkit: `12.1.1`; for pytorch/pytorch its minor (`12.1`).
    pub cuda: Option<String>,
    /// Whether it has cuDNN; `None` where that is not known.
    pub has_cudnn: Option<bool>,
    /// The major of its cuDNN, or the version where it is known; `None`: has none, or not known
    /// (`cudnn_known`).
    pub cudnn: Option<String>,
    /// True where `cudnn` tells all.
    pub cudnn_known: bool,
    /// The NCCL in it (on x86_64), where it is known.
    pub nccl: Option<String>,
    /// The Python in it (`3.12`), where it has one of its own and it is known.
    pub python: Option<String>,
    /// Whether pip refuses to install into that Python (PEP 668), or into the system's where it has no other.
    pub externally_managed: Option<bool>,
    /// The torch in it: `2.5.1`, or NGC's `2.9.0a0+145a3a7bda`.
    pub torch: Option<String>,
    /// The oldest driver that its documentation names.
    pub driver_min: Option<String>,
    /// Architectures for which it exists: `x86_64`, `aarch64`; `None` where nobody looked.
    pub architectures: Option<&'static [&'static str]>,
    pub note: Option<String>,
    /// What says that it exists.
    pub evidence: Evidence,
    /// The last day on which a list or a lock file named it; empty where none is known.
    pub seen: String,
    pub source: Sources,
}

impl Image {
    /// An image of which nothing else is known.
    pub(super) fn new(repository: &'static str, tag: String, flavour: Flavour, source: &Sources) -> Image {
        Image {
            repository,
            tag,
            flavour,
            system: None,
            cuda: None,
            has_cudnn: None,
            cudnn: None,
            cudnn_known: false,
            nccl: None,
            python: None,
            externally_managed: None,
            torch: None,
            driver_min: None,
            architectures: None,
            note: None,
            evidence: Evidence::Listed,
            seen: String::new(),
            source: source.clone(),
        }
    }

    /// What would have to be known of an image that brings its torch, and is not.
    pub fn lacks(&self) -> Vec<&'static str> {
        let torch = self.torch.as_ref().filter(|torch| torch.contains('+'));
        [
            ("its torch", torch.is_none()),
            ("its CUDA", self.cuda.is_none()),
            ("its Python", self.python.is_none()),
            ("its system", self.system.is_none()),
        ]
        .into_iter()
        .filter_map(|(part, unknown)| unknown.then_some(part))
        .collect()
    }

    /// `nvidia/cuda:12.1.1-base-ubuntu22.04`.
    pub fn reference(&self) -> String {
        format!("{}:{}", self.repository, self.tag)
    }
}

/// What is known of a repository as a whole.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repository {
    /// `nvidia/cuda`.
    pub name: String,
    /// How its tags are made, for people.
    pub scheme: String,
    /// The first CUDA release of which the lists that were read have every tag.
    pub complete_from: Option<String>,
    /// The last one.
    pub complete_to: Option<String>,
    /// The day until which absence from the lists is proof; of nvidia/cuda for releases from `complete_from`
    /// to `complete_to`.
    pub complete_until: Option<String>,
    /// Words between the hyphens of a tag that the catalog leaves out; a tag with one of them may exist.
    #[serde(default)]
    pub left_out: Vec<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

/// A tag that tutorials name and that does not exist.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AbsentTag {
    /// `nvidia/cuda:12.1-base`.
    pub reference: String,
    /// Why there is none.
    pub why: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

super::super::file::rows!(Repository, AbsentTag);
