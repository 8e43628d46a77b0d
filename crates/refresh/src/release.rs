//! What an index tells of one release: its wheels for Linux, its requirements.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use pep440_rs::{Operator, Version, VersionSpecifiers};
use pep508_rs::{ExtraName, VersionOrUrl};

use crate::error::Error;
use crate::page::DistFile;

/// Final releases of a project and their files; release candidates and the like are left out.
pub(crate) fn finals(project: &str, files: Vec<DistFile>) -> BTreeMap<Version, Vec<DistFile>> {
    let mut releases: BTreeMap<Version, Vec<DistFile>> = BTreeMap::new();
    for file in files {
        if let Some(version) = version_of(project, &file.name).filter(|version| !version.any_prerelease()) {
            releases.entry(version).or_default().push(file);
        }
    }
    releases
}

/// The version in a file's name.
fn version_of(project: &str, name: &str) -> Option<Version> {
    let text = match name.strip_suffix(".whl") {
        Some(wheel) => wheel.split('-').nth(1)?,
        None => {
            let stem = name.strip_suffix(".tar.gz").or_else(|| name.strip_suffix(".zip"))?;
            let (own, version) = stem.rsplit_once('-')?;
            (normalised(own) == project).then_some(version)?
        }
    };
    Version::from_str(text).ok()
}

/// A project's name as indexes write it.
pub(crate) fn normalised(name: &str) -> String {
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").to_lowercase()
}

/// The wheels of a release for one architecture.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Wheels {
    /// Python (`3.12`, `3.13t`) → the glibc that its wheel asks for; of several the lowest. `None`: the tag
    /// does not say.
    pub pythons: BTreeMap<Python, Option<(u32, u32)>>,
    /// Whether one wheel of compiled code serves every Python, and its glibc.
    pub every: Option<Option<(u32, u32)>>,
    /// Whether there is a wheel without compiled code.
    pub pure: bool,
}

/// A Python: minor, and whether it is the one without the global lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Python(pub u32, pub bool);

impl std::fmt::Display for Python {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "3.{}{}", self.0, if self.1 { "t" } else { "" })
    }
}

/// The wheels among some files for an architecture (`x86_64`, `aarch64`). `newest` is the newest Python there
/// is: wheels for the stable ABI serve all up to it.
pub(crate) fn wheels(files: &[DistFile], architecture: &str, newest: u32) -> Wheels {
    let mut wheels = Wheels::default();
    for file in files {
        let Some(stem) = file.name.strip_suffix(".whl") else { continue };
        let mut tags = stem.rsplit('-');
        let (Some(platforms), Some(abis), Some(interpreters)) = (tags.next(), tags.next(), tags.next())
        else {
            continue;
        };
        if platforms.split('.').any(|platform| platform == "any") {
            wheels.pure = true;
            continue;
        }
        let glibcs: Vec<Option<(u32, u32)>> =
            platforms.split('.').filter_map(|platform| glibc(platform, architecture)).collect();
        let Some(glibc) = glibcs.into_iter().min() else { continue };
        for interpreter in interpreters.split('.') {
            for abi in abis.split('.') {
                wheels.add(interpreter, abi, glibc, newest);
            }
        }
    }
    wheels
}

impl Wheels {
    fn add(&mut self, interpreter: &str, abi: &str, glibc: Option<(u32, u32)>, newest: u32) {
        let lowest = |known: Option<Option<(u32, u32)>>| Some(known.map_or(glibc, |known| known.min(glibc)));
        if interpreter.starts_with("py3") && abi == "none" {
            self.every = lowest(self.every);
            return;
        }
        let Some(minor) = interpreter.strip_prefix("cp3").and_then(|minor| minor.parse().ok()) else {
            return;
        };
        let pythons = match abi {
            "abi3" => (minor..=newest).map(|minor| Python(minor, false)).collect(),
            _ => vec![Python(minor, abi.ends_with('t'))],
        };
        for python in pythons {
            let known = self.pythons.get(&python).copied();
            self.pythons.insert(python, lowest(known).flatten());
        }
    }

    pub(crate) fn any(&self) -> bool {
        self.pure || self.every.is_some() || !self.pythons.is_empty()
    }
}

/// The glibc of a platform tag; the outer `None` where the tag is for something else.
fn glibc(platform: &str, architecture: &str) -> Option<Option<(u32, u32)>> {
    let kind = platform.strip_suffix(architecture)?.strip_suffix('_')?;
    match kind {
        "linux" => Some(None),
        "manylinux1" => Some(Some((2, 5))),
        "manylinux2010" => Some(Some((2, 12))),
        "manylinux2014" => Some(Some((2, 17))),
        _ => {
            let (major, minor) = kind.strip_prefix("manylinux_")?.split_once('_')?;
            Some(Some((major.parse().ok()?, minor.parse().ok()?)))
        }
    }
}

/// The values of a header of METADATA.
pub(crate) fn headers<'m>(metadata: &'m str, name: &'m str) -> impl Iterator<Item = &'m str> {
    let head = metadata.split("\n\n").next().unwrap_or_default();
    head.lines().filter_map(move |line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim()))
}

/// What a release requires on Linux with this CPython and processor, no extra asked for: name → specifiers.
/// What cannot be parsed is an error: leaving it out would say that nothing is required.
pub(crate) fn requires(
    metadata: &str,
    python: u32,
    architecture: &str,
) -> Result<BTreeMap<String, String>, Error> {
    let environment = resolve::marker::environment(python, architecture)?;
    let mut requires: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for text in headers(metadata, "Requires-Dist") {
        let requirement = resolve::marker::requirement(text)
            .map_err(|error| Error::Requirement { text: text.to_owned(), reason: error.to_string() })?;
        if !requirement.marker.evaluate(&environment, &[] as &[ExtraName]) {
            continue;
        }
        let specifiers = requires.entry(requirement.name.to_string()).or_default();
        if let Some(VersionOrUrl::VersionSpecifier(versions)) = requirement.version_or_url {
            specifiers.extend(versions.iter().map(ToString::to_string));
        }
    }
    Ok(requires.into_iter().map(|(name, parts)| (name, specifier(&parts))).collect())
}

/// Specifiers in one way of writing: lower bounds first.
fn specifier(parts: &BTreeSet<String>) -> String {
    const RANK: &[&str] = &[">=", ">", "~=", "==", "!=", "<=", "<"];
    let mut parts: Vec<String> = parts.iter().map(|part| part.replace(' ', "")).collect();
    parts.sort_by_key(|part| (RANK.iter().position(|operator| part.starts_with(operator)), part.clone()));
    parts.join(",")
}

/// `Requires-Python` in that way of writing.
pub(crate) fn python_specifier(text: &str) -> Result<String, Error> {
    let specifiers = VersionSpecifiers::from_str(text)?;
    Ok(specifier(&specifiers.iter().map(ToString::to_string).collect()))
}

/// Whether a release admits some version of Python 3.`minor`.
pub(crate) fn admits(requires_python: Option<&str>, minor: u32) -> bool {
    let Some(specifiers) = requires_python.and_then(|text| VersionSpecifiers::from_str(text).ok()) else {
        return true;
    };
    [0_u64, 5, 30].iter().any(|patch| specifiers.contains(&Version::new([3, u64::from(minor), *patch])))
}

/// The version that a specifier pins: `==2.21.5`.
pub(crate) fn pinned(specifier: &str) -> Option<String> {
    let specifiers = VersionSpecifiers::from_str(specifier).ok()?;
    let mut pins = specifiers.iter().filter(|one| *one.operator() == Operator::Equal);
    pins.next().map(|one| one.version().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> DistFile {
        DistFile { name: name.into(), ..DistFile::default() }
    }

    #[test]
    fn versions_of_files() {
        let names = [
            "flash_attn-2.8.3.tar.gz",
            "flash-attn-2.8.2.tar.gz",
            "flash_attn-3.0.0rc1-py3-none-any.whl",
            "torch-2.5.1+cu121-cp312-cp312-linux_x86_64.whl",
            "flash_attn-2.8.3-py3-none-any.whl",
            "flash_attn-2.8.3.exe",
            "other-1.0.tar.gz",
        ];
        let finals = finals("flash-attn", names.iter().map(|name| file(name)).collect());
        let counts: Vec<(String, usize)> =
            finals.iter().map(|(v, files)| (v.to_string(), files.len())).collect();
        assert_eq!(counts, [("2.5.1+cu121".into(), 1), ("2.8.2".into(), 1), ("2.8.3".into(), 2)]);
    }

    #[test]
    fn tags_of_wheels() {
        let names = [
            "x-1-cp312-cp312-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl",
            "x-1-cp313-cp313t-manylinux_2_28_x86_64.whl",
            "x-1-cp312-cp312-manylinux2014_x86_64.whl",
            "x-1-cp312-cp312-musllinux_1_2_x86_64.whl",
            "x-1-cp312-cp312-win_amd64.whl",
            "x-1-cp314-cp314-manylinux_2_28_aarch64.whl",
            "x-1-pp310-pypy310_pp73-manylinux_2_28_x86_64.whl",
            "x-1.tar.gz",
        ];
        let files: Vec<DistFile> = names.iter().map(|name| file(name)).collect();
        let x86 = wheels(&files, "x86_64", 15);
        let pythons: Vec<String> = x86.pythons.keys().map(ToString::to_string).collect();
        assert_eq!(pythons, ["3.12", "3.13t"]);
        assert_eq!(x86.pythons[&Python(12, false)], Some((2, 17)));
        assert!(!x86.pure && x86.every.is_none());
        assert!(wheels(&files, "aarch64", 15).any());
        let stable = wheels(&[file("x-1-cp39-abi3-manylinux_2_17_x86_64.whl")], "x86_64", 15);
        assert_eq!(stable.pythons.len(), 7);
        let every = wheels(&[file("x-1-py3-none-manylinux_2_24_x86_64.whl")], "x86_64", 15);
        assert_eq!(every.every, Some(Some((2, 24))));
        assert!(wheels(&[file("x-1-py3-none-any.whl")], "x86_64", 15).pure);
        assert!(!wheels(&[file("x-1.tar.gz")], "x86_64", 15).any());
    }

    #[test]
    fn requirements_where_their_markers_hold() {
        let metadata = "Metadata-Version: 2.4\nName: x\n\
            Requires-Dist: torch>=2.0.0\nRequires-Dist: numpy<3.0.0,>=1.17\nRequires-Dist: pywin32; \
            sys_platform == \"win32\"\n\
            Requires-Dist: pytest; extra == \"dev\"\nRequires-Dist: triton (==3.1.0) ; platform_system \
            == \"Linux\" and python_version < \"3.13\"\n\
            \nRequires-Dist: not-a-header\n";
        let on_312 = requires(metadata, 12, "x86_64").unwrap();
        let expected = [("numpy", ">=1.17,<3.0.0"), ("torch", ">=2.0.0"), ("triton", "==3.1.0")];
        assert_eq!(on_312.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect::<Vec<_>>(), expected);
        assert!(!requires(metadata, 13, "aarch64").unwrap().contains_key("triton"));
        assert!(requires("Requires-Dist: ==nothing\n", 12, "x86_64").is_err());
        assert_eq!(pinned("==3.1.0").as_deref(), Some("3.1.0"));
        assert_eq!(pinned(">=3.1.0"), None);
        assert!(admits(Some(">=3.10,<3.15"), 14) && !admits(Some(">=3.10,<3.15"), 15) && admits(None, 3));
    }
}
