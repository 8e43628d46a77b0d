//! Python packages, DeepSpeed among them.

use crate::universe::Universe;
use std::str::FromStr;

use pep440_rs::{Version, VersionSpecifiers};

use super::Explanation;
use crate::universe::{CompiledFor, Differing, Package, Release};
use catalog::presets::Preset;
use diagnostic::words;

pub(super) fn explain(universe: &Universe, package: &Package, version: &str) -> Explanation {
    if version.is_empty() {
        return all(universe, package);
    }
    // 3.1 is 3.1.0 (PEP 440).
    let number = Version::from_str(version).ok();
    let is_it = |release: &&Release| release.text == version || number.as_ref() == Some(&release.version);
    match package.releases.iter().find(is_it) {
        Some(release) => one(universe, package, release),
        None => missing(universe, package, version),
    }
}

/// A preset: packages under one name.
pub(super) fn preset(preset: &Preset) -> Explanation {
    let summary = format!("A preset of `envdoc resolve --preset`. {}", preset.summary);
    let mut explanation = Explanation::new(&preset.name, summary);
    explanation.row("packages", preset.with.join(", "));
    let deepspeed =
        preset.deepspeed.as_deref().map(|versions| if versions.is_empty() { "any" } else { versions });
    explanation.row("deepspeed", deepspeed.unwrap_or_default());
    explanation
        .row("nvcc", if preset.compile { "needed: a part is compiled unless a wheel fits" } else { "" });
    explanation.sources(preset.source.iter());
    explanation
}

/// True where releases between those in the catalog are left out.
fn sampled(universe: &Universe, package: &Package) -> bool {
    universe.catalog.package(package.name).is_some_and(|row| row.sample)
}

fn all(universe: &Universe, package: &Package) -> Explanation {
    let summary = universe.catalog.package(package.name).map_or("DeepSpeed", |row| row.summary.as_str());
    let versions: Vec<&str> = package.releases.iter().rev().map(|one| one.text.as_str()).collect();
    let sample = if sampled(universe, package) { " (a sample)" } else { "" };
    let summary =
        format!("{}. The catalog knows {} releases{sample}.", words::capital(summary), versions.len());
    let mut explanation = Explanation::new(package.name, summary);
    for release in package.releases.iter().take(8) {
        explanation.row(&release.text, brief(release));
    }
    explanation
}

fn brief(release: &Release) -> String {
    let day = if release.released.is_empty() { String::new() } else { format!("{}; ", release.released) };
    format!("{day}{}", requirements(release, "no requirements that the catalog follows"))
}

/// What it requires, in a line; `nothing` where it requires nothing.
fn requirements(release: &Release, nothing: &str) -> String {
    let python = release.python.as_ref().map(|versions| format!("Python {versions}"));
    let others = release.requires.iter().map(|(name, versions)| {
        if versions.is_empty() { (*name).to_owned() } else { format!("{name} {versions}") }
    });
    let all: Vec<String> = python.into_iter().chain(others).collect();
    if all.is_empty() { nothing.to_owned() } else { all.join(", ") }
}

/// How the requirements differ on other Pythons and processors.
fn elsewhere(release: &Release) -> String {
    let difference = |one: &Differing| {
        let requires = one.requires.iter().map(|(name, versions)| format!("{name} {versions}"));
        let requires = requires.map(|text| text.trim_end().to_owned());
        let all: Vec<String> =
            requires.chain(one.row.without.iter().map(|name| format!("no {name}"))).collect();
        let place = place(one.row.pythons.as_deref(), one.row.architecture.as_deref(), "on");
        format!("{}{place}", all.join(", "))
    };
    release.elsewhere.iter().map(difference).collect::<Vec<_>>().join("; ")
}

/// ` on Python 3.9 and 3.10, aarch64`; empty where it is everywhere.
fn place(pythons: Option<&[String]>, architecture: Option<&str>, word: &str) -> String {
    let pythons = pythons.map(|list| format!("Python {}", words::and(list)));
    let all: Vec<String> = pythons.into_iter().chain(architecture.map(str::to_owned)).collect();
    if all.is_empty() { String::new() } else { format!(" {word} {}", all.join(", ")) }
}

fn one(universe: &Universe, package: &Package, release: &Release) -> Explanation {
    let day =
        if release.released.is_empty() { String::new() } else { format!(", released {}", release.released) };
    let newest = package.releases.first().is_some_and(|first| first.text == release.text);
    let newest = if newest { "; the newest in the catalog" } else { "" };
    let mut explanation = Explanation::new(release.name(), format!("Exists{day}{newest}."));
    explanation.row("requires", requirements(release, "nothing that the catalog follows"));
    explanation.row("elsewhere", elsewhere(release));
    if release.source_only {
        explanation.row("wheels", "none on PyPI: it is built when it is installed");
    } else if let Some(pythons) = release.pythons {
        explanation.row("wheels", format!("for Python {}", pythons.join(", ")));
    }
    if let CompiledFor::Cuda(cuda) = release.compiled_for {
        explanation.row("CUDA", format!("compiled for CUDA {cuda}"));
    }
    if let Some((major, minor)) = release.compute_capability_min {
        explanation.row("GPUs", format!("sm_{major}{minor} or newer"));
    }
    for row in &release.without_wheels {
        let lacking = row.lacking.as_ref().map_or(String::new(), |lacking| format!(", by which {lacking}"));
        let place = place(row.pythons.as_deref(), row.architecture.as_deref(), "for");
        explanation.row("not on wheels", format!("{}{lacking}: no wheel{place}", row.requires));
    }
    let through = release.indirect.iter().map(|row| {
        let place = place(row.pythons, None, "on");
        format!("{} {}{place}, by {}", row.package, row.versions, row.through)
    });
    explanation.row("indirectly", through.collect::<Vec<_>>().join("; "));
    explanation.row("glibc", release.glibc.map_or(String::new(), |one| format!("{one} or newer")));
    explanation.sources(release.source.iter());
    if package.name == "deepspeed" {
        deepspeed_rows(universe, &mut explanation, &release.text);
    }
    explanation
}

fn deepspeed_rows(universe: &Universe, explanation: &mut Explanation, version: &str) {
    let Some(row) = universe.catalog.deepspeed().release(version) else { return };
    let imports = |known: Option<bool>| match known {
        Some(true) => "`import deepspeed` works",
        Some(false) => "`import deepspeed` fails",
        None => "not known",
    };
    explanation.row("torch 2.4 and newer", imports(row.imports_with_torch_2_4));
    explanation.row("numpy 2", imports(row.imports_with_numpy_2));
    if row.needs_setuptools == Some(true) {
        explanation.row("Python 3.12 and newer", "needs setuptools, which has distutils");
    }
    for major in [11, 12, 13] {
        let allowed = row.cuda_minor_allowed(major);
        let text = match allowed {
            None => "not known".to_owned(),
            Some([]) => "nvcc must be the very CUDA that torch was made with".to_owned(),
            Some(allowed) => format!("nvcc and torch may differ among {}", words::span(allowed)),
        };
        explanation.row(&format!("operators, CUDA {major}"), text);
    }
    for known in universe
        .catalog
        .deepspeed()
        .incompatibilities()
        .iter()
        .filter(|row| covers(&row.deepspeed, version) == Some(true))
    {
        explanation.row("known", format!("with {}: {}. Do: {}", known.with, known.effect, known.fix));
        explanation.sources(known.source.iter());
    }
}

/// Whether the releases of a row (`>=0.10.1,<=0.14.0`) have a version among them; `None` where that cannot be
/// read.
fn covers(range: &str, version: &str) -> Option<bool> {
    let versions = VersionSpecifiers::from_str(range).ok()?;
    Some(versions.contains(&Version::from_str(version).ok()?))
}

fn is_yanked(universe: &Universe, package: &Package, version: &Version) -> bool {
    let rows = universe.catalog.package(package.name).into_iter().flat_map(|package| &package.rows);
    let mut yanked = rows.filter(|row| row.yanked).flat_map(|row| row.releases.keys());
    yanked.any(|one| Version::from_str(one).is_ok_and(|one| one == *version))
}

fn missing(universe: &Universe, package: &Package, version: &str) -> Explanation {
    let title = format!("{} {version}", package.name);
    let Ok(requested) = Version::from_str(version) else {
        return Explanation::new(title, format!("{version:?} is not a version."));
    };
    let (Some(newest), Some(oldest)) = (package.releases.first(), package.releases.last()) else {
        return Explanation::new(title, "The catalog has no release of it.");
    };
    let summary = if is_yanked(universe, package, &requested) {
        "Withdrawn from PyPI (yanked): pip installs it only where it is pinned exactly.".to_owned()
    } else if requested > newest.version {
        format!("Not known: the newest release in this catalog is {}.", newest.text)
    } else if requested < oldest.version {
        format!("Older than the catalog, which begins with {}.", oldest.text)
    } else if sampled(universe, package) {
        "Not known: the catalog has a sample of the releases, and this one is not in it.".to_owned()
    } else {
        "There is no such release.".to_owned()
    };
    let mut explanation = Explanation::new(title, summary);
    let before = package.releases.iter().find(|one| one.version < requested);
    let after = package.releases.iter().rev().find(|one| one.version > requested);
    for near in [after, before].into_iter().flatten() {
        explanation.alternative(format!("{}=={}", package.name, near.text));
        explanation.sources(near.source.iter());
    }
    explanation
}

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::testing::catalog;

    #[test]
    fn every_range_of_the_table_can_be_read() {
        for row in catalog().deepspeed().incompatibilities() {
            assert!(covers(&row.deepspeed, "0.14.0").is_some(), "{}", row.deepspeed);
        }
        assert_eq!(covers(">=0.10.1,<=0.14.0", "0.14.0"), Some(true));
        assert_eq!(covers(">=0.10.1,<=0.14.0", "0.9.5"), Some(false));
    }
}
