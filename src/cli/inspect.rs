//! `envdoc inspect`.

use super::output::Output;
use catalog::Catalog;
use checks::CHECKS;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::format::Format;
use super::headings::{CONNECTION, MACHINES, OUTPUT};
use super::interrupts::Interrupts;
use ::build::inspect::{ImageSource, InspectError, InspectRequest, inspect};
use ::cluster::waiting::Waiting;
use ::image::inspect::report::{self, Machine};
use ::image::inspect::{Reference, judge};
use diagnostic::error::{Error, Kind};
use diagnostic::layout::Layout;
use diagnostic::render::json;
use diagnostic::terminal;
use facts::{Expected, Facts, gather};
use host::snapshot::Snapshot;

/// Show what an image contains, and check whether it runs on a machine.
///
/// Nothing is pulled. Reads the image from the Docker engine, else its manifest and configuration (a few
/// kilobytes) from its registry. With --here or --from, checks it against the architecture, driver, CUDA,
/// GPUs and NVIDIA start conditions of the machines.
///
/// Exit code 0: no problem found; 1: it does not run on a machine, or does not exist; 2: the image could not
/// be read; 3: with --strict, something could not be checked.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
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

    #[command(flatten)]
    pub(in crate::cli) output: Output,
}

const EXAMPLES: &str = "\
Examples:
  envdoc inspect nvidia/cuda:12.4.1-devel-ubuntu22.04
  envdoc inspect team/train:1.0 --here                 # does it run on this machine?
  envdoc inspect team/train:1.0 --from gpu1.json       # ... on a recorded machine?";

impl Args {
    pub(super) fn run(self, catalog: &'static Catalog, interrupts: &Interrupts) -> Result<u8, Error> {
        let reference =
            Reference::parse(&self.image).map_err(|why| Error::new(Kind::Usage, why.to_string()))?;
        let machines = self.machines(catalog, interrupts)?;
        let waiting = Waiting::new(self.waits_for());
        let inspected =
            inspect(&self.request(catalog, reference, &machines), &|text: &str| waiting.note(text));
        drop(waiting);
        let image = match inspected {
            Ok(image) => image,
            Err(InspectError::NotFound(error)) => return self.not_found(&error.to_string()),
            Err(InspectError::Other(error)) => return Err(error),
        };
        let judged: Vec<Machine> = machines
            .iter()
            .map(|(name, facts)| Machine { name: name.clone(), judged: judge(&image, facts, CHECKS) })
            .collect();
        let text = || report::text(catalog, &image, &judged, Layout::of_screen(self.verbose));
        let json = || json::text(&report::json(catalog, &image, &judged));
        let text = self.format.write(|| report::report(&image, &judged), text, json)?;
        terminal::print(&text)?;
        let summary = report::summary(&judged);
        Ok(match (summary.error, summary.unknown) {
            (1.., _) => 1,
            (0, 1..) if self.strict => 3,
            _ => 0,
        })
    }

    fn waits_for(&self) -> String {
        let of = if self.remote { "the registry" } else { "the engine or the registry" };
        format!("waiting for {of}: {}", self.image)
    }

    fn not_found(&self, why: &str) -> Result<u8, Error> {
        let text = || report::not_found_text(why, Layout::of_screen(self.verbose));
        let json = || json::text(&report::not_found_json(why));
        terminal::print(&self.format.write(|| report::not_found(&self.image, why), text, json)?)?;
        Ok(1)
    }

    fn request(
        &self,
        catalog: &'static Catalog,
        reference: Reference,
        machines: &[(String, Facts)],
    ) -> InspectRequest {
        let of_machine =
            || machines.first().and_then(|(_, facts)| facts.system.architecture.known().cloned());
        InspectRequest {
            catalog,
            reference,
            architecture: self.arch.clone().or_else(of_machine).unwrap_or_else(|| "x86_64".into()),
            host: self.host.clone(),
            source: if self.remote { ImageSource::Registry } else { ImageSource::EngineThenRegistry },
            plain_http: self.plain_http,
            certificates: self.ca_cert.clone(),
            timeout: self.timeout,
        }
    }

    fn machines(
        &self,
        catalog: &'static Catalog,
        interrupts: &Interrupts,
    ) -> Result<Vec<(String, Facts)>, Error> {
        let mut machines = Vec::new();
        for path in &self.from {
            let facts = gather::recorded(&Snapshot::open(path)?.host(), Expected::default(), catalog);
            machines.push((name(path), facts));
        }
        if self.here {
            let (_, facts) = super::read_machine(catalog, None, None, Expected::default(), interrupts)?;
            machines.push(("this machine".to_owned(), facts));
        }
        Ok(machines)
    }
}

/// The name of a snapshot's file, as reports name the machine.
pub(super) fn name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}
