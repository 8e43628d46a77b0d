//! `envdoc catalog refresh`.

use facts::IntoFact;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use catalog::{Catalog, browse, cache, embedded};
use diagnostic::error::{Error, Kind};
use diagnostic::terminal;
use docker::registry::{Client, without_password};
use host::Host;
use host::file;
use host::live::Live;
use refresh::{self, Outcome, Request, WHEEL_INDEX, address};

/// Download new versions for the catalog from the package index, the PyTorch wheel index and Docker Hub.
///
/// The only command that updates the catalog from the network. It reads project pages and wheel metadata, not
/// whole packages. Rows that violate a rule are rejected.
///
/// Exit code 0: done, even if nothing is new; 2: no source was reachable, or the catalog is not writable.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Refresh {
    /// Package index [default: the one that uv and pip use on this machine].
    #[arg(long, value_name = "URL", env = "ENVDOC_INDEX_URL", hide_env_values = true)]
    index_url: Option<String>,

    /// Refresh only these files: torch, nccl, cuda, deepspeed, packages/transformers, images.
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    only: Vec<String>,

    /// Show what is new, and write nothing.
    #[arg(long)]
    dry_run: bool,

    /// Update DIR/catalog of the envdoc sources instead of the cache [default DIR: .].
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    in_repo: Option<PathBuf>,

    /// Overall timeout, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = crate::cli::values::seconds)]
    timeout: Duration,

    /// PyTorch wheel index or a mirror; {build} is replaced by the CUDA build.
    #[arg(long, value_name = "URL", default_value = WHEEL_INDEX, hide_short_help = true)]
    wheel_index: String,

    /// Image registry with nvidia/cuda and pytorch/pytorch.
    #[arg(long, value_name = "URL", default_value = "https://registry-1.docker.io", hide_short_help = true)]
    registry: String,
}

const EXAMPLES: &str = "\
Examples:
  envdoc catalog refresh
  envdoc catalog refresh --only torch,cuda --dry-run";

impl Refresh {
    pub(super) fn run(self, catalog: &'static Catalog) -> Result<u8, Error> {
        let only = only(&self.only)?;
        let target = self.target(catalog)?;
        let host = Live::new(Instant::now() + self.timeout);
        let address = address::find(&host, self.index_url.as_deref()).map_err(|why| {
            Error::new(Kind::Network, why.to_string())
                .hint("set the index with --index-url URL or ENVDOC_INDEX_URL")
        })?;
        let certificates =
            address.certificates.as_deref().map(|path| certificates(&host, path)).transpose()?;
        let client = Client::new(certificates.as_deref(), Instant::now() + self.timeout)
            .map_err(|why| Error::new(Kind::Network, why.to_string()))?;
        terminal::note(&format!("querying {} ({})", without_password(&address.urls[0]), address.from));
        let outcome = refresh::refresh(&Request {
            urls: address.urls,
            catalog,
            client: &client,
            only,
            today: today(&host)?,
            texts: self.texts(catalog)?,
            progress: |file| terminal::note(&format!("  {}", file.trim_end_matches(".yaml"))),
            wheel_index: self.wheel_index.clone(),
            registries: ["nvidia/cuda", "pytorch/pytorch"]
                .map(|repository| (repository.to_owned(), self.registry.trim_end_matches('/').to_owned()))
                .into(),
        });
        if outcome.answered == 0 {
            return Err(unreached(&outcome));
        }
        if !self.dry_run {
            write(&target, &outcome)?;
            if self.in_repo.is_none() && !outcome.texts.is_empty() {
                file::write(&target.join(cache::FORMAT_FILE), &format!("{}\n", cache::FORMAT), true)?;
            }
        }
        let target = (!self.dry_run).then_some(target.as_path());
        terminal::print(&super::report::refreshed(&outcome, target)).map(|()| 0)
    }

    fn target(&self, catalog: &Catalog) -> Result<PathBuf, Error> {
        if let Some(dir) = &self.in_repo {
            let catalog = dir.join("catalog");
            return match cache::names(&catalog).iter().any(|name| name == "torch.yaml") {
                true => Ok(catalog),
                false => Err(Error::new(Kind::Usage, format!("{} has no catalog/torch.yaml", dir.display()))
                    .hint("--in-repo requires the directory of the envdoc sources")),
            };
        }
        catalog.cache().map(|cache| cache.dir().to_owned()).ok_or_else(|| {
            Error::new(Kind::Usage, "no cache directory for catalog files")
                .hint("set ENVDOC_CATALOG_DIR or HOME, or use --in-repo")
        })
    }

    /// The current files: those of the sources, or those in use.
    fn texts(&self, catalog: &Catalog) -> Result<BTreeMap<String, String>, Error> {
        let mut texts = BTreeMap::new();
        for file in embedded::all() {
            let text = match &self.in_repo {
                None => browse::text(catalog, &file).into_owned(),
                Some(dir) => {
                    let path = dir.join("catalog").join(&*file.name);
                    cache::read(&path).map_err(|why| {
                        Error::new(Kind::File, format!("cannot read {}: {why}", path.display()))
                    })?
                }
            };
            texts.insert(file.name.into_owned(), text);
        }
        Ok(texts)
    }
}

/// The files of --only.
fn only(names: &[String]) -> Result<Vec<String>, Error> {
    let all = refresh::files();
    let full = |name: &String| {
        let file = match name.as_str() {
            "images" => Some("images".to_owned()),
            _ => browse::file(name).map(|file| file.name.into_owned()),
        };
        file.filter(|file| all.contains(file)).ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|file| file.trim_end_matches(".yaml")).collect();
            Error::new(Kind::Usage, format!("--only: {name:?} cannot be refreshed"))
                .hint(format!("refreshable files: {}", known.join(", ")))
        })
    };
    names.iter().filter(|name| !name.is_empty()).map(full).collect()
}

fn certificates(host: &dyn Host, path: &str) -> Result<String, Error> {
    host.read(path).text().known().cloned().ok_or_else(|| {
        Error::new(Kind::File, format!("cannot read the certificates in {path}"))
            .hint("the path comes from PIP_CERT, REQUESTS_CA_BUNDLE, SSL_CERT_FILE or the pip configuration")
    })
}

fn today(host: &dyn Host) -> Result<String, Error> {
    let seconds = host.clock().text().known().and_then(|text| text.parse().ok()).unwrap_or_default();
    let day = jiff::Timestamp::from_second(seconds)
        .map_err(|error| Error::new(Kind::File, format!("the system clock is invalid: {error}")))?;
    Ok(day.to_zoned(jiff::tz::TimeZone::UTC).date().to_string())
}

fn unreached(outcome: &Outcome) -> Error {
    let error = Error::new(Kind::Network, "no source was reachable; the catalog is unchanged");
    outcome.notes.iter().take(3).fold(error, |error, note| error.hint(note.clone()))
}

fn write(target: &Path, outcome: &Outcome) -> Result<(), Error> {
    for (name, text) in &outcome.texts {
        let path = target.join(name);
        let folder = path.parent().unwrap_or(target);
        file::directory(folder)?;
        file::write(&path, text, true)?;
    }
    Ok(())
}
