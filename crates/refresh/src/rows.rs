//! Rows of a package that are there, compared with the metadata of their releases: what each requires on
//! other Pythons and processors is computed again.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use pep440_rs::Version;

use crate::edit;
use crate::error::Error;
use crate::index::Index;
use crate::packages::{self, OLDEST};
use crate::page::DistFile;
use crate::release::{admits, finals};
use crate::requirements::{part, requirements};
use catalog::elsewhere::Elsewhere;
use catalog::packages::{Package, Row};

/// A file of a package with the `elsewhere` of its rows as the metadata of each release has it; rows whose
/// releases differ there are split. `newest` is the newest minor of Python 3. What else differs between
/// `requires` and the metadata was written by hand: it stays, and is among the remarks.
///
/// # Errors
///
/// The text is no file of a package.
pub fn elsewhere(
    text: &str,
    newest: u32,
    metadata: &dyn Fn(&str, &str) -> Option<String>,
) -> Result<(String, Vec<String>), Error> {
    let package: Package = serde_yaml::from_str(text)?;
    let (mut text, mut remarks) = (text.to_owned(), Vec::new());
    // From the last row on, so that the places of those before it stay.
    for (index, row) in package.rows.iter().enumerate().rev() {
        let groups = groups(&package.name, row, newest, metadata, &mut remarks);
        let replaced = edit::replace(&text, "rows", index, |old| rewritten(old, row, &groups));
        text = replaced.unwrap_or(text);
    }
    Ok((text, remarks))
}

/// The final releases of a package and their files; none where no index has it.
///
/// # Errors
///
/// The index does not answer.
pub fn releases(index: &Index, name: &str) -> Result<BTreeMap<Version, Vec<DistFile>>, Error> {
    Ok(finals(name, index.project(name)?.unwrap_or_default()))
}

/// The metadata of a release.
///
/// # Errors
///
/// The index does not answer, or has none.
pub fn metadata(index: &Index, name: &str, version: &Version, files: &[DistFile]) -> Result<String, Error> {
    packages::metadata(index, name, version, files)
}

/// Releases of a row with the same differences, and these.
type Group = (BTreeSet<String>, Vec<Elsewhere>);

fn groups(
    name: &str,
    row: &Row,
    newest: u32,
    metadata: &dyn Fn(&str, &str) -> Option<String>,
    remarks: &mut Vec<String>,
) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for release in row.releases.keys() {
        let label = format!("{name} {release}");
        let differences = match metadata(name, release).map(|text| differences(&text, row, newest)) {
            None => {
                remarks.push(format!("{label}: no metadata"));
                row.elsewhere.clone()
            }
            Some(Err(why)) => {
                remarks.push(format!("{label}: {why}"));
                row.elsewhere.clone()
            }
            Some(Ok((differences, by_hand))) => {
                if !by_hand.is_empty() {
                    remarks.push(format!("{label}: not as in the metadata: {}", by_hand.join(", ")));
                }
                differences
            }
        };
        match groups.iter_mut().find(|(_, known)| *known == differences) {
            Some((releases, _)) => drop(releases.insert(release.clone())),
            None => groups.push(([release.clone()].into(), differences)),
        }
    }
    groups.sort_by_key(|(releases, _)| releases.iter().filter_map(|text| Version::from_str(text).ok()).max());
    groups
}

/// What differs on other Pythons and processors, and the names whose requirement the row has otherwise than
/// the metadata.
fn differences(metadata: &str, row: &Row, newest: u32) -> Result<(Vec<Elsewhere>, Vec<String>), Error> {
    let pythons: Vec<u32> = match &row.pythons {
        Some(list) => list.iter().filter_map(|python| python.strip_prefix("3.")?.parse().ok()).collect(),
        None => (OLDEST..=newest).filter(|minor| admits(row.python.as_deref(), *minor)).collect(),
    };
    let everywhere = row.aarch64 == Some(true) || row.source_only;
    let (usual, mut rows) = requirements(metadata, &pythons, everywhere)?;
    let names: BTreeSet<&String> = usual.keys().chain(row.requires.keys()).collect();
    let same = |name: &&&String| same(usual.get(**name), row.requires.get(**name));
    let by_hand: Vec<String> = names.iter().filter(|name| !same(name)).map(ToString::to_string).collect();
    for one in &mut rows {
        one.requires.retain(|name, _| !by_hand.contains(name));
        one.without.retain(|name| !by_hand.contains(name));
    }
    rows.retain(|one| !one.requires.is_empty() || !one.without.is_empty());
    Ok((rows, by_hand))
}

/// Whether two requirements are the same, in whatever order their specifiers are.
fn same(one: Option<&String>, other: Option<&String>) -> bool {
    let parts = |text: &String| -> BTreeSet<String> { text.split(',').map(str::to_owned).collect() };
    one.map(parts) == other.map(parts)
}

/// The row once for each group; `None`: it has the differences already, or is in no style that is known.
fn rewritten(old: &str, row: &Row, groups: &[Group]) -> Option<String> {
    if groups.len() < 2 && groups.iter().all(|(_, differences)| *differences == row.elsewhere) {
        return None;
    }
    let parts = edit::parts(old)?;
    let named = |part: &str, name: &str| part.strip_prefix(name).is_some_and(|rest| rest.starts_with(':'));
    let rows = groups.iter().map(|(releases, differences)| {
        let mut own: Vec<String> = Vec::new();
        for old in &parts {
            match old {
                old if named(old, "releases") => own.push(some_of(row, releases)),
                old if named(old, "elsewhere") => {}
                old => {
                    let differences = named(old, "requires").then(|| part(differences)).flatten();
                    own.push(old.clone());
                    own.extend(differences);
                }
            }
        }
        if !own.iter().any(|one| named(one, "elsewhere")) {
            // It requires nothing on the usual Python and processor.
            let at = own.iter().position(|one| named(one, "source")).unwrap_or(own.len());
            own.splice(at..at, part(differences));
        }
        edit::flow(&own)
    });
    Some(rows.collect())
}

/// Some releases of a row and their days.
fn some_of(row: &Row, releases: &BTreeSet<String>) -> String {
    let mut some: BTreeMap<Option<Version>, String> = BTreeMap::new();
    for (release, day) in row.releases.iter().filter(|(release, _)| releases.contains(*release)) {
        let day = if day.is_empty() { "\"\"" } else { day };
        some.insert(Version::from_str(release).ok(), format!("{}: {day}", edit::quoted(release)));
    }
    format!("releases: {{{}}}", some.into_values().collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"# About it.
name: x
summary: a package
checked: 2026-11-21
sample: false
rows:
- {releases: {"1.0": 2026-01-01}, python: ">=3.9", aarch64: true, requires: {torch: "==2.8.0"}, source: [i]}
# The newest.
- {releases: {"1.1": 2026-02-01, "1.2": 2026-03-01}, python: ">=3.11", aarch64: true,
   requires: {numpy: "<2.4", torch: "==2.9.0", xformers: "==0.0.33"}, source: ["an index, read"]}
"#;

    fn metadata(_name: &str, release: &str) -> Option<String> {
        let own = match release {
            "1.0" => "Requires-Dist: torch==2.8.0\n",
            "1.1" => "Requires-Dist: torch==2.9.0\nRequires-Dist: xformers==0.0.33\nRequires-Dist: numpy\n",
            _ => {
                "Requires-Dist: torch==2.9.0\nRequires-Dist: numpy\n\
                 Requires-Dist: xformers==0.0.33; platform_machine == 'x86_64'\n"
            }
        };
        Some(own.to_owned())
    }

    #[test]
    fn rows_get_what_differs_elsewhere() {
        let (text, remarks) = elsewhere(TEXT, 13, &metadata).unwrap();
        assert_eq!(remarks, ["x 1.1: not as in the metadata: numpy", "x 1.2: not as in the metadata: numpy"]);
        let package: Package = serde_yaml::from_str(&text).unwrap();
        let rows: Vec<(String, usize)> = package
            .rows
            .iter()
            .map(|row| (row.releases.keys().cloned().collect::<Vec<_>>().join(" "), row.elsewhere.len()))
            .collect();
        assert_eq!(rows, [("1.0".to_owned(), 0), ("1.1".to_owned(), 0), ("1.2".to_owned(), 1)]);
        assert_eq!(package.rows[2].requirement("xformers", Some("3.12"), Some("aarch64")), None);
        assert_eq!(package.rows[2].requires["numpy"], "<2.4", "what was written by hand stays");
        assert!(text.contains("# The newest.\n- {releases: {\"1.1\""), "{text}");
        assert_eq!(elsewhere(&text, 13, &metadata).unwrap().0, text, "a second time nothing changes");
    }

    #[test]
    fn what_has_no_metadata_stays() {
        let (text, remarks) = elsewhere(TEXT, 13, &|_, _| None).unwrap();
        assert_eq!((text.as_str(), remarks.len()), (TEXT, 3));
    }
}
