//! What a release requires of packages of the catalog, on every Python and processor that it supports.

use std::collections::{BTreeMap, BTreeSet};

use crate::edit::{list, quoted};
use crate::error::Error;
use crate::release::requires;
use catalog::elsewhere::Elsewhere;
use catalog::packages;

/// Package → specifier.
type Requires = BTreeMap<String, String>;

/// The processor for which rows are made, and the other one.
const USUAL: &str = "x86_64";
const OTHER: &str = "aarch64";

/// Requirements on the newest of some Pythons (their minors, in order) on x86_64, and how they differ on the
/// others, and on aarch64 if the release is installed `everywhere`.
///
/// # Errors
///
/// A requirement cannot be read.
pub fn requirements(
    metadata: &str,
    pythons: &[u32],
    everywhere: bool,
) -> Result<(Requires, Vec<Elsewhere>), Error> {
    let names: BTreeSet<&str> =
        packages::names().chain(["torch", "torchvision", "torchaudio", "deepspeed"]).collect();
    let on = |minor: u32, architecture: &str| -> Result<Requires, Error> {
        let all = requires(metadata, minor, architecture)?;
        Ok(all.into_iter().filter(|(name, _)| names.contains(name.as_str())).collect())
    };
    let Some(newest) = pythons.last() else { return Ok((Requires::new(), Vec::new())) };
    let usual = on(*newest, USUAL)?;
    // The environments of each difference.
    let mut differing: BTreeMap<Difference, BTreeSet<(&str, u32)>> = BTreeMap::new();
    for minor in pythons {
        for architecture in [USUAL].into_iter().chain(everywhere.then_some(OTHER)) {
            let here = on(*minor, architecture)?;
            let without: Vec<String> =
                usual.keys().filter(|name| !here.contains_key(*name)).cloned().collect();
            let more: Requires =
                here.into_iter().filter(|(name, text)| usual.get(name) != Some(text)).collect();
            if !more.is_empty() || !without.is_empty() {
                differing.entry((more, without)).or_default().insert((architecture, *minor));
            }
        }
    }
    let rows =
        differing.into_iter().flat_map(|((requires, without), environments)| {
            places(pythons, everywhere, &environments).into_iter().map(move |(pythons, architecture)| {
                Elsewhere { pythons, architecture, requires: requires.clone(), without: without.clone() }
            })
        });
    let mut rows: Vec<Elsewhere> = rows.collect();
    let oldest = |row: &Elsewhere| -> Option<u32> { row.pythons.as_ref()?.first()?.get(2..)?.parse().ok() };
    rows.sort_by_key(|row| (row.architecture.clone(), oldest(row)));
    Ok((usual, rows))
}

/// What is required in other versions or in addition, and what is not required.
type Difference = (Requires, Vec<String>);

/// Pythons and processor of one or more [`Elsewhere`].
type Place = (Option<Vec<String>>, Option<String>);

/// Environments as few places: those on both processors, then the others of each.
fn places(pythons: &[u32], everywhere: bool, environments: &BTreeSet<(&str, u32)>) -> Vec<Place> {
    let on = |architecture, minor: &u32| environments.contains(&(architecture, *minor));
    let text =
        |minors: Vec<&u32>| -> Vec<String> { minors.iter().map(|minor| format!("3.{minor}")).collect() };
    let both: Vec<&u32> =
        pythons.iter().filter(|minor| on(USUAL, minor) && (!everywhere || on(OTHER, minor))).collect();
    let mut places = Vec::new();
    for architecture in [USUAL, OTHER] {
        let only: Vec<&u32> =
            pythons.iter().filter(|minor| on(architecture, minor) && !both.contains(minor)).collect();
        if !only.is_empty() {
            let every = only.len() == pythons.len();
            places.push(((!every).then(|| text(only)), Some(architecture.to_owned())));
        }
    }
    // The newest Python on x86_64 has no difference: this is never every Python.
    if !both.is_empty() {
        places.insert(0, (Some(text(both)), None));
    }
    places
}

/// The differences as a part of a row; `None`: there are none.
pub(crate) fn part(rows: &[Elsewhere]) -> Option<String> {
    let one = |row: &Elsewhere| {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(row.pythons.as_ref().map(|pythons| format!("pythons: {}", list(pythons))));
        parts.extend(row.architecture.as_ref().map(|name| format!("architecture: {name}")));
        if !row.requires.is_empty() {
            let requires = row.requires.iter().map(|(name, text)| format!("{name}: {}", quoted(text)));
            parts.push(format!("requires: {{{}}}", requires.collect::<Vec<_>>().join(", ")));
        }
        if !row.without.is_empty() {
            parts.push(format!("without: [{}]", row.without.join(", ")));
        }
        format!("{{{}}}", parts.join(", "))
    };
    let all = rows.iter().map(one).collect::<Vec<_>>().join(", ");
    (!rows.is_empty()).then(|| format!("elsewhere: [{all}]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: &str = "Metadata-Version: 2.4\nName: x\nRequires-Dist: torch==2.8.0\n\
        Requires-Dist: numba==0.60.0; python_version == \"3.9\"\n\
        Requires-Dist: numba==0.61.2; python_version > \"3.9\"\n\
        Requires-Dist: setuptools; python_version > \"3.11\"\n\
        Requires-Dist: xformers==0.0.32.post1; platform_machine == \"x86_64\"\n\
        Requires-Dist: aiohttp; platform_machine == \"aarch64\"\n";

    fn written(everywhere: bool) -> String {
        let (usual, rows) = requirements(METADATA, &[9, 10, 11, 12], everywhere).unwrap();
        let names: Vec<&str> = usual.keys().map(String::as_str).collect();
        assert_eq!(names, ["numba", "setuptools", "torch", "xformers"]);
        part(&rows).unwrap()
    }

    #[test]
    fn requirements_differ_by_python() {
        let expected = "elsewhere: [{pythons: [\"3.9\"], requires: {numba: \"==0.60.0\"}, \
            without: [setuptools]}, \
            {pythons: [\"3.10\", \"3.11\"], without: [setuptools]}]";
        assert_eq!(written(false), expected);
    }

    #[test]
    fn requirements_differ_by_processor() {
        let text = written(true);
        assert!(text.contains("{pythons: [\"3.12\"], architecture: aarch64, without: [xformers]}"), "{text}");
        let rows: Vec<Elsewhere> = serde_yaml::from_str(text.strip_prefix("elsewhere: ").unwrap()).unwrap();
        for (python, architecture, without) in [
            ("3.12", "x86_64", &[][..]),
            ("3.12", "aarch64", &["xformers"][..]),
            ("3.11", "aarch64", &["setuptools", "xformers"][..]),
            ("3.11", "x86_64", &["setuptools"][..]),
        ] {
            let here = rows.iter().filter(|row| row.covers(Some(python), Some(architecture)) == Some(true));
            let found: Vec<&str> = here.flat_map(|row| row.without.iter().map(String::as_str)).collect();
            assert_eq!(found, without, "{python} {architecture}");
        }
        assert_eq!(part(&[]), None);
        let same = requirements("Requires-Dist: torch\n", &[9, 12], true).unwrap();
        assert_eq!(same.1, []);
    }

    #[test]
    fn every_python_of_a_processor_is_one_row() {
        let metadata = "Requires-Dist: xformers; platform_machine == 'x86_64'\n";
        let (_, rows) = requirements(metadata, &[9, 12], true).unwrap();
        assert_eq!(part(&rows).unwrap(), "elsewhere: [{architecture: aarch64, without: [xformers]}]");
    }
}
