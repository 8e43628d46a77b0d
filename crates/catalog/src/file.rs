//! Reading one catalog file.

use std::collections::BTreeMap;

use serde::{Deserialize, de::DeserializeOwned};

use super::sources::Sources;

/// A file of the catalog as the program reads it.
pub(super) trait Contents: Sourced {
    /// Its name below `catalog/`.
    const NAME: &'static str;
    /// The text that the program was built with.
    const TEXT: &'static str;
}

/// What has rows with sources.
pub(super) trait Sourced: DeserializeOwned {
    /// The rows of all tables, and whatever else has a source of its own.
    fn rows(&mut self) -> Vec<&mut dyn Row>;

    /// Writes out what rows share: sources, days.
    fn complete(&mut self);
}

/// A table, or a single row that has none, for [`Sourced::rows`].
pub(super) trait Rows {
    fn all_rows(&mut self) -> Vec<&mut dyn Row>;
}

impl<R: Row> Rows for Vec<R> {
    fn all_rows(&mut self) -> Vec<&mut dyn Row> {
        self.iter_mut().map(|row| row as &mut dyn Row).collect()
    }
}

impl<R: Row> Rows for Option<R> {
    fn all_rows(&mut self) -> Vec<&mut dyn Row> {
        self.iter_mut().map(|row| row as &mut dyn Row).collect()
    }
}

impl<R: Row> Rows for R {
    fn all_rows(&mut self) -> Vec<&mut dyn Row> {
        vec![self]
    }
}

/// Implements [`Sourced`] for a file with the fields `checked` and `sources` by those that have its rows;
/// `then` is the method that fills in what follows from complete rows.
macro_rules! sourced {
    ($file:ty, [$($table:ident),+ $(,)?] $(, then $follow:ident)?) => {
        impl $crate::file::Sourced for $file {
            fn rows(&mut self) -> Vec<&mut dyn $crate::file::Row> {
                $crate::file::tables([$($crate::file::Rows::all_rows(&mut self.$table)),+])
            }

            fn complete(&mut self) {
                let (day, sources) = (self.checked.clone(), self.sources.clone());
                $crate::file::complete(self.rows(), &day, &sources);
                $(self.$follow();)?
            }
        }
    };
}
pub(super) use sourced;

/// The rows of several tables.
pub(super) fn tables<const N: usize>(tables: [Vec<&mut dyn Row>; N]) -> Vec<&mut dyn Row> {
    tables.into_iter().flatten().collect()
}

/// The text of a file below `catalog/`.
macro_rules! text {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog/", $name))
    };
}
pub(super) use text;

/// A row that names its source.
pub(super) trait Row {
    /// The row's sources and the day on which it was checked.
    fn provenance(&mut self) -> (&mut Sources, &mut String);
}

/// Implements [`Row`] for rows with the fields `source` and `checked`.
macro_rules! rows {
    ($($row:ty),+ $(,)?) => {$(
        impl $crate::file::Row for $row {
            fn provenance(&mut self) -> (&mut $crate::Sources, &mut String) {
                (&mut self.source, &mut self.checked)
            }
        }
    )+};
}
pub(super) use rows;

/// A row of a file that has one table.
pub(super) trait OnlyTable: Row + DeserializeOwned {
    /// See [`Contents::NAME`].
    const NAME: &'static str;
    /// See [`Contents::TEXT`].
    const TEXT: &'static str;
}

/// Makes these the rows of the only table of a file.
macro_rules! table {
    ($row:ty, $name:literal) => {
        $crate::file::rows!($row);
        impl $crate::file::OnlyTable for $row {
            const NAME: &'static str = $name;
            const TEXT: &'static str = $crate::file::text!($name);
        }
    };
}
pub(super) use table;

/// The content of a catalog file that is one list of rows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table<R> {
    checked: String,
    #[serde(default)]
    sources: SharedSources,
    rows: Vec<R>,
}

impl<R> Table<R> {
    /// Every row, in the order of the file.
    pub fn all(&self) -> &[R] {
        &self.rows
    }
}

impl<R: OnlyTable> Contents for Table<R> {
    const NAME: &'static str = R::NAME;
    const TEXT: &'static str = R::TEXT;
}

impl<R: OnlyTable> Sourced for Table<R> {
    fn rows(&mut self) -> Vec<&mut dyn Row> {
        self.rows.all_rows()
    }

    fn complete(&mut self) {
        complete(self.rows.all_rows(), &self.checked, &self.sources);
    }
}

/// Sources that many rows share, by a short key.
pub(super) type SharedSources = BTreeMap<String, String>;

/// Parses a file: `newer` where the cache has a text that is used instead of the embedded one.
///
/// # Panics
/// When the file is not what its type says. The embedded files are part of the program and a test reads each
/// of them; a cached one was held to the same rules before it came here.
pub(super) fn parse<T: DeserializeOwned>(name: &str, embedded: &str, newer: Option<&str>) -> T {
    let read = match (newer, json(name)) {
        (None, Some(json)) => serde_json::from_str(json).map_err(|error| error.to_string()),
        (newer, _) => serde_yaml::from_str(newer.unwrap_or(embedded)).map_err(|error| error.to_string()),
    };
    match read {
        Ok(file) => file,
        Err(error) => panic!("catalog/{name}: {error}"),
    }
}

/// An embedded file as JSON, which `build/` made of its YAML.
pub(super) fn json(name: &str) -> Option<&'static str> {
    static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/catalog.rs"));
    FILES.binary_search_by(|(known, _)| (*known).cmp(name)).ok().map(|index| FILES[index].1)
}

/// Writes sources out in full and fills in the day.
pub(super) fn complete(rows: Vec<&mut dyn Row>, day: &str, sources: &SharedSources) {
    for row in rows {
        let (source, checked) = row.provenance();
        if checked.is_empty() {
            day.clone_into(checked);
        }
        *source = source.in_full(|key| sources.get(key).map(String::as_str));
    }
}
