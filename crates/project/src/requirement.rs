//! One requirement (PEP 508), wherever it is written.

use std::ops::Range;

use diagnostic::visible;
use pep440_rs::{Version, VersionSpecifier, VersionSpecifiers};
use resolve::marker::{self, RequirementError, VersionOrUrl};
use resolve::parse::{is_package, is_requirement};
use resolve::torch_layer::comes_with_torch;

use crate::declared::{DeclaredBy, Dependency};
use crate::not_read::Reason;

/// What a requirement turned out to be.
#[derive(Debug)]
pub(crate) enum Parsed {
    Dependency(Dependency),
    /// It does not name versions that an index has.
    Elsewhere(Reason),
}

/// Reads a requirement without pip's options behind it.
pub(crate) fn parse(text: &str) -> Result<Parsed, RequirementError> {
    if let Some(name) = variable(text) {
        return Ok(Parsed::Elsewhere(Reason::Variable { name: name.to_owned() }));
    }
    if let Some(reason) = without_name(text) {
        return Ok(Parsed::Elsewhere(reason));
    }
    let parsed = marker::requirement(text)?;
    // It is written into files of an image: a line end in a marker would begin a line of its own there.
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if !is_requirement(&one_line) {
        return Ok(Parsed::Elsewhere(Reason::ControlCharacters));
    }
    let versions = match parsed.version_or_url {
        None => VersionSpecifiers::empty(),
        Some(VersionOrUrl::VersionSpecifier(versions)) => versions,
        Some(VersionOrUrl::Url(_)) => match wheel_of(text).filter(|_| is_checked(parsed.name.as_ref())) {
            Some(pin) => VersionSpecifiers::from(VersionSpecifier::equals_version(pin)),
            None => return Ok(Parsed::Elsewhere(address(text))),
        },
    };
    let local = versions.iter().find_map(|one| local(one.version()));
    let marker = one_line.split_once(';').map(|(_, marker)| marker.trim().to_owned());
    Ok(Parsed::Dependency(Dependency {
        name: parsed.name.to_string(),
        extras: parsed.extras.iter().map(ToString::to_string).collect(),
        versions: versions.iter().cloned().map(without_local).collect(),
        local,
        marker: marker.filter(|marker| !marker.is_empty()),
        hashes: Vec::new(),
        kind: DeclaredBy::Main,
    }))
}

/// A marker that holds where both do.
pub(crate) fn both(one: Option<&str>, other: Option<&str>) -> Option<String> {
    match (one, other) {
        (Some(one), Some(other)) if one != other => Some(format!("({one}) and ({other})")),
        (one, other) => one.or(other).map(str::to_owned),
    }
}

/// `${TOKEN}`, which pip replaces: the name of the variable.
pub(crate) fn variable(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("${")?;
    let (name, _) = rest.split_once('}')?;
    let named = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    (!name.is_empty() && name.chars().all(named)).then_some(name)
}

/// What pip installs without a name in front: a path, an address, a repository.
fn without_name(text: &str) -> Option<Reason> {
    let first = text.split([' ', ';']).next().unwrap_or_default();
    if first.contains("://") && !text.contains(" @ ") && !first.contains('@') || is_vcs(first) {
        return Some(address(first));
    }
    let is_file = first.ends_with(".whl") || first.ends_with(".tar.gz") || first.ends_with(".zip");
    let is_path = first.starts_with(['.', '/']) || first.contains('/') && !text.contains('@');
    (is_path || is_file && !first.contains('@')).then_some(Reason::Path)
}

fn is_vcs(text: &str) -> bool {
    ["git+", "hg+", "svn+", "bzr+"].iter().any(|start| text.starts_with(start))
}

/// Why the version behind an address is not known.
fn address(text: &str) -> Reason {
    let address = text.split_once('@').map_or(text, |(_, address)| address).trim_start();
    match () {
        () if is_vcs(text) || is_vcs(address) => Reason::Vcs,
        () if address.starts_with("file:") || text.starts_with("file:") => Reason::Path,
        () => Reason::Address,
    }
}

/// Whether the resolver takes a package. Of another one the address counts: an index may have a stranger's
/// package of that name and version.
fn is_checked(name: &str) -> bool {
    is_package(name) || comes_with_torch(name)
}

/// The version in the name of a wheel behind `NAME @ https://…`: it is the one that will be installed.
fn wheel_of(text: &str) -> Option<Version> {
    let (_, address) = text.split_once('@')?;
    let address = address.trim().split([' ', ';', '#', '?']).next()?;
    let file = address.rsplit('/').next()?.strip_suffix(".whl")?;
    let version = file.split('-').nth(1)?.replace("%2B", "+").replace("%2b", "+");
    version.parse().ok()
}

fn local(version: &Version) -> Option<String> {
    let parts: Vec<String> = version.local().iter().map(ToString::to_string).collect();
    (!parts.is_empty()).then(|| parts.join("."))
}

pub(crate) fn without_local(one: VersionSpecifier) -> VersionSpecifier {
    if !one.version().is_local() {
        return one;
    }
    let (operator, version) = one.into_parts();
    VersionSpecifier::from_version(operator, version.clone().without_local())
        .unwrap_or_else(|_| VersionSpecifier::equals_version(version.without_local()))
}

/// The bytes of the version specifier in a requirement: `==2.4.1` of `torch==2.4.1 ; …`.
pub(crate) fn specifier(text: &str) -> Option<Range<usize>> {
    let end = text.find(';').unwrap_or(text.len());
    let start = text[..end].find(['=', '<', '>', '!', '~'])?;
    let found = text[start..end].trim_end().trim_end_matches(')').trim_end();
    (!text[..start].contains('@')).then_some(start..start + found.len())
}

/// A requirement without the marker, and without the address that may have a login.
pub(crate) fn shown(text: &str) -> String {
    let text = text.split(';').next().unwrap_or(text);
    let text = text.split_once('@').map_or(text, |(name, _)| name);
    visible::line(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dependency(text: &str) -> Dependency {
        match parse(text).unwrap() {
            Parsed::Dependency(dependency) => dependency,
            Parsed::Elsewhere(reason) => panic!("{text}: {reason}"),
        }
    }

    #[test]
    fn names_extras_versions_and_markers() {
        let read = dependency("Flash_Attn[a,b]>=2.4,<3 ; sys_platform == 'linux'");
        assert_eq!((read.name.as_str(), read.extras.join(",")), ("flash-attn", "a,b".to_owned()));
        assert_eq!(
            (read.specifier(), read.marker.as_deref()),
            (">=2.4,<3".into(), Some("sys_platform == 'linux'"))
        );
        let read = dependency("torch == 2.4.1+cu121");
        assert_eq!((read.local.as_deref(), read.specifier()), (Some("cu121"), "==2.4.1+cu121".into()));
        assert!(read.is_pinned() && read.versions.contains(&"2.4.1".parse().unwrap()));
        assert!(!dependency("torch~=2.4.1").is_pinned() && !dependency("torch==2.4.*").is_pinned());
        assert_eq!(dependency("other<2,==1.0+abc").specifier(), "==1.0+abc,<2");
        let wheel = "torch @ https://h.example/whl/torch-2.4.1%2Bcu121-cp311-cp311-linux_x86_64.whl";
        assert_eq!(dependency(wheel).specifier(), "==2.4.1+cu121");
    }

    #[test]
    fn what_no_index_has() {
        for (text, reason) in [
            ("git+https://h.example/a.git@v1#egg=a", "version control"),
            ("a @ git+ssh://git@h.example/a.git", "version control"),
            ("https://h.example/a.tar.gz", "URL"),
            ("a @ https://user:pw@h.example/a.tar.gz", "URL"),
            ("own @ https://h.example/own-1.0-py3-none-any.whl", "URL"),
            ("./libs/a", "local path"),
            ("a @ file:///home/me/a", "local path"),
            ("a-1.0-py3-none-any.whl", "local path"),
            ("a==${VERSION}", "environment variable VERSION"),
        ] {
            match parse(text).unwrap() {
                Parsed::Elsewhere(found) => assert_eq!(found.to_string(), reason, "{text}"),
                Parsed::Dependency(found) => panic!("{text}: {found:?}"),
            }
        }
        assert!(parse("torch=2.4.1").is_err() && parse("torch 2.4.1").is_err());
    }

    #[test]
    fn a_marker_is_one_line() {
        let read = dependency("x==1 ;\n python_version\t>= '3.9'\n");
        assert_eq!(read.marker.as_deref(), Some("python_version >= '3.9'"));
        let read = dependency("x ; os_name == 'a\nRUN evil'");
        assert_eq!(read.marker.as_deref(), Some("os_name == 'a RUN evil'"));
    }

    #[test]
    fn bytes_of_the_specifier() {
        for (text, expected) in [
            ("torch==2.4.1", Some("==2.4.1")),
            ("torch[x] >=2, <3 ; python_version < '3.9'", Some(">=2, <3")),
            ("numpy (>=1.24)", Some(">=1.24")),
            ("torch", None),
            ("torch ; python_version < '3.9'", None),
            ("torch @ https://h.example/torch-2.4.1-cp311-cp311-linux_x86_64.whl#sha256=ab", None),
        ] {
            assert_eq!(specifier(text).map(|range| &text[range]), expected, "{text}");
        }
    }
}
