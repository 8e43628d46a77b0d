//! Docker's Python images: the rows of `catalog/images/python.yaml`.

use std::sync::OnceLock;

use serde::Deserialize;

use super::super::file::{self, Sources};
use super::existence::Existence;
use super::image::{Flavour, Image, Repository};

/// One Python on one Debian.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    python: String,
    release: String,
    suite: String,
    system: String,
    #[serde(default)]
    default: bool,
    seen: String,
    source: String,
    #[serde(default)]
    checked: String,
}

file::rows!(Row);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    checked: String,
    sources: Sources,
    repository: Repository,
    rows: Vec<Row>,
}

fn file() -> &'static File {
    static FILE: OnceLock<File> = OnceLock::new();
    FILE.get_or_init(|| {
        let mut file: File =
            file::parse("images/python.yaml", include_str!("../../../../catalog/images/python.yaml"));
        file::complete(&mut file.rows, &file.checked, &file.sources);
        file::complete(std::slice::from_mut(&mut file.repository), &file.checked, &file.sources);
        file
    })
}

/// Every tag, oldest Python first.
pub(super) fn all() -> &'static [Image] {
    static IMAGES: OnceLock<Vec<Image>> = OnceLock::new();
    IMAGES.get_or_init(|| file().rows.iter().flat_map(images).collect())
}

pub(super) fn repository() -> &'static Repository {
    &file().repository
}

fn images(row: &'static Row) -> impl Iterator<Item = Image> {
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

/// What the complete lists say of a tag that is not in the rows.
pub(super) fn missing(tag: &str) -> Existence {
    let rows = &file().rows;
    let mut words = tag.split('-');
    let series = words.next().unwrap_or_default();
    let known = |word: &str| word == "slim" || rows.iter().any(|row| row.suite == word);
    let until = repository().complete_until.as_deref().unwrap_or_default();
    // The rows have every series with every suite, and only the newest release of each.
    if rows.iter().any(|row| row.python == series) && words.all(known) {
        let suites: Vec<&str> =
            rows.iter().filter(|row| row.python == series).map(|row| row.suite.as_str()).collect();
        return Existence::No {
            why: format!("Python {series} was on Debian {} in every list up to {until}", suites.join(", ")),
            source: repository().source.clone(),
        };
    }
    Existence::Unknown {
        why: format!("the catalog has the newest release of each Python on Debian, from lists up to {until}"),
    }
}
