//! What is installed by hash: the packages of `envdoc.lock`, or of the project's own lock.

use diagnostic::error::Error;
use diagnostic::words::few;
use resolve::install::torch_of_image;
use resolve::lock::LockedPackage;
use resolve::outcome::Stack;
use resolve::parse::package_name;
use resolve::pip::PipRequirement;

use super::usage_error;
use crate::lock;
use crate::request::{ImageRequest, ProjectLock};

/// Which packages a lock has, and who wrote it.
#[derive(Debug, Clone, Copy)]
pub(super) struct LockedSet<'r> {
    pub(super) packages: &'r [LockedPackage],
    /// Of the project; `None`: of `envdoc render lock`.
    pub(super) project: Option<&'r ProjectLock>,
}

/// The set that is installed, and what of `envdoc.lock` differs from the plan.
///
/// # Errors
///
/// The image needs a package that the project's lock does not have.
pub(super) fn choose<'r>(
    request: &'r ImageRequest,
    stack: &Stack,
    requirements: &[PipRequirement],
) -> Result<(Option<LockedSet<'r>>, Vec<String>), Error> {
    let mut drift = Vec::new();
    if let Some(kept) = &request.lock {
        drift = lock::drift(kept, stack, requirements);
        if let (Some(packages), Some(project)) = (&kept.packages, &request.project_lock) {
            let others = project.packages.iter().filter(|one| !packages.contains(one));
            let message =
                |one: &LockedPackage| format!("{} of {} is not in the lock", one.requirement, project.file);
            drift.extend(others.map(message));
        }
        if let Some(packages) = kept.packages.as_deref().filter(|_| drift.is_empty()) {
            return Ok((Some(LockedSet { packages, project: None }), drift));
        }
    }
    let Some(project) = &request.project_lock else { return Ok((None, drift)) };
    if torch_of_image(stack) {
        let message = format!("{} cannot be installed into an image that has its own torch", project.file);
        let hint = "use another --base, or the ranges of the project: --without-lock";
        return Err(usage_error(message).hint(hint));
    }
    let missing: Vec<String> = lock::missing(&project.packages, requirements)
        .filter(|one| !project.separate.contains(&one.name()))
        .map(ToString::to_string)
        .collect();
    if !missing.is_empty() {
        let message = format!("{} does not have {}, which the image needs", project.file, few(&missing));
        let hint = format!("{}; or use the ranges of the project: --without-lock", project.add);
        return Err(usage_error(message).hint(hint));
    }
    Ok((Some(LockedSet { packages: &project.packages, project: Some(project) }), drift))
}

/// A stack without the packages that neither the request nor the project's lock has.
pub(super) fn without_others(mut stack: Stack, project: &ProjectLock, request: &ImageRequest) -> Stack {
    let partners = request.partners == Some(true);
    let has = |name: &str| project.packages.iter().any(|one| package_name(&one.requirement) == name);
    if !partners && !has("torchvision") {
        stack.torchvision = None;
    }
    if !partners && !has("torchaudio") {
        stack.torchaudio = None;
    }
    stack
        .packages
        .retain(|name, _| has(name) || project.separate.contains(name) || project.asked.contains(name));
    stack
}
