//! `envdoc snapshot`.

use catalog::Catalog;
use std::path::PathBuf;
use std::time::Duration;

use super::interrupts::Interrupts;
use diagnostic::error::Error;
use diagnostic::render::json;
use diagnostic::{terminal, visible};
use facts::Expected;
use host::file;
use host::snapshot::Snapshot;

/// Record what `envdoc check` reads here, for --from and bug reports.
///
/// Host names, addresses, serial numbers, UUIDs and user names are replaced by placeholders, credentials by
/// `***`. Files and command lines are reduced to known settings.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Write to FILE instead of standard output (-).
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace FILE if it exists.
    #[arg(long, requires = "output")]
    force: bool,

    /// Keep names, addresses and serial numbers.
    #[arg(long)]
    no_redact: bool,

    /// Record the file system below DIR instead of this machine.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,

    /// Overall timeout for reading the machine, in seconds [default: 2, on a busy machine up to 8].
    #[arg(long, value_name = "SECONDS", value_parser = super::values::seconds)]
    timeout: Option<Duration>,
}

const EXAMPLES: &str = "\
Examples:
  sudo envdoc snapshot -o server.json          # for `envdoc check --from server.json`
  ssh gpu1 envdoc snapshot > gpu1.json         # from another machine";

impl Args {
    /// Gathers and writes.
    pub(super) fn run(self, catalog: &'static Catalog, interrupts: &Interrupts) -> Result<u8, Error> {
        let output = super::output::file(self.output.as_deref());
        output.map_or(Ok(()), |path| file::free(path, self.force))?;
        let (recorder, _) = super::read_machine(
            catalog,
            self.root.as_deref(),
            self.timeout,
            Expected::default(),
            interrupts,
        )?;
        let mut snapshot = Snapshot::of(recorder.readings());
        if !self.no_redact {
            snapshot = snapshot.redact();
        }
        let text = json::text(&snapshot)?;
        match output {
            None => terminal::print(&text)?,
            Some(path) => {
                file::write_private(path, &text, self.force)?;
                let kept = if self.no_redact { "kept" } else { "replaced by placeholders" };
                terminal::note(&format!(
                    "wrote {} readings to {}; names, addresses and serial numbers are {kept}",
                    snapshot.readings.len(),
                    visible::path(path)
                ));
            }
        }
        Ok(0)
    }
}
