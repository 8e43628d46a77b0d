//! New releases of the packages that have a file of their own.

use std::collections::BTreeMap;
use std::str::FromStr;

use pep440_rs::Version;

use crate::error::Error;
use crate::index::Index;
use crate::page::DistFile;
use catalog::packages::{Package, Row};

use super::edit::{flow, list, quoted};
use super::release::{Python, admits, finals, headers, python_specifier, wheels};
use super::requirements::{self, requirements};
use super::{Candidate, News};

/// The oldest Python that requirements are looked at for.
pub(crate) const OLDEST: u32 = 7;

/// The releases of a package that `base` does not have.
pub(super) fn news(index: &Index<'_>, base: &str, today: &str, newest: u32) -> Result<News, Error> {
    let package: Package = serde_yaml::from_str(base)?;
    let files = index.project(&package.name)?.ok_or_else(|| Error::NoProject(package.name.clone()))?;
    let all = finals(&package.name, files);
    let known = known(&package);
    let bound = if package.sample { known.keys().next_back() } else { known.keys().next() };
    let mut news = News::default();
    let mut rows: Vec<Row> = Vec::new();
    for (version, files) in &all {
        if let Some(row) = known.get(version) {
            if files.iter().all(|file| file.yanked) && !row.yanked {
                news.notes.push(format!("{version} was yanked; the catalog still offers it"));
            }
            continue;
        }
        if bound.is_some_and(|bound| version < bound) || !version.local().is_empty() {
            continue;
        }
        match row(index, &package.name, version, files, today, newest) {
            Ok(row) => {
                let day = files.iter().filter_map(|file| file.uploaded.clone()).min();
                let day = day.or_else(|| index.day(&package.name, &version.to_string())).unwrap_or_default();
                match rows.last_mut() {
                    Some(last) if Row { releases: BTreeMap::new(), ..last.clone() } == row => {
                        last.releases.insert(version.to_string(), day);
                    }
                    _ => rows.push(Row { releases: [(version.to_string(), day)].into(), ..row }),
                }
            }
            Err(why) => news.notes.push(format!("{version}: no row added: {why}")),
        }
    }
    news.rows = rows.iter().map(candidate).collect();
    Ok(news)
}

fn known(package: &Package) -> BTreeMap<Version, &Row> {
    let releases = package.rows.iter().flat_map(|row| row.releases.keys().map(move |release| (release, row)));
    releases.filter_map(|(release, row)| Some((Version::from_str(release).ok()?, row))).collect()
}

/// What an index tells of one release; the release itself and its day are left out.
fn row(
    index: &Index<'_>,
    name: &str,
    version: &Version,
    files: &[DistFile],
    today: &str,
    newest: u32,
) -> Result<Row, Error> {
    let declared = files.iter().find_map(|file| file.requires_python.as_deref());
    let python = declared.map(python_specifier).transpose()?;
    let x86 = wheels(files, "x86_64", newest);
    let admitted = |python: &Python| admits(declared, python.0);
    let pythons: Vec<Python> = x86.pythons.keys().copied().filter(|python| admitted(python)).collect();
    let compiled = !x86.pure && x86.every.is_none() && !pythons.is_empty();
    let supported: Vec<u32> = match compiled {
        true => pythons.iter().filter(|python| !python.1).map(|python| python.0).collect(),
        false => (OLDEST..=newest).filter(|minor| admits(declared, *minor)).collect(),
    };
    let glibc = match x86.pure {
        true => None,
        false => {
            pythons.iter().filter_map(|python| x86.pythons[python]).max().or_else(|| x86.every.flatten())
        }
    };
    let metadata = metadata(index, name, version, files)?;
    let aarch64 = wheels(files, "aarch64", newest).any();
    let (requires, elsewhere) = requirements(&metadata, &supported, aarch64 || !x86.any())?;
    Ok(Row {
        releases: BTreeMap::new(),
        python,
        pythons: compiled.then(|| pythons.iter().map(ToString::to_string).collect()),
        glibc: glibc.map(|(major, minor)| format!("{major}.{minor}")),
        source_only: !x86.any(),
        aarch64: Some(aarch64),
        requires,
        elsewhere,
        yanked: files.iter().all(|file| file.yanked),
        note: None,
        source: vec![format!("package index: metadata and file list of {name}")].into(),
        checked: today.to_owned(),
    })
}

/// The metadata of a release: of the wheel that most people get, or of the source distribution where there is
/// no wheel.
pub(super) fn metadata(
    index: &Index<'_>,
    name: &str,
    version: &Version,
    files: &[DistFile],
) -> Result<String, Error> {
    let fits = |file: &&DistFile| {
        file.name.ends_with("-any.whl") || (file.name.ends_with("x86_64.whl") && file.name.contains("linux"))
    };
    let wheel = files.iter().filter(fits).max_by_key(|file| file.name.as_str());
    let text = match wheel {
        Some(wheel) => index.metadata(wheel)?,
        None => {
            let source = files.iter().find(|file| file.name.ends_with(".tar.gz"));
            index.source_metadata(source.ok_or(Error::NoDistribution)?)?
        }
    };
    let declared = headers(&text, "Version").next().and_then(|text| Version::from_str(text).ok());
    match declared {
        Some(declared) if declared.release() == version.release() => Ok(text),
        _ => Err(Error::OtherMetadata { name: name.to_owned(), version: version.to_string() }),
    }
}

/// The row as it is written.
fn candidate(row: &Row) -> Candidate {
    let mut ordered: Vec<(&String, &String)> = row.releases.iter().collect();
    ordered.sort_by_key(|(version, _)| Version::from_str(version).ok());
    let release = |(version, day): &(&String, &String)| {
        let day = if day.is_empty() { "\"\"" } else { day };
        format!("{}: {day}", quoted(version))
    };
    let mut releases: Vec<String> = ordered.iter().map(release).collect();
    if let Some(first) = releases.first_mut() {
        first.insert_str(0, "releases: {");
    }
    if let Some(last) = releases.last_mut() {
        last.push('}');
    }
    let mut parts = releases;
    parts.extend(row.python.as_ref().map(|text| format!("python: {}", quoted(text))));
    parts.extend(row.pythons.as_ref().map(|pythons| format!("pythons: {}", list(pythons))));
    parts.extend(row.glibc.as_ref().map(|text| format!("glibc: {}", quoted(text))));
    parts.extend(row.source_only.then(|| "source_only: true".to_owned()));
    parts.extend(row.aarch64.map(|there| format!("aarch64: {there}")));
    if !row.requires.is_empty() {
        let requires = row.requires.iter().map(|(name, text)| format!("{name}: {}", quoted(text)));
        parts.push(format!("requires: {{{}}}", requires.collect::<Vec<_>>().join(", ")));
    }
    parts.extend(requirements::part(&row.elsewhere));
    parts.extend(row.yanked.then(|| "yanked: true".to_owned()));
    parts.extend(row.note.as_ref().map(|text| format!("note: {}", quoted(text))));
    let sources: Vec<String> = row.source.iter().map(str::to_owned).collect();
    parts.push(format!("source: {}", list(&sources)));
    parts.push(format!("checked: {}", row.checked));
    let key = ordered.iter().map(|(version, _)| version.as_str()).collect::<Vec<_>>().join(", ");
    Candidate { key, table: "rows", index: usize::MAX, row: flow(&parts), adds_to: None }
}
