//! `envdoc diagnose`.

use super::output::Output;
use catalog::Catalog;
use checks::CHECKS;
use std::path::PathBuf;

use super::format::Format;
use super::headings::OUTPUT;
use super::interrupts::Interrupts;
use super::logs::{Elsewhere, LOGS};
use diagnose::read::follow::{Followed, follow};
use diagnose::read::{self, Read, Source};
use diagnose::report::{findings, json, markdown, text};
use diagnose::root_cause::{self, Diagnosis, Machine};
use diagnostic::error::{Error, Kind};
use diagnostic::layout::Layout;
use diagnostic::terminal;
use facts::{Expected, Facts, gather};
use host::snapshot::Snapshot;

/// Find the root cause in the logs of a failed job, and how to fix it.
///
/// Names what failed first, on which rank and node. Reads files (also gzip or zstd), directories of them,
/// or - for standard input. Separates causes from consequences; if the log does not prove a cause, ranks
/// the candidates and shows how to confirm each. Error lines without an explanation are always shown.
///
/// Exit code 0: no failure found; 1: a root cause, an unexplained error, or a log of several that could not
/// be read; 2: nothing could be read.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Log files, directories of log files, or - for standard input.
    #[arg(required_unless_present_any = ["container", "cluster", "kernel"], value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    elsewhere: Elsewhere,

    /// Keep reading one file, one container or standard input, and report a root cause when it appears.
    ///
    /// Stops at the end of the container or of standard input, or with Ctrl-C.
    #[arg(long, conflicts_with_all = ["cluster", "kernel", "format"], help_heading = LOGS)]
    follow: bool,

    /// Confirm or rule out causes with the checks of a recorded machine (made with `envdoc snapshot`).
    #[arg(long, value_name = "FILE", help_heading = CONFIRMATION)]
    from: Option<PathBuf>,

    /// Confirm or rule out causes with the checks of this machine.
    #[arg(long, conflicts_with = "from", help_heading = CONFIRMATION)]
    here: bool,

    /// Also show the events in order.
    #[arg(long, help_heading = OUTPUT)]
    timeline: bool,

    /// Report format. Names of people, machines and networks are replaced in markdown only.
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = OUTPUT)]
    format: Format,

    /// Show all details of every cause, and lines that only resemble errors.
    #[arg(long, short, help_heading = OUTPUT)]
    verbose: bool,

    #[command(flatten)]
    pub(in crate::cli) output: Output,
}

const CONFIRMATION: &str = "Confirmation";

const EXAMPLES: &str = "\
Examples:
  envdoc diagnose job.log
  envdoc diagnose logs/ --here                # confirm causes on this machine
  envdoc diagnose --container trainer --kernel
  torchrun train.py 2>&1 | envdoc diagnose --follow -";

impl Args {
    pub(super) fn run(self, catalog: &'static Catalog, interrupts: &Interrupts) -> Result<u8, Error> {
        if self.follow {
            if self.output.is_given() {
                return Err(Error::new(
                    Kind::Usage,
                    "--follow prints as the log grows; it takes no --output",
                ));
            }
            return self.follow(catalog, interrupts);
        }
        let recorded = self.recorded()?;
        let facts = self.facts(catalog, recorded.as_ref(), interrupts)?;
        let mut reads = if self.paths.is_empty() { Vec::new() } else { reads(catalog, &self.paths)? };
        reads.extend(self.elsewhere.reads(catalog, recorded.as_ref())?);
        let diagnosis = root_cause::diagnose(catalog, &reads, facts.as_ref().map(of_machine));
        let text = match self.format {
            // For an issue: names of people, machines and networks are replaced.
            Format::Markdown => markdown::report(&diagnosis, self.timeline),
            format => format.write(
                || findings::report(&diagnosis, self.timeline),
                || text::report(&diagnosis, Layout::of_screen(self.verbose), self.timeline),
                || diagnostic::render::json::text(&json::report(&diagnosis)),
            )?,
        };
        terminal::print(&text)?;
        if !diagnosis.failed() {
            require_lines(&reads)?;
        }
        Ok(u8::from(diagnosis.failed() || !diagnosis.unread.is_empty()))
    }

    /// Follows a file, a container or standard input.
    fn follow(&self, catalog: &'static Catalog, interrupts: &Interrupts) -> Result<u8, Error> {
        let followed = match (self.paths.as_slice(), self.elsewhere.one_container()) {
            ([path], None) if path.as_os_str() == "-" => Followed::Standard,
            ([path], None) => Followed::File(path),
            ([], Some(name)) => Followed::Container(name),
            _ => {
                return Err(Error::new(Kind::Usage, "--follow reads one file or one container")
                    .hint("run it once per log"));
            }
        };
        let facts = self.facts(catalog, self.recorded()?.as_ref(), interrupts)?;
        let show = |diagnosis: &Diagnosis| {
            terminal::print(&text::report(diagnosis, Layout::of_screen(self.verbose), self.timeline))
        };
        let mut reported = Vec::new();
        let (mut last, mut lines) = (None, 0);
        let failed = follow(catalog, followed, &mut |read| {
            lines = read.lines;
            let diagnosis = root_cause::diagnose(catalog, &[read], facts.as_ref().map(of_machine));
            let news: Vec<String> = diagnosis.causes.iter().map(|cause| cause.id.clone()).collect();
            let failed = diagnosis.failed();
            if !news.is_empty() && news != reported {
                reported = news;
                show(&diagnosis)?;
                last = None;
            } else if reported.is_empty() || !diagnosis.remarks.is_empty() {
                last = Some(diagnosis);
            }
            Ok(failed)
        })?;
        // At the end also what was no news meanwhile: that there was nothing, or how the container ended.
        last.iter().try_for_each(show)?;
        if lines == 0 { Err(no_line()) } else { Ok(u8::from(failed)) }
    }

    /// The machine of --from.
    fn recorded(&self) -> Result<Option<Snapshot>, Error> {
        let Some(file) = &self.from else { return Ok(None) };
        let is_standard_input = |path: &PathBuf| path.as_os_str() == "-";
        if is_standard_input(file) && self.paths.iter().any(is_standard_input) {
            let message = "only one of the logs and --from can be standard input (-)";
            return Err(Error::new(Kind::Usage, message));
        }
        Snapshot::named(file).map(Some)
    }

    fn facts(
        &self,
        catalog: &'static Catalog,
        recorded: Option<&Snapshot>,
        interrupts: &Interrupts,
    ) -> Result<Option<Facts>, Error> {
        if self.here {
            let (_, facts) = super::read_machine(catalog, None, None, Expected::default(), interrupts)?;
            return Ok(Some(facts));
        }
        let of_snapshot =
            |snapshot: &Snapshot| gather::recorded(&snapshot.clone().host(), Expected::default(), catalog);
        Ok(recorded.map(of_snapshot))
    }
}

/// An error if nothing was read: then finding nothing means nothing.
pub(super) fn require_lines(reads: &[Read]) -> Result<(), Error> {
    let unread = |read: &&Read| read.unread.is_some();
    let names: Vec<&str> = reads.iter().filter(unread).map(|read| read.name.as_str()).collect();
    if !names.is_empty() && reads.iter().all(|read| read.unread.is_some() || read.lines == 0) {
        return Err(Error::new(Kind::File, format!("could not read {}", names.join(", "))));
    }
    match reads.iter().all(|read| read.lines == 0) {
        true => Err(no_line()),
        false => Ok(()),
    }
}

fn no_line() -> Error {
    Error::new(Kind::File, "the logs are empty: no line to diagnose")
}

pub(super) fn reads(catalog: &'static Catalog, paths: &[PathBuf]) -> Result<Vec<Read>, Error> {
    let sources = read::sources(paths)?;
    if !sources.iter().any(|source| !matches!(source, Source::LeftOut { .. })) {
        return Err(
            Error::new(Kind::File, "found no log files").hint("name the files instead of the directory")
        );
    }
    read::read_all(catalog, &sources)
}

pub(super) fn of_machine(facts: &Facts) -> Machine<'_> {
    Machine { facts, checks: CHECKS }
}
