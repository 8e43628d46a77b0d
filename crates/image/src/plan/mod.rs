//! The plan of an image: every choice made, nothing written yet.
//!
//! [`base`] chooses the base images, [`python`] the source of Python, [`packages`] what is installed,
//! [`runtime`] user, environment and command, and [`expectations`] what the verification must find. All of it
//! is pure.

mod arch_list;
mod base;
mod expectations;
mod labels;
mod locked;
mod operators;
mod package_manager;
mod packages;
mod pip;
mod python;
mod python_source;
mod runtime;
mod step;
mod system;
mod uv;

use std::collections::BTreeMap;

pub use step::{Instruction, Stage, Step};

use super::lock;
use super::request::{ImageRequest, SecretText};
use crate::valid;
use crate::verify::Expectations;
use catalog::Catalog;
use diagnostic::error::{Error, Kind};
use resolve::lock::LockedPackage;
use resolve::outcome::{Decision, PythonFrom, Resolution, Stack, Warning};
use resolve::parameter::Naming;
use resolve::{install, pip::PipRequirement};

/// An image with every choice made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Its name: `rl`.
    pub name: String,
    /// Purpose of the image, if the request states it.
    pub description: Option<String>,
    /// The file that the request was read from, if any.
    pub origin: Option<String>,
    /// The requirements, in the user's words.
    pub requested: Vec<String>,
    /// The stack as it is installed, without what the request leaves out.
    pub stack: Stack,
    /// The stages of the build, in order; the last one is the image.
    pub stages: Vec<Stage>,
    /// The labels of the image: OCI's, `envdoc.*` and the user's.
    pub labels: BTreeMap<String, String>,
    /// Python packages that are installed, as pip takes them, in order.
    pub requirements: Vec<PipRequirement>,
    /// What differs from the lock of the request, each in a sentence; the lock is then ignored.
    pub lock_drift: Vec<String>,
    /// The whole Python set with hashes, where the lock has it: two files of the build context, torch's
    /// first.
    pub locked: Option<[Vec<LockedPackage>; 2]>,
    /// Pages that have files of a project's lock; `None`: those of the stack's torch.
    pub lock_links: Option<Vec<String>>,
    /// Files of this machine that the build is given as secrets: they are in no layer.
    pub secrets: Vec<Secret>,
    /// The stack as it was resolved, with everything that the request leaves out.
    pub resolved: Stack,
    /// The glibc of the system, `2.28` if unknown: it decides which wheels can be installed.
    pub glibc: String,
    /// The mirror of PyPI, if one is used.
    pub index: Option<String>,
    /// Build arguments that the engine is given (the proxy); they are predefined, so they are in no
    /// layer and in no history.
    pub build_args: Vec<(String, String)>,
    /// The platform to build for, if one is requested: `linux/arm64`.
    pub platform: Option<String>,
    /// Paths of the build context that the image takes.
    pub sources: Vec<String>,
    /// Whether only BuildKit can build it, and why.
    pub buildkit: Option<String>,
    /// Warnings about the stack and the image.
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
    pub text: Option<SecretText>,
}

/// The files of the build context with the whole Python set: torch's part, which is a layer of its own, and
/// the rest.
pub const LOCKED: [&str; 2] = ["requirements.torch.lock", "requirements.lock"];

/// Plans an image for a resolved stack.
pub fn plan(
    catalog: &'static Catalog,
    request: &ImageRequest,
    resolution: &Resolution,
) -> Result<Plan, Error> {
    valid::request(request)?;
    let request = &with_mirrors(catalog, request, &resolution.stack)?;
    let stack = &installed_stack(catalog, request, &resolution.stack);
    let base = base::choose(catalog, request, stack)?;
    let python = python::choose(catalog, request, stack, &base)?;
    if base.build.is_some() && python.environment.is_none() {
        return Err(usage_error(format!(
            "`base_devel`: Python {} belongs to {}, and packages installed into it cannot be copied from \
             another image",
            stack.python, base.image
        ))
        .hint("request a Python that is not in the image, or a base image with nvcc"));
    }
    let mut context =
        PlanContext { catalog, request, resolution, stack, base: &base, python: &python, locked: None };
    let requirements = packages::requirements(&context);
    let (locked, lock_drift) = locked::choose(request, &resolution.stack, &requirements)?;
    context.locked = locked;
    let mut stages = python::stages(&context);
    let mut installed = python::steps(&context)?;
    installed.extend(packages::steps(&context)?);
    match &base.build {
        Some(build) => {
            let mut steps = system::build_steps(&context)?;
            steps.extend(installed);
            stages.push(Stage {
                name: "build".into(),
                image: build.clone(),
                comments: base.build_comments.clone(),
                steps,
            });
            let mut steps = system::run_steps(&context)?;
            steps.extend(python::copied_environment(&context));
            stages.push(last(&context, steps)?);
        }
        None => {
            let mut steps = system::run_steps(&context)?;
            steps.extend(installed);
            stages.push(last(&context, steps)?);
        }
    }
    let mut warnings = resolution.warnings.clone();
    // The plan has its own warnings about a base image of the user, and about what the catalog does not have.
    warnings.retain(|warning| match warning.id.as_str() {
        Warning::EXTERNALLY_MANAGED => python.environment.is_none(),
        "unknown-nvcc-needed" => request.base_image.is_none(),
        id => id != Warning::NOT_IN_CATALOG,
    });
    warnings.extend(base.warnings.clone());
    warnings.extend(packages::warning(&context));
    warnings.extend(unused_torch(&context));
    warnings.extend(operators::warnings(&context));
    let mut messages = Vec::new();
    warnings.retain(|warning| {
        let new = !messages.contains(&warning.message);
        messages.push(warning.message.clone());
        new
    });
    Ok(Plan {
        name: name(request),
        description: request.description.clone(),
        origin: request.origin.clone(),
        requested: request.requested.clone(),
        buildkit: step::buildkit(&stages),
        stages,
        labels: labels::labels(&context),
        requirements,
        lock_drift,
        // envdoc.lock does not keep the pages of the lock that it was made from.
        lock_links: request.project_lock.as_ref().filter(|_| locked.is_some()).map(|lock| lock.links.clone()),
        locked: locked.map(|set| {
            let (torch, rest) = set.packages.iter().cloned().partition(lock::is_torch_layer);
            [torch, rest]
        }),
        secrets: secrets(request),
        resolved: resolution.stack.clone(),
        glibc: base.system.and_then(|system| system.glibc.clone()).unwrap_or_else(|| "2.28".into()),
        index: request.mirrors.pip_index.clone(),
        build_args: runtime::build_args(request),
        platform: request.platform(&stack.architecture),
        sources: request.copy.iter().map(|copy| copy.from.clone()).chain(request.wheels.clone()).collect(),
        warnings,
        expectations: expectations::expectations(&context),
        stack: stack.clone(),
    })
}

/// The input of the planning steps.
#[derive(Debug)]
struct PlanContext<'a> {
    catalog: &'static Catalog,
    request: &'a ImageRequest,
    resolution: &'a Resolution,
    stack: &'a Stack,
    base: &'a base::Base,
    python: &'a python_source::Python,
    /// The packages of the lock, where it still fits.
    locked: Option<locked::LockedSet<'a>>,
}

impl PlanContext<'_> {
    /// What the resolver chose for a part, and why.
    fn decision(&self, part: &str) -> Option<&Decision> {
        self.resolution.decisions.iter().find(|decision| decision.part == part)
    }

    /// Secret mounts of a `RUN` instruction: the CA bundle and the index URLs with a login.
    fn secret_mounts(&self) -> Vec<String> {
        let bundle = self.request.ca_certificates.iter();
        let bundle = bundle.map(|_| format!("type=secret,id=ca,required=true,target={CA_BUNDLE}"));
        let secret_indexes = secret_indexes(self.request)
            .into_iter()
            .map(|(id, ..)| format!("type=secret,id={id},required=true"));
        bundle.chain(secret_indexes).collect()
    }

    /// The command, after exports of the variables that point pip and uv to the secrets.
    fn with_secrets(&self, command: String) -> String {
        let mut before: Vec<String> = Vec::new();
        if self.request.ca_certificates.is_some() {
            before.push(format!(
                "export SSL_CERT_FILE={CA_BUNDLE} PIP_CERT={CA_BUNDLE} REQUESTS_CA_BUNDLE={CA_BUNDLE}"
            ));
        }
        for (id, [pip, uv], _) in secret_indexes(self.request) {
            before
                .push(format!("{pip}=\"$(cat /run/secrets/{id})\" && {uv}=\"${pip}\" && export {pip} {uv}"));
        }
        before.push(command);
        before.join(" && ")
    }
}

/// Index URLs with a login: id of the secret, its variables for pip and uv, and the URL.
fn secret_indexes(request: &ImageRequest) -> Vec<(&'static str, [&'static str; 2], &SecretText)> {
    let index = request
        .secret_indexes
        .index
        .iter()
        .map(|text| ("index", ["PIP_INDEX_URL", "UV_DEFAULT_INDEX"], text));
    let extra = request
        .secret_indexes
        .extra
        .iter()
        .map(|text| ("extra_index", ["PIP_EXTRA_INDEX_URL", "UV_INDEX"], text));
    index.chain(extra).collect()
}

/// Mount target of the CA bundle.
const CA_BUNDLE: &str = "/run/ca.crt";

/// The last stage: what was installed, then the user's part, which changes most often.
fn last(context: &PlanContext, mut steps: Vec<Step>) -> Result<Stage, Error> {
    steps.splice(0..0, runtime::environment(context));
    steps.extend(runtime::steps(context));
    steps.push(labels::step(context));
    steps.extend(runtime::start(context));
    Ok(Stage {
        name: "image".into(),
        image: context.base.reference(),
        comments: context.base.comments.clone(),
        steps,
    })
}

/// The stack without what the request leaves out.
fn installed_stack(catalog: &Catalog, request: &ImageRequest, stack: &Stack) -> Stack {
    let mut stack = stack.clone();
    if let Some(project) = &request.project_lock {
        stack = locked::without_others(stack, project, request);
        stack.install = install::commands(catalog, &stack);
    }
    if request.partners == Some(false) {
        stack.torchvision = None;
        stack.torchaudio = None;
        stack.install = install::commands(catalog, &stack);
    }
    let provided = !matches!(stack.python_from, PythonFrom::Image | PythonFrom::Machine);
    if let Some(from) = request.python_from.filter(|_| provided) {
        stack.python_from = from.into();
        stack.install = install::commands(catalog, &stack);
    }
    stack
}

/// The request with the URLs of the mirror preset that it names; its own URLs win.
fn with_mirrors(catalog: &Catalog, request: &ImageRequest, stack: &Stack) -> Result<ImageRequest, Error> {
    let mut request = request.clone();
    let family =
        stack.system.as_deref().unwrap_or_default().trim_end_matches(|c: char| !c.is_ascii_alphabetic());
    if let Some(address) = request.host_apt.get(family) {
        request.mirrors.apt.get_or_insert_with(|| address.clone());
    }
    let Some(mirror) = valid::mirror(catalog, &request, Naming::Keys)? else { return Ok(request) };
    request.mirrors.pip_index.get_or_insert_with(|| mirror.pip_index.clone());
    request.mirrors.apt.get_or_insert_with(|| mirror.apt.clone());
    Ok(request)
}

fn name(request: &ImageRequest) -> String {
    request.name.clone().unwrap_or_else(|| "envdoc-image".into())
}

fn secrets(request: &ImageRequest) -> Vec<Secret> {
    let bundle = request.ca_certificates.iter();
    let bundle = bundle.map(|from| Secret { id: "ca".into(), from: from.clone(), text: None });
    let secret_indexes = secret_indexes(request).into_iter().map(|(id, _, text)| Secret {
        id: id.into(),
        from: "the pip or uv configuration of this machine".into(),
        text: Some(text.clone()),
    });
    bundle.chain(secret_indexes).collect()
}

/// Warns of a base image with torch in a Python that is not used.
fn unused_torch(context: &PlanContext) -> Option<Warning> {
    let torch = context.base.known?.torch.as_ref()?;
    context.python.environment?;
    Some(Warning {
        id: "torch-of-image-unused".into(),
        message: format!(
            "{} contains torch {torch} in a Python that the catalog does not know; it stays unused, and \
             torch is installed a second time. `base: cuda` gives the same stack without it",
            context.base.image
        ),
    })
}

/// A request that cannot be planned.
fn usage_error(message: impl Into<String>) -> Error {
    Error::new(Kind::Usage, message)
}

#[cfg(test)]
mod tests;
