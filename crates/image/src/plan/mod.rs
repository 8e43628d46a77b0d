//! Everything about an image settled: after the plan nothing is left to choose.
//!
//! [`base`] decides the images that it is built on, [`python`] where its Python comes from, [`packages`] what
//! is installed into it, [`surroundings`] user, environment and command; [`expectations`] what its
//! verification must find. All of it is pure.

mod arch_list;
mod base;
mod expectations;
mod labels;
mod operators;
mod packages;
mod python;
mod step;
mod surroundings;
mod system;

use std::collections::BTreeMap;

pub use step::{Instruction, Stage, Step};

use super::lock;
use super::request::{Hidden, ImageRequest};
use crate::verify::Expectations;
use catalog::Catalog;
use diagnostic::error::{Error, Kind};
use resolve::answer::{Resolution, Stack, Warning};
use resolve::install;
use resolve::lock::LockedPackage;

/// An image with every choice made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Its name: `rl`.
    pub name: String,
    /// What the image is for, where the request says it.
    pub description: Option<String>,
    /// Where the request was read, where it was a file.
    pub origin: Option<String>,
    /// What was asked for, in the user's words.
    pub says: Vec<String>,
    /// The versions in it.
    pub stack: Stack,
    /// The stages of the build, in order; the last one is the image.
    pub stages: Vec<Stage>,
    /// The labels of the image: OCI's, `envdoc.*` and the user's.
    pub labels: BTreeMap<String, String>,
    /// Python packages that are installed, as pip takes them, in order.
    pub requirements: Vec<String>,
    /// What differs from the lock of the request, each in a sentence; the lock is then ignored.
    pub lock_drift: Vec<String>,
    /// The whole Python set with hashes, where the lock has it: two files of the build context, torch's
    /// first.
    pub locked: Option<[Vec<LockedPackage>; 2]>,
    /// Files of this machine that the build is given as secrets: they are in no layer.
    pub secrets: Vec<Secret>,
    /// The stack as it was resolved, with everything that the request leaves out.
    pub resolved: Stack,
    /// The glibc of the system, `2.28` where it is not known: it decides which wheels fit.
    pub glibc: String,
    /// The index of Python packages, where it is a mirror.
    pub index: Option<String>,
    /// Build arguments that the engine is given (the proxy); they are predefined, so they are in no
    /// layer and in no history.
    pub build_args: Vec<(String, String)>,
    /// The processor to build for, where one was asked for: `linux/arm64`.
    pub platform: Option<String>,
    /// Paths of the build context that the image takes.
    pub sources: Vec<String>,
    /// Whether only BuildKit can build it, and why.
    pub buildkit: Option<String>,
    /// What to know before using it.
    pub warnings: Vec<Warning>,
    /// What the verification of the finished image must find.
    pub expectations: Expectations,
}

/// A file that the build is given as a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// Its id in the Dockerfile: `ca`.
    pub id: String,
    /// Where it lies on this machine.
    pub from: String,
    /// The text itself, where it lies in no file of its own.
    pub text: Option<Hidden>,
}

/// The files of the build context with the whole Python set: torch's part, which is a layer of its own, and
/// the rest.
pub const LOCKED: [&str; 2] = ["requirements.torch.lock", "requirements.lock"];

/// Settles everything.
pub fn plan(
    catalog: &'static Catalog,
    request: &ImageRequest,
    resolution: &Resolution,
) -> Result<Plan, Error> {
    let request = &mirrored(catalog, request, &resolution.stack)?;
    let stack = &wanted(catalog, request, &resolution.stack);
    let base = base::settle(catalog, request, stack)?;
    let python = python::settle(catalog, request, stack, &base)?;
    if base.build.is_some() && python.environment.is_none() {
        return Err(refused(format!(
            "`base_devel`: Python {} belongs to {}, and packages installed into it cannot be copied from \
             another image",
            stack.python, base.image
        ))
        .hint("request a Python that is not in the image, or a base image with nvcc"));
    }
    let mut work = Work { catalog, request, resolution, stack, base: &base, python: &python, locked: None };
    let requirements = packages::requirements(&work);
    let lock_drift = match &request.lock {
        Some(kept) => lock::drift(kept, &resolution.stack, &requirements),
        None => Vec::new(),
    };
    work.locked =
        request.lock.as_ref().filter(|_| lock_drift.is_empty()).and_then(|lock| lock.packages.as_deref());
    let mut stages = python::stages(&work);
    let mut installed = python::steps(&work)?;
    installed.extend(packages::steps(&work)?);
    match &base.build {
        Some(build) => {
            let mut steps = system::build_steps(&work)?;
            steps.extend(installed);
            stages.push(Stage {
                name: "build".into(),
                image: build.clone(),
                why: base.build_why.clone(),
                steps,
            });
            let mut steps = system::run_steps(&work)?;
            steps.extend(python::taken_over(&work));
            stages.push(last(&work, steps)?);
        }
        None => {
            let mut steps = system::run_steps(&work)?;
            steps.extend(installed);
            stages.push(last(&work, steps)?);
        }
    }
    let mut warnings = resolution.warnings.clone();
    warnings.retain(|warning| {
        let made = warning.id == "python-externally-managed" && python.environment.is_some();
        // Of an own image the plan itself says what was told.
        let told = warning.id == "unknown-nvcc-needed" && request.base_image.is_some();
        !made && !told
    });
    warnings.extend(base.warnings.clone());
    warnings.extend(packages::warning(&work));
    warnings.extend(unused_torch(&work));
    warnings.extend(operators::warnings(&work));
    let mut told = Vec::new();
    warnings.retain(|warning| {
        let new = !told.contains(&warning.says);
        told.push(warning.says.clone());
        new
    });
    Ok(Plan {
        name: name(request),
        description: request.description.clone(),
        origin: request.origin.clone(),
        says: request.says.clone(),
        buildkit: buildkit(&stages),
        stages,
        labels: labels::labels(&work),
        requirements,
        lock_drift,
        locked: work.locked.map(|packages| {
            let (torch, rest) = packages.iter().cloned().partition(lock::of_torch);
            [torch, rest]
        }),
        secrets: secrets(request),
        resolved: resolution.stack.clone(),
        glibc: base.system.and_then(|system| system.glibc.clone()).unwrap_or_else(|| "2.28".into()),
        index: request.mirrors.pip_index.clone(),
        build_args: surroundings::build_args(request)?,
        platform: (!request.architectures.is_empty()).then(|| platform(&stack.architecture)),
        sources: request.copy.iter().map(|copy| copy.from.clone()).chain(request.wheels.clone()).collect(),
        warnings,
        expectations: expectations::expectations(&work),
        stack: stack.clone(),
    })
}

/// What the parts of planning look at.
#[derive(Debug)]
struct Work<'a> {
    catalog: &'static Catalog,
    request: &'a ImageRequest,
    resolution: &'a Resolution,
    stack: &'a Stack,
    base: &'a base::Base,
    python: &'a python::Python,
    /// The packages of the lock, where it still fits.
    locked: Option<&'a [LockedPackage]>,
}

impl Work<'_> {
    /// The sentence of the resolver about a part.
    fn because(&self, part: &str) -> Option<&str> {
        let found = self.resolution.because.iter().find(|because| because.part == part);
        found.map(|because| because.says.as_str())
    }

    /// A shell command's mounts: the CA bundle and the addresses with a login, where the request has them.
    fn trust(&self) -> Vec<String> {
        let bundle = self.request.ca_certificates.iter();
        let bundle = bundle.map(|_| format!("type=secret,id=ca,required=true,target={TRUSTED}"));
        let hidden =
            hidden(self.request).into_iter().map(|(id, ..)| format!("type=secret,id={id},required=true"));
        bundle.chain(hidden).collect()
    }

    /// The variables by which pip and uv find both, before a command.
    fn trusting(&self, command: String) -> String {
        let mut before: Vec<String> = Vec::new();
        if self.request.ca_certificates.is_some() {
            before.push(format!(
                "export SSL_CERT_FILE={TRUSTED} PIP_CERT={TRUSTED} REQUESTS_CA_BUNDLE={TRUSTED}"
            ));
        }
        for (id, [pip, uv], _) in hidden(self.request) {
            before
                .push(format!("{pip}=\"$(cat /run/secrets/{id})\" && {uv}=\"${pip}\" && export {pip} {uv}"));
        }
        before.push(command);
        before.join(" && ")
    }
}

/// The indexes that have a login: the id of the secret, the variables of pip and uv that it becomes, the
/// text.
fn hidden(request: &ImageRequest) -> Vec<(&'static str, [&'static str; 2], &Hidden)> {
    let index =
        request.hidden.index.iter().map(|text| ("index", ["PIP_INDEX_URL", "UV_DEFAULT_INDEX"], text));
    let extra =
        request.hidden.extra.iter().map(|text| ("extra_index", ["PIP_EXTRA_INDEX_URL", "UV_INDEX"], text));
    index.chain(extra).collect()
}

/// Where the CA bundle is mounted.
const TRUSTED: &str = "/run/ca.crt";

/// The last stage: what was installed, then the user's part, which changes most often.
fn last(work: &Work, mut steps: Vec<Step>) -> Result<Stage, Error> {
    steps.splice(0..0, surroundings::environment(work));
    steps.extend(surroundings::steps(work)?);
    steps.push(Step::of(Instruction::Label(labels::labels(work).into_iter().collect())));
    steps.extend(surroundings::start(work));
    Ok(Stage { name: "image".into(), image: work.base.reference(), why: work.base.why.clone(), steps })
}

/// The stack as far as it is installed.
fn wanted(catalog: &Catalog, request: &ImageRequest, stack: &Stack) -> Stack {
    let mut stack = stack.clone();
    if request.partners == Some(false) {
        stack.torchvision = None;
        stack.torchaudio = None;
        stack.install = install::commands(catalog, &stack);
    }
    let brought = !["image", "machine"].contains(&stack.python_from.as_str());
    if let Some(from) = request.python_from.filter(|_| brought) {
        stack.python_from = from.name().into();
        stack.install = install::commands(catalog, &stack);
    }
    stack
}

/// The request with the addresses of the mirror that it names; an address of its own wins.
fn mirrored(catalog: &Catalog, request: &ImageRequest, stack: &Stack) -> Result<ImageRequest, Error> {
    let mut request = request.clone();
    let family =
        stack.system.as_deref().unwrap_or_default().trim_end_matches(|c: char| !c.is_ascii_alphabetic());
    if let Some(address) = request.host_apt.get(family) {
        request.mirrors.apt.get_or_insert_with(|| address.clone());
    }
    let Some(name) = request.mirrors.preset.clone() else { return Ok(request) };
    let Some(mirror) = catalog.mirrors().mirror(&name) else {
        let names: Vec<&str> = catalog.mirrors().all().iter().map(|mirror| mirror.name.as_str()).collect();
        return Err(refused(format!("unknown mirror {name:?}")).hint(format!(
            "known mirrors: {}; set any other by URL with pip_index and apt",
            names.join(", ")
        )));
    };
    request.mirrors.pip_index.get_or_insert_with(|| mirror.pip_index.clone());
    request.mirrors.apt.get_or_insert_with(|| mirror.apt.clone());
    Ok(request)
}

/// The engine's name for a processor.
fn platform(architecture: &str) -> String {
    if architecture == "aarch64" { "linux/arm64" } else { "linux/amd64" }.into()
}

fn name(request: &ImageRequest) -> String {
    request.name.clone().unwrap_or_else(|| "envdoc-image".into())
}

fn secrets(request: &ImageRequest) -> Vec<Secret> {
    let bundle = request.ca_certificates.iter();
    let bundle = bundle.map(|from| Secret { id: "ca".into(), from: from.clone(), text: None });
    let hidden = hidden(request).into_iter().map(|(id, _, text)| Secret {
        id: id.into(),
        from: "the pip or uv configuration of this machine".into(),
        text: Some(text.clone()),
    });
    bundle.chain(hidden).collect()
}

/// Whether a mount stands anywhere, which the classic builder does not know.
fn buildkit(stages: &[Stage]) -> Option<String> {
    let mounts = |step: &Step| matches!(&step.does, Instruction::Run { mounts, .. } if !mounts.is_empty());
    let any = stages.iter().flat_map(|stage| &stage.steps).any(mounts);
    any.then(|| "RUN instructions use mounts".into())
}

/// An image that brings torch, in a Python that is not used.
fn unused_torch(work: &Work) -> Option<Warning> {
    let torch = work.base.known?.torch.as_ref()?;
    work.python.environment?;
    Some(Warning {
        id: "torch-of-image-unused".into(),
        says: format!(
            "{} contains torch {torch} in a Python that the catalog does not know; it stays unused, and \
             torch is installed a second time. `base: cuda` gives the same stack without it",
            work.base.image
        ),
    })
}

/// A request that cannot be planned.
fn refused(says: impl Into<String>) -> Error {
    Error::new(Kind::Usage, says)
}

#[cfg(test)]
mod tests;
