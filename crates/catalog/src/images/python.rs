//! Docker's Python images: the rows of `catalog/images/python.yaml`.

use serde::Deserialize;

use super::super::file;
use super::existence::Existence;
use super::image::{Flavour, Image};
use super::list::{self, List};
use crate::Sources;

/// One Python on one Debian.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    python: String,
    release: String,
    suite: String,
    system: String,
    #[serde(default)]
    default: bool,
    seen: String,
    source: Sources,
    #[serde(default)]
    checked: String,
}

file::rows!(Row);

/// Every Python, oldest first.
pub(crate) type File = List<Row>;

impl list::Row for Row {
    const NAME: &'static str = "images/python.yaml";
    const TEXT: &'static str = file::text!("images/python.yaml");

    fn images(&self) -> Vec<Image> {
        images(self).collect()
    }

    /// What the complete lists say of a tag that is not in the rows.
    fn missing(list: &File, tag: &str) -> Existence<'static> {
        let rows = &list.rows;
        let mut words = tag.split('-');
        let series = words.next().unwrap_or_default();
        let known = |word: &str| word == "slim" || rows.iter().any(|row| row.suite == word);
        let until = list.repository.complete_until.as_deref().unwrap_or_default();
        // The rows have every series with every suite, and only the newest release of each.
        if rows.iter().any(|row| row.python == series) && words.all(known) {
            let suites: Vec<&str> =
                rows.iter().filter(|row| row.python == series).map(|row| row.suite.as_str()).collect();
            return Existence::No {
                why: format!(
                    "Python {series} was on Debian {} in every list up to {until}",
                    suites.join(", ")
                ),
                source: list.repository.source.clone(),
            };
        }
        Existence::Unknown {
            why: format!(
                "the catalog has the newest release of each Python on Debian, from lists up to {until}"
            ),
        }
    }
}

fn images(row: &Row) -> impl Iterator<Item = Image> {
    let suite = &row.suite;
    let tags = [&row.python, &row.release].into_iter().flat_map(move |version| {
        let bare = [version.clone(), format!("{version}-slim")];
        let whole = [format!("{version}-{suite}"), format!("{version}-slim-{suite}")];
        bare.into_iter().filter(|_| row.default).chain(whole)
    });
    tags.map(|tag| Image {
        system: Some(row.system.clone()),
        has_cudnn: Some(false),
        cudnn_known: true,
        python: Some(row.python.clone()),
        architectures: Some(&["x86_64", "aarch64"]),
        seen: row.seen.clone(),
        ..Image::new("python", tag, Flavour::Plain, &row.source)
    })
}
