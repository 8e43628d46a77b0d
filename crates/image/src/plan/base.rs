//! The images that an image is built on.

use super::super::request::{Compile, ImageRequest};
use super::usage_error;
use catalog::Catalog;
use catalog::images::{self, Flavour, Image, Reference};
use catalog::systems::System;
use diagnostic::error::Error;
use resolve::install::flash_attn_wheel;
use resolve::outcome::{Stack, Warning};

/// The base of the finished image, and that of the stage that compiles.
#[derive(Debug)]
pub(super) struct Base {
    /// The image: `nvidia/cuda:12.1.1-base-ubuntu22.04`.
    pub image: String,
    /// Its digest, where it is known.
    pub digest: Option<String>,
    /// What the catalog knows of it; nothing of an own image.
    pub known: Option<&'static Image>,
    pub system: Option<&'static System>,
    pub nvcc: bool,
    /// Why it is this one.
    pub comments: Vec<String>,
    /// The image with nvcc, where only the build needs it.
    pub build: Option<String>,
    pub build_comments: Vec<String>,
    pub warnings: Vec<Warning>,
}

impl Base {
    /// The reference with its digest.
    pub(super) fn reference(&self) -> String {
        match &self.digest {
            Some(digest) => format!("{}@{digest}", self.image),
            None => self.image.clone(),
        }
    }

    /// Whether the image already contains this torch.
    pub(super) fn has_torch(&self, torch: &str) -> bool {
        let own = self.known.and_then(|image| image.torch.as_deref());
        own.and_then(|own| own.split('+').next()) == Some(torch)
    }

    /// Whether the image sets the variables that the NVIDIA container toolkit looks at.
    pub(super) fn sets_nvidia_variables(&self) -> bool {
        let repository = self.known.map(|image| image.repository);
        matches!(repository, Some("nvidia/cuda" | "pytorch/pytorch" | "nvcr.io/nvidia/pytorch"))
    }
}

/// When nvcc is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NvccNeed {
    Never,
    /// While the image is built.
    Build,
    Run,
}

/// When nvcc is needed, and why.
pub(super) fn nvcc_need(
    catalog: &'static Catalog,
    request: &ImageRequest,
    stack: &Stack,
) -> (NvccNeed, String) {
    if stack.is_cpu() {
        return (NvccNeed::Never, String::new());
    }
    let flash_attn = stack
        .packages
        .get("flash-attn")
        .filter(|version| flash_attn_wheel(catalog, stack, version).is_none());
    match (request.compile, &stack.deepspeed, flash_attn) {
        (Some(Compile::Run), ..) => {
            (NvccNeed::Run, "CUDA code is compiled in the running container, as requested".into())
        }
        (_, Some(version), _) if !request.deepspeed_ops.is_empty() => (
            NvccNeed::Build,
            format!("DeepSpeed {version} operators are compiled during the image build, as requested"),
        ),
        (compile, Some(version), _) if compile != Some(Compile::Build) => (
            NvccNeed::Run,
            format!("DeepSpeed {version} compiles its operators on first use, in the running container"),
        ),
        (_, _, Some(version)) => (
            NvccNeed::Build,
            format!(
                "flash-attn {version} has no wheel for this torch and is compiled from \
                 source"
            ),
        ),
        (Some(Compile::Build), ..) => {
            (NvccNeed::Build, "CUDA code is compiled during the image build, as requested".into())
        }
        _ => (NvccNeed::Never, String::new()),
    }
}

/// Chooses the base image, and that of the build stage if one is needed.
pub(super) fn choose(
    catalog: &'static Catalog,
    request: &ImageRequest,
    stack: &Stack,
) -> Result<Base, Error> {
    if let Some(own) = &request.base_image {
        return own_image(catalog, request, stack, own);
    }
    let Some(reference) = &stack.base_image else {
        return Err(usage_error("an image needs a base image, but `--base none` was requested")
            .hint("remove `--base none`, or set your own image with `base_image`"));
    };
    let known = known(catalog, reference);
    let mut base = Base {
        image: reference.to_string(),
        digest: request.base_digest.clone(),
        known,
        system: stack.system.as_deref().and_then(|it| catalog.systems().system(it)),
        nvcc: known.is_some_and(|image| image.flavour == Flavour::Devel),
        comments: Vec::new(),
        build: None,
        build_comments: Vec::new(),
        warnings: Vec::new(),
    };
    let (need, reason) = nvcc_need(catalog, request, stack);
    match (need, base.nvcc) {
        (NvccNeed::Run, true) => base.comments.push(format!("devel image: {reason}.")),
        (NvccNeed::Build, true) => match lean(catalog, known) {
            Some(lean) => {
                base.build_comments = vec![format!("nvcc stays in this build stage: {reason}.")];
                base.build = Some(base.reference());
                base.image = lean.reference();
                base.digest = None;
                base.known = Some(lean);
                base.nvcc = false;
            }
            None => base
                .comments
                .push(format!("devel image: {reason}. The catalog has no variant of it without nvcc.")),
        },
        (NvccNeed::Never, true) if known.is_some_and(|image| image.repository == images::NGC) => {
            base.comments.push(
                "NVIDIA NGC image: its torch, CUDA (with nvcc) and libraries are kept \
                 unchanged."
                    .into(),
            );
        }
        (NvccNeed::Never, true) if known.is_some_and(|image| image.repository == "nvidia/cuda") => {
            base.comments.push("devel image, as requested; nothing in this stack needs nvcc.".into());
        }
        (NvccNeed::Never, _) if stack.is_cpu() => {
            base.comments.push("No CUDA: torch is a CPU build and needs no GPU and no NVIDIA driver.".into());
        }
        (NvccNeed::Never, _) => base.comments.push(
            "No nvcc: this stack compiles nothing, and the torch wheels include the CUDA libraries they \
             use."
                .into(),
        ),
        (_, false) => base.warnings.push(without_nvcc(&base.image, &reason)),
    }
    Ok(base)
}

fn without_nvcc(image: &str, reason: &str) -> Warning {
    Warning {
        id: "nvcc-missing".into(),
        message: format!(
            "{image} has no nvcc: {reason}; that fails on a GPU. The nvidia/cuda devel images have nvcc."
        ),
    }
}

/// A base image of the user; the request describes its contents.
fn own_image(
    catalog: &'static Catalog,
    request: &ImageRequest,
    stack: &Stack,
    own: &str,
) -> Result<Base, Error> {
    let Some(system) = stack.system.as_deref().and_then(|it| catalog.systems().system(it)) else {
        return Err(usage_error(format!(
            "the catalog does not know {own}, so its operating system is unknown"
        ))
        .hint("set `os`, for example ubuntu22.04 or debian12"));
    };
    let (need, reason) = nvcc_need(catalog, request, stack);
    let mut warnings = Vec::new();
    let devel =
        request.base_devel.as_ref().filter(|_| need == NvccNeed::Build && request.base_nvcc != Some(true));
    match request.base_nvcc {
        _ if need == NvccNeed::Never || devel.is_some() => {}
        Some(true) => {}
        Some(false) => warnings.push(without_nvcc(own, &reason)),
        None => warnings.push(Warning {
            id: "nvcc-not-known".into(),
            message: format!(
                "`base_nvcc` does not say whether {own} has nvcc, which is needed on a GPU: {reason}"
            ),
        }),
    }
    Ok(Base {
        image: own.to_owned(),
        digest: request.base_digest.clone(),
        known: None,
        system: Some(system),
        nvcc: request.base_nvcc == Some(true),
        comments: vec![format!("Your own base image; the request says that it contains {}.", system.name)],
        build: devel.cloned(),
        build_comments: vec![format!(
            "nvcc stays in this build stage: {reason}. The request says that this image has nvcc and, like \
             the final one, {}.",
            system.name
        )],
        warnings,
    })
}

fn known(catalog: &'static Catalog, reference: &Reference) -> Option<&'static Image> {
    catalog.images().of(&reference.repository).iter().find(|image| reference.names(image))
}

/// The image of the same CUDA and system without nvcc.
fn lean(catalog: &'static Catalog, devel: Option<&'static Image>) -> Option<&'static Image> {
    let devel = devel.filter(|image| image.repository == "nvidia/cuda")?;
    catalog.images().of("nvidia/cuda").iter().find(|image| {
        image.flavour == Flavour::Base && image.cuda == devel.cuda && image.system == devel.system
    })
}
