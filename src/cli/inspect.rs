//! `envdoc inspect`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::format::Format;
use super::headings::{CONNECTION, MACHINES, OUTPUT};
use super::registry;
use ::image::inspect::image::{self, Image, processor};
use ::image::inspect::remote::{self, Question, RegistryError};
use ::image::inspect::report::{self as report, Machine};
use ::image::inspect::{Reference, judge};
use catalog::Catalog;
use catalog::images::Existence;
use diagnostic::error::{Error, Kind};
use diagnostic::layout::Layout;
use diagnostic::render::json;
use diagnostic::terminal;
use docker::client;
use docker::transport::Transports;
use facts::{Expected, Facts, gather};
use host::live::Live;
use host::snapshot::Snapshot;
use host::{Host, MissingKind, Reading};
use std::sync::Arc;

/// Show what an image contains, without pulling it, and check whether it runs on a machine.
///
/// Reads the image from the Docker engine, else its manifest and configuration (a few kilobytes) from its registry.
/// With --here or --from, checks it against the architecture, driver, CUDA, GPUs and NVIDIA start conditions of
/// the machines.
///
/// Exit code 0: no problem found; 1: it does not run on a machine, or does not exist; 2: the image could not be
/// read; 3: with --strict, something could not be checked.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Image: name:tag, registry/name:tag or name@sha256:….
    #[arg(value_name = "IMAGE")]
    image: String,

    /// Recorded machines (made with `envdoc snapshot`) that should run the image.
    #[arg(long, value_name = "FILE", help_heading = MACHINES)]
    from: Vec<PathBuf>,

    /// This machine should run the image.
    #[arg(long, help_heading = MACHINES)]
    here: bool,

    /// Architecture to read from a multi-platform image: x86_64 (amd64) or aarch64 (arm64).
    ///
    /// Default: that of the machines, else x86_64.
    #[arg(long, value_name = "ARCH", help_heading = MACHINES)]
    arch: Option<String>,

    /// Docker engine: unix:///path, ssh://user@host[:port][/socket] or tcp://address:port.
    ///
    /// Default: the engine that the docker command uses.
    #[arg(long, value_name = "URL", help_heading = CONNECTION)]
    host: Option<String>,

    /// Read from the registry even if the engine has the image.
    #[arg(long, help_heading = CONNECTION)]
    remote: bool,

    /// Use plain HTTP for the registry; always used for registries on this machine.
    #[arg(long, help_heading = CONNECTION, hide_short_help = true)]
    plain_http: bool,

    /// Additional CA certificates (PEM) to trust.
    #[arg(long, value_name = "FILE", help_heading = CONNECTION, hide_short_help = true)]
    ca_cert: Option<PathBuf>,

    /// Timeout for the engine and the registry, in seconds.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "30",
        value_parser = super::values::seconds,
        help_heading = CONNECTION,
        hide_short_help = true
    )]
    timeout: Duration,

    /// Exit with 3 if nothing was found but something could not be checked.
    #[arg(long, help_heading = OUTPUT)]
    strict: bool,

    /// Report format.
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = OUTPUT)]
    format: Format,

    /// Show all layers, variables and labels.
    #[arg(long, short, help_heading = OUTPUT)]
    verbose: bool,
}

const EXAMPLES: &str = "\
Examples:
  envdoc inspect nvidia/cuda:12.4.1-devel-ubuntu22.04
  envdoc inspect team/train:1.0 --here                 # does it run on this machine?
  envdoc inspect team/train:1.0 --from gpu1.json       # ... on a recorded machine?";

impl Args {
    pub fn run(self, catalog: &'static Catalog) -> Result<u8, Error> {
        let reference = Reference::parse(&self.image).map_err(|why| Error::new(Kind::Usage, why))?;
        let machines = self.machines(catalog)?;
        let image = match self.read(catalog, &reference, &machines) {
            Ok(image) => image,
            Err(ReadError::NotFound(error)) => {
                terminal::note(&error.to_string());
                return Ok(1);
            }
            Err(ReadError::Other(error)) => return Err(error),
        };
        let judged: Vec<Machine> = machines
            .iter()
            .map(|(name, facts)| Machine { name: name.clone(), judged: judge(&image, facts) })
            .collect();
        let text = || report::text(&image, &judged, Layout::of_screen(self.verbose));
        let json = || json::text(&report::json(&image, &judged));
        let text = self.format.write(|| report::report(&image, &judged), text, json)?;
        terminal::print(&text)?;
        let summary = report::summary(&judged);
        Ok(match (summary.error, summary.unknown) {
            (1.., _) => 1,
            (0, 1..) if self.strict => 3,
            _ => 0,
        })
    }

    /// The image from the engine or the registry.
    fn read(
        &self,
        catalog: &Catalog,
        reference: &Reference,
        machines: &[(String, Facts)],
    ) -> Result<Image, ReadError> {
        let client = client::find(self.host.as_deref())?;
        if !self.remote && reference.digest.is_none() {
            let deadline = Instant::now() + self.timeout.min(Duration::from_secs(5));
            if let Some(image) = from_engine(&client.endpoint, &reference.familiar(), deadline)? {
                return Ok(image);
            }
        }
        let of_machine =
            || machines.first().and_then(|(_, facts)| facts.system.architecture.known().cloned());
        let architecture = self.arch.clone().or_else(of_machine).unwrap_or_else(|| "x86_64".into());
        let certificates = registry::certificates(self.ca_cert.as_deref())?;
        let login = registry::login(&client, &reference.registry)?;
        let question = Question {
            reference,
            architecture: processor(&architecture),
            plain_http: self.plain_http,
            login,
            certificates: certificates.as_deref(),
            deadline: Instant::now() + self.timeout,
        };
        remote::read(&question).map_err(|error| match error.is_not_found() {
            true => ReadError::NotFound(error),
            false => ReadError::Other(unreadable(catalog, reference, &error)),
        })
    }

    fn machines(&self, catalog: &'static Catalog) -> Result<Vec<(String, Facts)>, Error> {
        let mut machines = Vec::new();
        for path in &self.from {
            let facts = gather::recorded(&Snapshot::open(path)?.host(), Expected::default(), catalog);
            machines.push((name(path), facts));
        }
        if self.here {
            let (_, facts) = super::look(catalog, None, Duration::from_secs(2), Expected::default())?;
            machines.push(("this machine".to_owned(), facts));
        }
        Ok(machines)
    }
}

/// Why an image could not be read.
enum ReadError {
    /// The registry does not have it.
    NotFound(RegistryError),
    Other(Error),
}

impl From<Error> for ReadError {
    fn from(error: Error) -> ReadError {
        ReadError::Other(error)
    }
}

/// The error with hints for the usual causes.
fn unreadable(catalog: &Catalog, reference: &Reference, error: &RegistryError) -> Error {
    let mut says = Error::new(Kind::Network, format!("cannot read {reference}: {error}"));
    match error {
        RegistryError::Docker(docker::Error::RegistryLogin(_)) | RegistryError::Denied { .. } => {
            says = says.hint(format!("docker login {}", reference.registry));
        }
        RegistryError::Docker(docker::Error::Certificate(_)) => {
            says = says.hint("to trust a private registry or proxy: --ca-cert FILE");
        }
        _ => {}
    }
    match catalog.images().exists(&reference.familiar()) {
        Existence::No { why, .. } => {
            let nearest = catalog.images().nearest(&reference.familiar());
            let nearest: Vec<String> = nearest.iter().map(|image| image.reference()).collect();
            let instead = match nearest.is_empty() {
                true => String::new(),
                false => format!("; nearest: {}", nearest.join(", ")),
            };
            says.hint(format!("the catalog has no such image: {why}{instead}"))
        }
        Existence::Yes(_) => {
            let name = reference.familiar();
            says.hint(format!("the image exists; for what the catalog knows about it: envdoc explain {name}"))
        }
        Existence::Unknown { .. } => says,
    }
}

fn name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// The image of the engine; `None` if there is no engine or it does not have the image.
fn from_engine(endpoint: &str, name: &str, deadline: Instant) -> Result<Option<Image>, Error> {
    let host = Live::new(deadline).with_engines(Arc::new(Transports::default()));
    let inspected = match host.engine(endpoint, &format!("/images/{name}/json")) {
        Reading::Text(text) => text,
        Reading::Failed(why) if !matches!(why.kind, MissingKind::Http(404) | MissingKind::Refused) => {
            terminal::note(&format!("skipped the Docker engine: {why}"));
            return Ok(None);
        }
        _ => return Ok(None),
    };
    let history = match host.engine(endpoint, &format!("/images/{name}/history")) {
        Reading::Text(text) => Some(text),
        _ => None,
    };
    image::from_engine(name, &inspected, history.as_deref())
        .map(|image| Some(Image { engine: Some(endpoint.to_owned()), ..image }))
        .map_err(|why| {
            Error::new(Kind::Engine, format!("cannot read the engine's answer about {name}: {why}"))
        })
}
