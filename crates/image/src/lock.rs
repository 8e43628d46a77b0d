//! `envdoc.lock`: the whole Python set of an image, with hashes.
//!
//! The lock is that of `envdoc resolve --lock`, with one list more: everything that pip installs,
//! dependencies too, as `uv pip compile` resolved it.

use pep440_rs::{Version, VersionSpecifiers};
use resolve::lock::{Lock, LockedPackage};
use resolve::marker::{self, VersionOrUrl};
use resolve::outcome::Stack;
use resolve::parse;
use resolve::pip::{Pin, PipRequirement};
use resolve::torch_layer;

/// Reads what `uv pip compile --generate-hashes` printed.
pub fn parse(text: &str) -> Vec<LockedPackage> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with(['#', '-'])).map(package).collect()
}

fn package(line: &str) -> LockedPackage {
    let mut parts = line.split(" --hash=");
    let requirement = parts.next().unwrap_or_default().trim().to_owned();
    LockedPackage { requirement, hashes: parts.map(|hash| hash.trim().to_owned()).collect() }
}

/// What differs between a lock and an image that is planned from it, each in a sentence.
pub fn drift(lock: &Lock, stack: &Stack, requirements: &[PipRequirement]) -> Vec<String> {
    let mut drift = lock.differences(stack);
    if let Some(packages) = &lock.packages {
        drift.extend(missing(packages, requirements).map(|one| format!("{one} is not in the lock")));
    }
    drift
}

/// What of the requirements of an image a lock does not have. Ranges are met by any version that is locked.
pub fn missing<'r>(
    packages: &[LockedPackage],
    requirements: &'r [PipRequirement],
) -> impl Iterator<Item = &'r PipRequirement> {
    let differs = move |requirement: &&PipRequirement| {
        let name = requirement.name();
        let Some(found) = packages.iter().find(|one| parse::package_name(&one.requirement) == name) else {
            return true;
        };
        let locked = Pin::parse(&found.requirement);
        if let Some(pin) = requirement.pinned() {
            return locked.is_none_or(|locked| public(&pin) != public(&locked));
        }
        let version = locked.as_ref().and_then(public);
        range(requirement).zip(version).is_some_and(|(range, version)| !range.contains(&version))
    };
    requirements.iter().filter(differs)
}

/// The versions that a requirement of the request allows, where it names any.
fn range(requirement: &PipRequirement) -> Option<VersionSpecifiers> {
    let PipRequirement::Requested(text) = requirement else { return None };
    match marker::requirement(text).ok()?.version_or_url? {
        VersionOrUrl::VersionSpecifier(range) => Some(range),
        VersionOrUrl::Url(_) => None,
    }
}

/// The version without its build, which is part of torch's version in the one, and not always in the other.
/// `None` if it is no version.
fn public(pin: &Pin) -> Option<Version> {
    pin.version.parse::<Version>().ok().map(Version::without_local)
}

/// Whether a package belongs to torch's own layer: the largest part of an image, which changes least.
pub fn is_torch_layer(package: &LockedPackage) -> bool {
    torch_layer::is_in_layer(&parse::package_name(&package.requirement))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "# made by uv\n\
        cuda-bindings==13.2.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n\
        numpy==2.5.5 \\\n    --hash=sha256:cc\ntorch==2.5.1+cu121 \\\n    --hash=sha256:dd\n";

    #[test]
    fn parses_uv_compile_output() {
        let packages = parse(PRINTED);
        assert_eq!(packages.len(), 3);
        assert_eq!(packages[0].requirement, "cuda-bindings==13.2.0");
        assert_eq!(packages[0].hashes, ["sha256:aa", "sha256:bb"]);
        assert!(
            is_torch_layer(&packages[0]) && !is_torch_layer(&packages[1]) && is_torch_layer(&packages[2])
        );
    }

    #[test]
    fn lists_requirements_missing_from_the_lock() {
        let packages = parse(PRINTED);
        let lacks = |texts: &[&str]| {
            let requested = texts.iter().map(|text| PipRequirement::Requested((*text).to_owned()));
            missing(&packages, &requested.collect::<Vec<_>>()).count()
        };
        assert_eq!(lacks(&["torch==2.5.1+cu121", "numpy", "Cuda_Bindings>=1"]), 0);
        assert_eq!(lacks(&["torch==2.5.1", "NumPy==2.5.5", "numpy; python_version == '3.12'"]), 0);
        assert_eq!(lacks(&["numpy==2.5.4", "jieba", "numpy<2.5"]), 3);
    }
}
