//! `envdoc catalog`.

mod refresh;
mod report;

use super::output::Output;
use diagnostic::suggest::nearest;
use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use serde::Serialize;

use catalog::Catalog;
use catalog::browse::{self, InUse, Shown};
use catalog::cache;
use catalog::embedded::{self, File};
use catalog::verify::Verified;
use diagnostic::error::{Error, Kind};
use diagnostic::render::json;
use diagnostic::terminal;

/// Show, verify and update the catalog of versions, images and hardware.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  envdoc catalog show                # the files of the catalog
  envdoc catalog show torch 2.6.0    # one row, with its sources
  envdoc catalog refresh             # get new versions";

#[derive(Debug, Subcommand)]
enum Command {
    Show(Show),
    Verify(Verify),
    Refresh(refresh::Refresh),
}

/// Show the files of the catalog, the rows of a file, or one row with its sources.
#[derive(Debug, clap::Args)]
#[command(after_help = SHOW_EXAMPLES)]
struct Show {
    /// File: torch, drivers, packages/transformers.
    file: Option<String>,

    /// Row: 2.5.1, 580, "H100 SXM5 80GB".
    row: Option<String>,

    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[command(flatten)]
    output: Output,
}

const SHOW_EXAMPLES: &str = "\
Examples:
  envdoc catalog show                     # list the files
  envdoc catalog show drivers             # list the rows of a file
  envdoc catalog show drivers 580         # everything about one row
  envdoc catalog show torch --format yaml";

/// Verify the catalog: sources, dates, order, references, versions.
///
/// Exit code 0: valid; 1: some rules are violated; 2: there is nothing to verify.
#[derive(Debug, clap::Args)]
#[command(after_help = VERIFY_EXAMPLES)]
struct Verify {
    /// Directory with catalog files [default: the embedded and the cached files].
    dir: Option<PathBuf>,

    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[command(flatten)]
    output: Output,
}

const VERIFY_EXAMPLES: &str = "\
Examples:
  envdoc catalog verify
  envdoc catalog verify catalog/ --format json";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Plain text.
    Text,
    /// JSON.
    Json,
    /// YAML, like the files.
    Yaml,
}

impl Format {
    fn machine(self, value: &impl Serialize) -> Result<String, Error> {
        match self {
            Format::Yaml => serde_yaml::to_string(value)
                .map_err(|error| Error::new(Kind::File, format!("cannot write YAML: {error}"))),
            _ => json::text(value),
        }
    }
}

impl Args {
    pub(super) fn run(self, catalog: &'static Catalog) -> Result<u8, Error> {
        match self.command {
            Command::Show(args) => args.output.clone().of(|| args.run(catalog).map(|()| 0)),
            Command::Verify(args) => args.output.clone().of(|| args.run(catalog)),
            Command::Refresh(args) => args.run(catalog),
        }
    }
}

#[derive(Serialize)]
struct Files {
    schema: u32,
    files: Vec<InUse>,
}

#[derive(Serialize)]
struct Rows {
    schema: u32,
    #[serde(flatten)]
    file: InUse,
    /// Named so because `rows` counts them.
    found: Vec<Shown>,
}

impl Show {
    fn run(self, catalog: &Catalog) -> Result<(), Error> {
        let Some(name) = &self.file else {
            let files = browse::files(catalog);
            return terminal::print(&match self.format {
                Format::Text => report::files(&files),
                format => format.machine(&Files { schema: 1, files })?,
            });
        };
        let file = named(name)?;
        let (about, rows) = (browse::in_use(catalog, &file), browse::rows(catalog, &file));
        let found = match &self.row {
            None => rows,
            Some(key) => self.find(&file, &rows, key)?,
        };
        terminal::print(&match (self.format, &self.row) {
            (Format::Text, None) => report::rows(&about, &found, terminal::width()),
            (Format::Text, Some(_)) => {
                let rows = found.iter().map(|row| report::row(&about, row, terminal::width()));
                rows.collect::<Vec<_>>().join("\n")
            }
            (format, _) => format.machine(&Rows { schema: 1, file: about, found })?,
        })
    }

    fn find(&self, file: &File, rows: &[Shown], key: &str) -> Result<Vec<Shown>, Error> {
        let found = browse::find(rows, key);
        if !found.is_empty() {
            return Ok(found);
        }
        let names: Vec<String> = rows.iter().flat_map(browse::names).collect();
        let error = Error::new(Kind::Usage, format!("{} has no row {key:?}", file.name));
        // Of versions that are as near, the newest.
        let error = error.did_you_mean(nearest(key, names.iter().rev().map(String::as_str)));
        let name = file.name.trim_end_matches(".yaml");
        Err(error.hint(format!("`envdoc catalog show {name}` lists all rows")))
    }
}

fn named(name: &str) -> Result<File, Error> {
    browse::file(name).ok_or_else(|| {
        let error = Error::new(Kind::Usage, format!("the catalog has no file {name:?}"));
        let names: Vec<String> =
            embedded::all().map(|file| file.name.trim_end_matches(".yaml").to_owned()).collect();
        let error = error.did_you_mean(nearest(name, names.iter().map(String::as_str)));
        error.hint("`envdoc catalog show` lists all files")
    })
}

impl Verify {
    fn run(self, catalog: &Catalog) -> Result<u8, Error> {
        let verified = match &self.dir {
            Some(dir) => Verified::folder(dir),
            None => Verified::in_use(catalog),
        };
        let verified = verified.map_err(|error| {
            let hint = error.hint();
            let error = Error::new(Kind::File, error.to_string());
            match hint {
                Some(hint) => error.hint(hint),
                None => error,
            }
        })?;
        terminal::print(&match self.format {
            Format::Text => report::verified(verified.files, verified.rows, &verified.broken),
            format => format.machine(&verified)?,
        })?;
        Ok(u8::from(!verified.broken.is_empty()))
    }
}

/// The cache of newer catalog files: `$ENVDOC_CATALOG_DIR` (none if empty), else `envdoc/catalog` in the
/// user's cache directory.
pub(super) fn directory() -> Option<PathBuf> {
    use host::variables::path as variable;
    if let Some(dir) = variable("ENVDOC_CATALOG_DIR") {
        return (!dir.as_os_str().is_empty()).then_some(dir);
    }
    let cache = variable("XDG_CACHE_HOME").filter(|dir| dir.is_absolute());
    let cache = cache.or_else(|| Some(variable("HOME").filter(|dir| dir.is_absolute())?.join(".cache")))?;
    Some(cache.join("envdoc/catalog"))
}

/// The version, with `verbose` also the catalog files in use.
pub(super) fn version(catalog: &Catalog, verbose: bool) -> String {
    let mut text = format!("envdoc {}\n", env!("CARGO_PKG_VERSION"));
    if verbose {
        let newest =
            embedded::all().filter_map(|file| cache::newest_day(file.text)).max().unwrap_or_default();
        text.push_str(&format!("catalog: embedded, {newest}\n"));
        for file in embedded::all() {
            let Some(cache) = catalog.cache() else { break };
            if let Some(newer) = cache.newer(&file.name, file.text) {
                let day = cache::newest_day(&newer).unwrap_or_default();
                text.push_str(&format!("catalog: {}, {day}\n", cache.dir().join(&*file.name).display()));
            }
        }
    }
    text
}
