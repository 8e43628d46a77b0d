//! `envdoc catalog refresh`.

use facts::IntoFact;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use catalog::{browse, cache, embedded};
use diagnostic::error::{Error, Kind};
use diagnostic::terminal;
use docker::registry::{Client, shown};
use host::Host;
use host::file;
use host::live::Live;
use refresh::{self, Outcome, Request, WHEEL_INDEX, address};

/// Ask the package index, the PyTorch wheel index and Docker Hub what is new, and keep it for later commands.
///
/// Needs the network; no other command asks for anything. Nothing is downloaded whole: project pages, and the metadata of wheels. Rows
/// that break a rule are refused. Exit code 0: done, nothing new included; 2: nothing could be reached or written.
#[derive(Debug, clap::Args)]
pub(super) struct Refresh {
    /// The package index to ask; without it what uv and pip would ask here.
    #[arg(long, value_name = "URL", env = "ENVDOC_INDEX_URL")]
    index_url: Option<String>,

    /// Refresh only these: torch, nccl, cuda, deepspeed, packages/transformers, images.
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    only: Vec<String>,

    /// Show what is new and write nothing.
    #[arg(long)]
    dry_run: bool,

    /// Add to the files in DIR/catalog of envdoc's own sources instead of the cache.
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    in_repo: Option<PathBuf>,

    /// Seconds that asking may take in all.
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = super::super::seconds)]
    timeout: Duration,

    /// The PyTorch wheel index or a mirror of it; {build} stands for the build.
    #[arg(long, value_name = "URL", default_value = WHEEL_INDEX)]
    wheel_index: String,

    /// The image registry that has nvidia/cuda and pytorch/pytorch.
    #[arg(long, value_name = "URL", default_value = "https://registry-1.docker.io")]
    registry: String,
}

impl Refresh {
    /// Asks, writes, shows.
    pub(super) fn run(self) -> Result<u8, Error> {
        let only = only(&self.only)?;
        let target = self.target()?;
        let host = Live::new(Instant::now() + self.timeout);
        let address = address::find(&host, self.index_url.as_deref()).map_err(|why| {
            Error::new(Kind::Network, why)
                .hint("say which index to ask: --index-url URL, or ENVDOC_INDEX_URL")
        })?;
        let certificates =
            address.certificates.as_deref().map(|path| certificates(&host, path)).transpose()?;
        let client = Client::new(certificates.as_deref(), Instant::now() + self.timeout)
            .map_err(|why| Error::new(Kind::Network, why))?;
        terminal::note(&format!("asking {} ({})", shown(&address.urls[0]), address.from));
        let outcome = refresh::refresh(&Request {
            urls: address.urls,
            client: &client,
            only,
            today: today(&host)?,
            texts: self.texts()?,
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
        }
        let target = (!self.dry_run).then_some(target.as_path());
        terminal::print(&super::report::refreshed(&outcome, target)).map(|()| 0)
    }

    /// The folder that is written to.
    fn target(&self) -> Result<PathBuf, Error> {
        if let Some(dir) = &self.in_repo {
            let catalog = dir.join("catalog");
            return match cache::names(&catalog).iter().any(|name| name == "torch.yaml") {
                true => Ok(catalog),
                false => Err(Error::new(Kind::Usage, format!("{} has no catalog/torch.yaml", dir.display()))
                    .hint("--in-repo wants the folder of envdoc's sources")),
            };
        }
        cache::dir().map(Path::to_owned).ok_or_else(|| {
            Error::new(Kind::Usage, "there is no folder for newer catalog files")
                .hint("ENVDOC_CATALOG_DIR is empty, or HOME is not set; set one of them, or use --in-repo")
        })
    }

    /// What is added to: the sources, or what is in use.
    fn texts(&self) -> Result<BTreeMap<String, String>, Error> {
        let mut texts = BTreeMap::new();
        for file in embedded::all() {
            let text = match &self.in_repo {
                None => browse::text(&file).to_owned(),
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

/// The files that are meant; they must be of those that can be refreshed.
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
                .hint(format!("what can be: {}", known.join(", ")))
        })
    };
    names.iter().filter(|name| !name.is_empty()).map(full).collect()
}

fn certificates(host: &dyn Host, path: &str) -> Result<String, Error> {
    host.read(path).text().known().cloned().ok_or_else(|| {
        Error::new(Kind::File, format!("the certificates in {path} cannot be read"))
            .hint("PIP_CERT, REQUESTS_CA_BUNDLE, SSL_CERT_FILE or pip's configuration names them")
    })
}

fn today(host: &dyn Host) -> Result<String, Error> {
    let seconds = host.clock().text().known().and_then(|text| text.parse().ok()).unwrap_or_default();
    let day = jiff::Timestamp::from_second(seconds)
        .map_err(|error| Error::new(Kind::File, format!("the clock shows no day: {error}")))?;
    Ok(day.to_zoned(jiff::tz::TimeZone::UTC).date().to_string())
}

fn unreached(outcome: &Outcome) -> Error {
    let error = Error::new(Kind::Network, "nobody who was asked answered; the catalog stays as it is");
    outcome.notes.iter().take(3).fold(error, |error, note| error.hint(note.clone()))
}

fn write(target: &Path, outcome: &Outcome) -> Result<(), Error> {
    for (name, text) in &outcome.texts {
        let path = target.join(name);
        let folder = path.parent().unwrap_or(target);
        std::fs::create_dir_all(folder)
            .map_err(|error| Error::new(Kind::File, format!("cannot make {}: {error}", folder.display())))?;
        file::write(&path, text, true)?;
    }
    Ok(())
}
