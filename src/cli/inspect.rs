//! `envdoc inspect`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::format::Format;
use super::registry;
use ::image::inspect::image::{self, Image, processor};
use ::image::inspect::remote::{self, Missing, Question};
use ::image::inspect::report::{self as report, Machine};
use ::image::inspect::{Reference, judge};
use catalog::images::{self, Existence};
use diagnostic::error::{Error, Kind};
use diagnostic::layout::Layout;
use diagnostic::render::json;
use diagnostic::terminal;
use docker::client;
use docker::road::Roads;
use facts::{Expected, Facts, gather};
use host::live::Live;
use host::snapshot::Snapshot;
use host::{Host, MissingKind, Reading};
use std::sync::Arc;

/// Tell what an image is, without pulling it, and whether it runs on a machine.
///
/// The engine of this machine is asked first; an image that it does not have is read from its registry: manifest and configuration,
/// some kilobytes. With --here or --from the image is held against machines: processor, driver, CUDA, GPUs, NVIDIA's start conditions.
/// Exit code 0: nothing is against it; 1: it does not run on a machine, or does not exist; 2: the image could not be read.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The image: name:tag, registry/name:tag, name@sha256:….
    #[arg(value_name = "IMAGE")]
    image: String,

    /// Recorded machines (made with `envdoc snapshot`) on which it is to run, one or several.
    #[arg(long, value_name = "FILE")]
    from: Vec<PathBuf>,

    /// It is to run on this machine.
    #[arg(long)]
    here: bool,

    /// Engine: unix:///path, ssh://user@host[:port][/socket] or tcp://address:port; else the one that the docker program would use.
    #[arg(long, value_name = "URL")]
    host: Option<String>,

    /// Ask the registry, even where the engine of this machine has an image of that name.
    #[arg(long)]
    remote: bool,

    /// Processor whose image is read where a name stands for several: x86_64 (amd64), aarch64 (arm64); else that of the machines, else x86_64.
    #[arg(long, value_name = "ARCH")]
    arch: Option<String>,

    /// Ask the registry over plain HTTP, as registries on this machine always are.
    #[arg(long)]
    plain_http: bool,

    /// Certificates to trust besides the system's, PEM.
    #[arg(long, value_name = "FILE")]
    ca_cert: Option<PathBuf>,

    /// Seconds that the engine and the registry may take.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = super::seconds)]
    timeout: Duration,

    /// How the answer is written.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Exit with 3 where something could not be judged and nothing was found.
    #[arg(long)]
    strict: bool,

    /// Show all layers, variables and labels.
    #[arg(long, short)]
    verbose: bool,
}

impl Args {
    /// Reads the image, judges it, reports.
    pub fn run(self) -> Result<u8, Error> {
        let reference = Reference::parse(&self.image).map_err(|why| Error::new(Kind::Usage, why))?;
        let machines = self.machines()?;
        let image = match self.read(&reference, &machines)? {
            Ok(image) => image,
            Err(why) => {
                terminal::note(&why);
                return Ok(1);
            }
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

    /// The image from the engine or the registry; `Err` inside: it does not exist.
    fn read(
        &self,
        reference: &Reference,
        machines: &[(String, Facts)],
    ) -> Result<Result<Image, String>, Error> {
        let client = client::find(self.host.as_deref())?;
        if !self.remote && reference.digest.is_none() {
            let deadline = Instant::now() + self.timeout.min(Duration::from_secs(5));
            if let Some(image) = from_engine(&client.endpoint, &reference.familiar(), deadline)? {
                return Ok(Ok(image));
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
        match remote::read(&question) {
            Ok(image) => Ok(Ok(image)),
            Err(Missing::NotThere(why)) => Ok(Err(why)),
            Err(Missing::Unknown(why)) => {
                let mut error = Error::new(Kind::Network, format!("{reference} could not be read: {why}"));
                if why.contains("login") {
                    error = error.hint(format!("docker login {}", reference.registry));
                }
                if why.contains("certificate") || why.contains("UnknownIssuer") {
                    error = error
                        .hint("--ca-cert FILE trusts the certificates of a registry or a proxy of one's own");
                }
                Err(match images::exists(&reference.familiar()) {
                    Existence::No { why, .. } => {
                        let nearest = images::nearest(&reference.familiar());
                        let nearest: Vec<String> = nearest.iter().map(|image| image.reference()).collect();
                        let instead = match nearest.is_empty() {
                            true => String::new(),
                            false => format!("; nearest: {}", nearest.join(", ")),
                        };
                        error.hint(format!(
                            "envdoc's catalog knows that there is no such image: {why}{instead}"
                        ))
                    }
                    Existence::Yes(_) => {
                        let name = reference.familiar();
                        error.hint(format!(
                            "it exists: envdoc explain {name} tells what the catalog knows of it"
                        ))
                    }
                    Existence::Unknown { .. } => error,
                })
            }
        }
    }

    /// The machines that were named.
    fn machines(&self) -> Result<Vec<(String, Facts)>, Error> {
        let mut machines = Vec::new();
        for path in &self.from {
            let facts = gather::recorded(&Snapshot::open(path)?.host(), Expected::default());
            machines.push((name(path), facts));
        }
        if self.here {
            let (_, facts) = super::look(None, Duration::from_secs(2), Expected::default())?;
            machines.push(("this machine".to_owned(), facts));
        }
        Ok(machines)
    }
}

fn name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// The image as the engine of this machine has it; `None` where there is no engine, or it does not have it.
fn from_engine(endpoint: &str, name: &str, deadline: Instant) -> Result<Option<Image>, Error> {
    let host = Live::new(deadline).with_engines(Arc::new(Roads::default()));
    let inspected = match host.engine(endpoint, &format!("/images/{name}/json")) {
        Reading::Text(text) => text,
        Reading::Failed(why) if !matches!(why.kind, MissingKind::Http(404) | MissingKind::Refused) => {
            terminal::note(&format!("the engine was not asked: {why}"));
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
        .map_err(|why| Error::new(Kind::Engine, format!("what the engine says of {name}: {why}")))
}
