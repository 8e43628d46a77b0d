//! The images that an image is built on.

use super::super::request::{Compile, ImageRequest};
use super::refused;
use catalog::images::{self, Flavour, Image};
use catalog::systems::{self, System};
use diagnostic::error::Error;
use resolve::answer::{Stack, Warning};
use resolve::install::flash_attn_wheel;

/// The base of the finished image, and that of the stage that compiles.
#[derive(Debug)]
pub struct Base {
    /// The image: `nvidia/cuda:12.1.1-base-ubuntu22.04`.
    pub image: String,
    /// Its digest, where it is known.
    pub digest: Option<String>,
    /// What the catalog knows of it; nothing of an own image.
    pub known: Option<&'static Image>,
    /// Its system.
    pub system: Option<&'static System>,
    /// Whether it has nvcc.
    pub nvcc: bool,
    /// Why it is this one.
    pub why: Vec<String>,
    /// The image with nvcc, where only the build needs it.
    pub build: Option<String>,
    /// Why there is one.
    pub build_why: Vec<String>,
    /// What to know.
    pub warnings: Vec<Warning>,
}

impl Base {
    /// The reference with its digest.
    pub fn reference(&self) -> String {
        match &self.digest {
            Some(digest) => format!("{}@{digest}", self.image),
            None => self.image.clone(),
        }
    }

    /// Whether the image brings this torch already.
    pub fn has_torch(&self, torch: &str) -> bool {
        let own = self.known.and_then(|image| image.torch.as_deref());
        own.and_then(|own| own.split('+').next()) == Some(torch)
    }

    /// Whether the image sets the variables that the NVIDIA container toolkit looks at.
    pub fn sets_nvidia_variables(&self) -> bool {
        let repository = self.known.map(|image| image.repository);
        matches!(repository, Some("nvidia/cuda" | "pytorch/pytorch" | "nvcr.io/nvidia/pytorch"))
    }
}

/// When nvcc is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Nothing is compiled.
    Never,
    /// While the image is built.
    Build,
    /// When it runs, too.
    Run,
}

/// When nvcc is needed, and why.
pub fn need(request: &ImageRequest, stack: &Stack) -> (Need, String) {
    let flash_attn =
        stack.packages.get("flash-attn").filter(|version| flash_attn_wheel(stack, version).is_none());
    match (request.compile, &stack.deepspeed, flash_attn) {
        (Some(Compile::Run), ..) => {
            (Need::Run, "CUDA code is compiled in the running container, as was asked".into())
        }
        (_, Some(version), _) if !request.deepspeed_ops.is_empty() => (
            Need::Build,
            format!("operators of DeepSpeed {version} are compiled while the image is built, as was asked"),
        ),
        (compile, Some(version), _) if compile != Some(Compile::Build) => (
            Need::Run,
            format!(
                "DeepSpeed {version} compiles its operators when they are first used, in the running container"
            ),
        ),
        (_, _, Some(version)) => {
            (Need::Build, format!("flash-attn {version} has no wheel for this torch and is compiled"))
        }
        (Some(Compile::Build), ..) => {
            (Need::Build, "CUDA code is compiled while the image is built, as was asked".into())
        }
        _ => (Need::Never, String::new()),
    }
}

/// Decides the images.
pub fn settle(request: &ImageRequest, stack: &Stack) -> Result<Base, Error> {
    if let Some(own) = &request.base_image {
        return own_image(request, stack, own);
    }
    let Some(reference) = &stack.base_image else {
        return Err(refused("an image needs a base image, and none was asked for")
            .hint("leave `--base none` away, or name your own image with `base_image`"));
    };
    let known = known(reference);
    let mut base = Base {
        image: reference.clone(),
        digest: request.base_digest.clone(),
        known,
        system: stack.system.as_deref().and_then(systems::system),
        nvcc: known.is_some_and(|image| image.flavour == Flavour::Devel),
        why: Vec::new(),
        build: None,
        build_why: Vec::new(),
        warnings: Vec::new(),
    };
    let (need, reason) = need(request, stack);
    match (need, base.nvcc) {
        (Need::Run, true) => base.why.push(format!("A devel image: {reason}.")),
        (Need::Build, true) => match lean(known) {
            Some(lean) => {
                base.build_why = vec![format!("nvcc stays in this stage: {reason}.")];
                base.build = Some(base.reference());
                base.image = lean.reference();
                base.digest = None;
                base.known = Some(lean);
                base.nvcc = false;
            }
            None => base.why.push(format!(
                "A devel image: {reason}. The catalog knows no image of its kind without nvcc."
            )),
        },
        (Need::Never, true) if known.is_some_and(|image| image.repository == images::NGC) => {
            base.why.push("NVIDIA's image: its torch, its CUDA with nvcc and its libraries stay as they are.".into());
        }
        (Need::Never, true) if known.is_some_and(|image| image.repository == "nvidia/cuda") => {
            base.why.push("A devel image, as was asked for; nothing in this stack needs nvcc.".into());
        }
        (Need::Never, _) => base.why.push(
            "No nvcc: nothing in this stack is compiled, and torch's wheels bring the CUDA libraries that they use.".into(),
        ),
        (_, false) => base.warnings.push(without_nvcc(&base.image, &reason)),
    }
    Ok(base)
}

fn without_nvcc(image: &str, reason: &str) -> Warning {
    Warning {
        id: "nvcc-missing".into(),
        says: format!(
            "{image} has no nvcc: {reason}; on a GPU that fails. A devel image of nvidia/cuda has it."
        ),
    }
}

/// An image of one's own: what is in it is told by the request.
fn own_image(request: &ImageRequest, stack: &Stack, own: &str) -> Result<Base, Error> {
    let Some(system) = stack.system.as_deref().and_then(systems::system) else {
        return Err(refused(format!("what system is in {own}? The catalog does not know the image"))
            .hint("tell it with `os`: ubuntu22.04, debian12"));
    };
    let (need, reason) = need(request, stack);
    let mut warnings = Vec::new();
    let devel =
        request.base_devel.as_ref().filter(|_| need == Need::Build && request.base_nvcc != Some(true));
    match request.base_nvcc {
        _ if need == Need::Never || devel.is_some() => {}
        Some(true) => {}
        Some(false) => warnings.push(without_nvcc(own, &reason)),
        None => warnings.push(Warning {
            id: "nvcc-not-known".into(),
            says: format!(
                "whether {own} has nvcc was not told (`base_nvcc`), and it is needed on a GPU: {reason}"
            ),
        }),
    }
    Ok(Base {
        image: own.to_owned(),
        digest: request.base_digest.clone(),
        known: None,
        system: Some(system),
        nvcc: request.base_nvcc == Some(true),
        why: vec![format!("An image of your own; that {} is in it was told by the request.", system.name)],
        build: devel.cloned(),
        build_why: vec![format!(
            "nvcc stays in this stage: {reason}. That the image has nvcc and {}, as the last one has, was told by the request.",
            system.name
        )],
        warnings,
    })
}

/// The image in the catalog.
pub fn known(reference: &str) -> Option<&'static Image> {
    let (repository, tag) = reference.rsplit_once(':')?;
    images::of(repository).iter().find(|image| image.tag == tag)
}

/// The image of the same CUDA and system without nvcc.
fn lean(devel: Option<&'static Image>) -> Option<&'static Image> {
    let devel = devel.filter(|image| image.repository == "nvidia/cuda")?;
    images::of("nvidia/cuda").iter().find(|image| {
        image.flavour == Flavour::Base && image.cuda == devel.cuda && image.system == devel.system
    })
}
