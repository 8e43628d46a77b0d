//! A pinned release of a package that was never published.

use std::str::FromStr;

use catalog::Catalog;
use catalog::packages::Package;
use pep440_rs::Version;

use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::install::Install;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile, named};

pub(crate) const RULE: Rule = Rule {
    id: "package-release-missing",
    severity: Severity::Error,
    summary: "every pinned release of a package exists",
    explain: include_str!("package_release_missing.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM python:3.12\nRUN pip install --no-cache-dir transformers==4.99\n"),
        named("requirements.txt", "numpy==2.0.7\n"),
        named(
            "pyproject.toml",
            "[project]\nname = \"a\"\nversion = \"1\"\ndependencies = [\n  \"numpy==2.0.7\",\n]\n",
        ),
        named("environment.yml", "dependencies:\n  - python=3.12\n  - pip:\n      - numpy==2.0.7\n"),
    ],
    silent: &[
        dockerfile("FROM python:3.12\nRUN pip install --no-cache-dir transformers==4.46.0 numpy==1.26.4\n"),
        named("requirements.txt", "transformers==4.46\npeft==99.0\ndatasets==0.1\n"),
        named(
            "pyproject.toml",
            "[project.optional-dependencies]\na = [\"numpy==1.26.4\"]\nb = [\"numpy==2.0.2\"]\n",
        ),
        named("requirements.txt", "vllm==0.10.2.dev1\nnumpy==2.*\nsomething-else==4.99\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.installs().flat_map(|(_, _, install)| missing(file.catalog, install)).collect()
}

/// The pinned releases of an installation that do not exist.
pub(crate) fn missing(catalog: &'static Catalog, install: &Install) -> Vec<Found> {
    let pinned = install.requirements.iter().filter_map(|one| Some((one, one.pin.as_ref()?)));
    let found = pinned.filter_map(|(one, pin)| {
        let package = catalog.package(&one.name)?;
        // Most pins are as the catalog writes them: no version has to be parsed.
        let known = package.rows.iter().any(|row| row.releases.contains_key(&one.pin_text));
        let near = if known { None } else { nearest(package, pin) }?;
        let message =
            format!("{} {} does not exist; pip finds no matching distribution", one.name, one.pin_text);
        // Another index may have builds of its own.
        let certain = install.certain && !one.default && install.index.is_none();
        Some(Found::error(one, message, format!("Use {}", near.join(" or "))).unless_certain(certain))
    });
    found.collect()
}

/// The releases before and after one that does not exist; `None` where it does, or where that is not known:
/// the catalog has every final release between its oldest and its newest.
fn nearest(package: &'static Package, pin: &Version) -> Option<[&'static str; 2]> {
    if package.sample || pin.any_prerelease() {
        return None;
    }
    let releases = package.rows.iter().flat_map(|row| row.releases.keys());
    let mut before: Option<(Version, &str)> = None;
    let mut after: Option<(Version, &str)> = None;
    for text in releases {
        let version = Version::from_str(text).ok()?;
        match version.cmp(pin) {
            std::cmp::Ordering::Equal => return None,
            std::cmp::Ordering::Less if before.as_ref().is_none_or(|(best, _)| *best < version) => {
                before = Some((version, text));
            }
            std::cmp::Ordering::Greater if after.as_ref().is_none_or(|(best, _)| *best > version) => {
                after = Some((version, text));
            }
            _ => {}
        }
    }
    Some([before?.1, after?.1])
}
