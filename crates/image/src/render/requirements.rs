//! A requirements file of what the image installs.

use serde::Serialize;

use super::{fill, header};
use crate::plan::Plan;
use diagnostic::error::Error;
use resolve::lock::LockedPackage;
use resolve::outcome::Stack;
use resolve::pip::PipRequirement;

const TEMPLATE: &str = include_str!("../../../../templates/requirements.txt.hbs");

#[derive(Debug, Serialize)]
struct Values {
    header: String,
    python: String,
    links: Vec<String>,
    requirements: Vec<String>,
}

/// The file of a plan.
///
/// A CUDA build of torch that is not PyPI's stands on an index of its own, which holds old copies of other
/// packages too: only the pages of torch and its partners are named.
pub fn requirements(plan: &Plan) -> Result<String, Error> {
    selected(plan, |_| true)
}

/// The file with these of a plan's requirements.
pub fn selected(plan: &Plan, is_in: impl Fn(&PipRequirement) -> bool) -> Result<String, Error> {
    let stack = &plan.stack;
    let values = Values {
        header: header(plan),
        python: stack.python.clone(),
        links: links(stack),
        requirements: plan.requirements.iter().filter(|one| is_in(one)).map(ToString::to_string).collect(),
    };
    fill("requirements.txt.hbs", TEMPLATE, &values)
}

/// The whole set with hashes, as far as it is in one file of the lock.
pub(super) fn locked(plan: &Plan, packages: &[LockedPackage]) -> Result<String, Error> {
    let package = |package: &LockedPackage| {
        let hashes = package.hashes.iter().map(|hash| format!(" \\\n    --hash={hash}"));
        std::iter::once(package.requirement.clone()).chain(hashes).collect()
    };
    let values = Values {
        header: header(plan),
        python: plan.stack.python.clone(),
        links: plan.lock_links.clone().unwrap_or_else(|| links(&plan.stack)),
        requirements: packages.iter().map(package).collect(),
    };
    fill("requirements.txt.hbs", TEMPLATE, &values)
}

/// The pages of torch and its partners, where the build is not PyPI's.
fn links(stack: &Stack) -> Vec<String> {
    let partners = [
        ("torch", true),
        ("torchvision", stack.torchvision.is_some()),
        ("torchaudio", stack.torchaudio.is_some()),
    ];
    let there = partners.into_iter().filter(|(_, there)| *there);
    let Some(url) = &stack.index_url else { return Vec::new() };
    there.map(|(name, _)| format!("{url}/{name}/")).collect()
}
