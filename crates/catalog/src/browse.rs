//! Looking rows up by name, whatever file they are in: every fact can be shown with its source.

use std::borrow::Cow;
use std::path::PathBuf;

use serde::Serialize;
use serde_yaml::Value;

use super::catalog::Catalog;
use super::embedded::{self, File, Table};
use super::version::compare;
use super::{cache, rules};

/// A file and where its text comes from.
#[derive(Debug, Clone, Serialize)]
pub struct InUse {
    /// `torch.yaml`.
    pub file: String,
    /// How many rows it has.
    pub rows: usize,
    /// The newest day on which one of them was checked.
    pub checked: String,
    /// The cached file; `None` where the embedded text is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<PathBuf>,
}

/// One row, its source written out and its day filled in.
#[derive(Debug, Clone, Serialize)]
pub struct Shown {
    /// The file: `torch.yaml`.
    pub file: String,
    /// The table in it: `rows`.
    pub table: &'static str,
    /// What names the row: `2.5.1`.
    pub key: String,
    /// Its fields.
    pub row: Value,
}

/// The text that is used for a file.
pub fn text(catalog: &Catalog, file: &File) -> Cow<'static, str> {
    let newer = catalog.cache().and_then(|cache| cache.newer(&file.name, file.text));
    newer.map_or(Cow::Borrowed(file.text), |text| text.to_string().into())
}

/// Every file with its size, day and origin.
pub fn files(catalog: &Catalog) -> Vec<InUse> {
    embedded::all().map(|file| in_use(catalog, &file)).collect()
}

/// One file with its size, day and origin.
pub fn in_use(catalog: &Catalog, file: &File) -> InUse {
    let text = text(catalog, file);
    let cached = catalog.cache().filter(|cache| cache.newer(&file.name, file.text).is_some());
    InUse {
        file: file.name.to_string(),
        rows: rows(catalog, file).len(),
        checked: cache::newest_day(&text).unwrap_or_default().to_owned(),
        cached: cached.map(|cache| cache.dir().join(&*file.name)),
    }
}

/// The file that is meant: `torch`, `torch.yaml`, `packages/transformers`, `transformers`.
pub fn file(name: &str) -> Option<File> {
    let name = name.trim().trim_end_matches(".yaml").to_lowercase();
    let full = |file: &File| file.name.trim_end_matches(".yaml") == name;
    let last = |file: &File| {
        file.name.trim_end_matches(".yaml").rsplit('/').next() == Some(name.replace('_', "-").as_str())
    };
    embedded::all().find(full).or_else(|| embedded::all().find(last))
}

pub fn rows(catalog: &Catalog, file: &File) -> Vec<Shown> {
    // The text was read by the rules or by a test.
    let whole: Value = serde_yaml::from_str(&text(catalog, file)).unwrap_or_default();
    let shown = |table: &'static Table, row: &Value| Shown {
        file: file.name.to_string(),
        table: table.name,
        key: rules::key(table, row),
        row: complete(row, &whole),
    };
    let of = |table: &'static Table| {
        let rows = whole[table.name].as_sequence().cloned().unwrap_or_default();
        rows.iter().map(|row| shown(table, row)).collect::<Vec<_>>()
    };
    file.tables.iter().flat_map(of).collect()
}

/// A row with its sources written out as one text, and with the day and the source of its file where it has
/// none of its own.
fn complete(row: &Value, whole: &Value) -> Value {
    let mut row = row.clone();
    write_out(&mut row, whole);
    if let Some(fields) = row.as_mapping_mut() {
        if !fields.contains_key("source") {
            fields.insert("source".into(), rules::in_full(&whole["source"], whole).to_string().into());
        }
        if let (false, Some(day)) = (fields.contains_key("checked"), whole["checked"].as_str()) {
            fields.insert("checked".into(), day.into());
        }
    }
    row
}

fn write_out(value: &mut Value, whole: &Value) {
    match value {
        Value::Sequence(list) => list.iter_mut().for_each(|value| write_out(value, whole)),
        Value::Mapping(map) => {
            for (name, value) in map.iter_mut() {
                match value {
                    Value::Sequence(_) if name.as_str() == Some("source") => {
                        *value = rules::in_full(value, whole).to_string().into();
                    }
                    _ => write_out(value, whole),
                }
            }
        }
        _ => {}
    }
}

/// The rows that a key means: the same, else the same version or spelling, else the only one that contains
/// it.
pub fn find(rows: &[Shown], key: &str) -> Vec<Shown> {
    let key = key.trim();
    let lower = key.to_lowercase();
    let tests: [&dyn Fn(&str) -> bool; 3] = [
        &|name| name == key,
        &|name| name.to_lowercase() == lower || compare(name, key).is_some_and(|order| order.is_eq()),
        &|name| name.to_lowercase().contains(&lower),
    ];
    for test in tests {
        let found: Vec<Shown> =
            rows.iter().filter(|row| names(row).iter().any(|name| test(name))).cloned().collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// Everything that a row answers to: its key, or each of its releases; other names that it has.
pub fn names(row: &Shown) -> Vec<String> {
    let mut names = match row.row["releases"].as_mapping() {
        Some(releases) => releases.keys().filter_map(rules::scalar).collect(),
        None => vec![row.key.clone()],
    };
    for field in ["aliases", "patterns"] {
        names.extend(row.row[field].as_sequence().into_iter().flatten().filter_map(rules::scalar));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::catalog;

    fn keys(name: &str, key: &str) -> Vec<String> {
        find(&rows(catalog(), &file(name).unwrap()), key).into_iter().map(|row| row.key).collect()
    }

    #[test]
    fn finds_rows_by_key_alias_or_part_of_a_name() {
        assert_eq!(keys("torch", "2.5.1"), ["2.5.1"]);
        assert_eq!(keys("torch.yaml", "2.15"), ["2.15.0"]);
        assert_eq!(keys("gpus", "h100-SXM5"), ["H100 80GB HBM3"], "an alias");
        assert_eq!(
            keys("gpus", "h100 sxm5"),
            ["H100 SXM5 64GB", "H100 SXM5 96GB"],
            "a part of several names"
        );
        assert_eq!(keys("packages/numpy", "1.26.4"), keys("numpy", "1.26.4"));
        assert_eq!(keys("drivers", "580"), ["580"]);
        assert_eq!(keys("torch", "2.5.9"), [""; 0]);
        assert!(file("tensorflow").is_none());
    }

    #[test]
    fn every_row_is_found_by_name_and_has_source_and_date() {
        for file in embedded::all() {
            let rows = rows(catalog(), &file);
            for row in rows.iter().step_by(40) {
                assert!(find(&rows, &names(row)[0]).iter().any(|found| found.key == row.key), "{}", row.key);
            }
            for row in &rows {
                for name in names(row) {
                    assert!(
                        find(&rows, &name).iter().any(|found| found.key == row.key),
                        "{} {name}",
                        file.name
                    );
                }
                assert!(
                    row.row["source"].as_str().is_some_and(|text| text.len() > 3),
                    "{} {}",
                    file.name,
                    row.key
                );
                assert!(
                    row.row["checked"].as_str().is_some_and(|day| day.len() == 10),
                    "{} {}",
                    file.name,
                    row.key
                );
            }
        }
    }

    #[test]
    fn source_keys_are_expanded_to_full_sources() {
        let rows = rows(catalog(), &file("torch").unwrap());
        let row = &find(&rows, "2.5.1")[0].row;
        let source = row["builds"][1]["source"].as_str().unwrap();
        assert!(source.contains("replicate/cog:"), "{source}");
    }
}
