//! Reading one catalog file.

use std::collections::BTreeMap;

use serde::{Deserialize, de::DeserializeOwned};

use super::cache;

/// A row that names its source.
pub(super) trait Row {
    /// The row's source and the day on which it was checked.
    fn provenance(&mut self) -> (&mut String, &mut String);
}

/// Implements [`Row`] for rows with the fields `source` and `checked`.
macro_rules! rows {
    ($($row:ty),+ $(,)?) => {$(
        impl $crate::file::Row for $row {
            fn provenance(&mut self) -> (&mut String, &mut String) {
                (&mut self.source, &mut self.checked)
            }
        }
    )+};
}
pub(super) use rows;

/// A file with one table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table<R> {
    checked: String,
    #[serde(default)]
    sources: Sources,
    rows: Vec<R>,
}

/// Sources that many rows share, by a short key.
pub(super) type Sources = BTreeMap<String, String>;

/// The rows of a file with one table.
pub(super) fn table<R: Row + DeserializeOwned>(name: &str, embedded: &'static str) -> Vec<R> {
    let mut table: Table<R> = parse(name, embedded);
    complete(&mut table.rows, &table.checked, &table.sources);
    table.rows
}

/// Parses a file: the newest of the embedded one and a cached one.
///
/// # Panics
/// When the file is not what its type says. The embedded files are part of the program and a test reads each
/// of them; a cached one was held to the same rules before it came here.
pub(super) fn parse<T: DeserializeOwned>(name: &str, embedded: &'static str) -> T {
    let read = match (cache::cached(name, embedded), json(name)) {
        (None, Some(json)) => serde_json::from_str(json).map_err(|error| error.to_string()),
        (cached, _) => serde_yaml::from_str(cached.unwrap_or(embedded)).map_err(|error| error.to_string()),
    };
    match read {
        Ok(file) => file,
        Err(error) => panic!("catalog/{name}: {error}"),
    }
}

/// An embedded file as JSON, which `build/` made of its YAML.
fn json(name: &str) -> Option<&'static str> {
    static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/catalog.rs"));
    FILES.binary_search_by(|(known, _)| (*known).cmp(name)).ok().map(|place| FILES[place].1)
}

/// Writes sources out in full and fills in the day.
pub(super) fn complete<R: Row>(rows: &mut [R], day: &str, sources: &Sources) {
    for row in rows {
        let (source, checked) = row.provenance();
        if checked.is_empty() {
            day.clone_into(checked);
        }
        *source = in_full(source, sources);
    }
}

/// A source with its keys written out.
pub(super) fn in_full(source: &str, sources: &Sources) -> String {
    let parts: Vec<&str> =
        source.split("; ").map(|part| sources.get(part).map_or(part, String::as_str)).collect();
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::super::embedded;
    use super::json;

    #[test]
    fn every_file_is_there_as_json() {
        for file in embedded::all() {
            let json: serde_json::Value = serde_json::from_str(json(&file.name).expect(&file.name)).unwrap();
            let yaml: serde_json::Value = serde_yaml::from_str(file.text).unwrap();
            assert_eq!(json, yaml, "{}", file.name);
        }
    }
}
