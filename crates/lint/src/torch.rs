//! What the catalog says of torch, torchvision and torchaudio as an installation names them.

use catalog::Catalog;
use std::str::FromStr;

use pep440_rs::{Version, VersionSpecifiers};

use super::read::dockerfile::install::{Install, Requirement};
use super::read::dockerfile::{Dockerfile, Run};
use super::rule::Found;
use catalog::packages::Row;
use catalog::torch::Release;
pub(crate) use catalog::torch::{build_of_index, is_cuda_build};

/// torch and the packages that are released with it.
pub(crate) const FAMILY: &[&str] = &["torch", "torchvision", "torchaudio"];

/// What the catalog says of a version.
#[derive(Debug, Clone)]
pub(crate) enum Known {
    /// The torch release that it is, or belongs to.
    Release(&'static Release),
    /// It was never released; the versions before and after it.
    Never(Vec<&'static str>),
    /// The catalog cannot tell.
    Unknown,
}

/// Looks up the version that a requirement pins.
pub(crate) fn known(catalog: &'static Catalog, requirement: &Requirement) -> Known {
    let Some(pin) = requirement.pin.as_ref().filter(|pin| !pin.any_prerelease()) else {
        return Known::Unknown;
    };
    let versions: Vec<(Version, &'static Release)> = catalog
        .torch()
        .all()
        .iter()
        .filter_map(|release| Some((Version::from_str(version(release, &requirement.name)?).ok()?, release)))
        .collect();
    // torchaudio's last release belongs to several; the first is the one that it was made with.
    if let Some((_, release)) = versions.iter().find(|(version, _)| version == pin) {
        return Known::Release(release);
    }
    // torchaudio ended while torch went on: where torch has the number and torchaudio does not, there is
    // none.
    let last = versions.last().filter(|(last, _)| requirement.name == "torchaudio" && last < pin);
    if let Some((_, release)) = last
        && catalog.torch().release(&requirement.pin_text).is_some()
    {
        return Known::Never(release.torchaudio.as_deref().into_iter().collect());
    }
    // The catalog has every release of torch between its oldest and its newest; of the others it has those
    // that go with one.
    let within = versions.first().is_some_and(|(first, _)| first < pin)
        && versions.last().is_some_and(|(last, _)| pin < last);
    if requirement.name != "torch" || !within {
        return Known::Unknown;
    }
    let after = versions.partition_point(|(version, _)| version < pin);
    let near = [after.checked_sub(1), Some(after)].into_iter().flatten();
    Known::Never(near.filter_map(|index| versions.get(index)).map(|(_, one)| one.version.as_str()).collect())
}

/// What is wrong with the family in each installation: the first of them tells, for its partners are wrong
/// with it.
pub(crate) fn first_of_each(
    file: &Dockerfile,
    wrong: fn(&Run, &Install, &Requirement) -> Option<Found>,
) -> Vec<Found> {
    let installs = file.installs().filter(|(_, _, install)| !install.elsewhere());
    let first = |(_, run, install): (_, &Run, &Install)| {
        let mut family = install.requirements.iter().filter(|one| FAMILY.contains(&one.name.as_str()));
        family.find_map(|one| wrong(run, install, one))
    };
    installs.filter_map(first).collect()
}

/// The version of one of the family in a release.
pub(crate) fn version<'r>(release: &'r Release, name: &str) -> Option<&'r str> {
    match name {
        "torch" => Some(&release.version),
        "torchvision" => release.torchvision.as_deref(),
        "torchaudio" => release.torchaudio.as_deref(),
        _ => None,
    }
}

/// The builds of a release for people: `cu118, cu124, cu126`.
pub(crate) fn builds(release: &Release) -> String {
    let names: Vec<&str> = release.builds.iter().map(|build| build.build.as_str()).collect();
    names.join(", ")
}

/// The CUDA build that an installation of torch gives: of the local version, of the only index, or of PyPI
/// where nothing says otherwise; `None` where that is not known.
pub(crate) fn build(run: &Run, install: &Install, release: &Release) -> Option<String> {
    let torch = install.requirement("torch")?;
    if torch.local.is_some() {
        return torch.local.clone();
    }
    match &install.index {
        Some(index) => build_of_index(&index.text).filter(|_| index.known).map(str::to_owned),
        None if only_pypi(run, install) => release.pypi_build.clone(),
        None => None,
    }
}

/// Whether an installation asks PyPI and nobody else.
pub(crate) fn only_pypi(run: &Run, install: &Install) -> bool {
    install.index.is_none() && install.extra.is_empty() && install.torch_backend.is_none() && !configured(run)
}

/// Whether indexes may be configured elsewhere than in the command.
pub(crate) fn configured(run: &Run) -> bool {
    let variables =
        ["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_CONFIG_FILE", "UV_TORCH_BACKEND"];
    let uv = |name: &str| {
        name.starts_with("UV_")
            && (name.contains("INDEX") || name.contains("LINKS") || name.contains("CONFIG"))
    };
    run.state.indexes || run.variables().any(|name| variables.contains(&name) || uv(name))
}

/// Whether an installation has a package that requires another torch, or may: one that does in some releases
/// where it is not known which one is installed, one that the catalog does not know, one of a list that was
/// not read.
pub(crate) fn may_replace(catalog: &'static Catalog, install: &Install, torch: &Release) -> bool {
    let Ok(own) = torch.version.parse::<Version>() else { return true };
    let other = |row: &Row| {
        let wanted = install.required(row, "torch").map(VersionSpecifiers::from_str);
        wanted.is_some_and(|wanted| wanted.map_or(true, |wanted| !wanted.contains(&own)))
    };
    let replaces = |one: &Requirement| {
        let partner =
            FAMILY.contains(&one.name.as_str()) && version(torch, &one.name) != Some(one.pin_text.as_str());
        let by_requirement = || match (one.row(catalog), catalog.package(&one.name)) {
            (Some(row), _) => other(row),
            (None, Some(package)) => package.rows.iter().any(other),
            (None, None) => !FAMILY.contains(&one.name.as_str()),
        };
        partner || by_requirement()
    };
    !install.option("--no-deps") && (install.more || install.requirements.iter().any(replaces))
}
