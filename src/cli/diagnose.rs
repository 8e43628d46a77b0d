//! `envdoc diagnose`.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;

use super::logs::{Elsewhere, Followed, follow};
use diagnose::read::{self, Read, Source};
use diagnose::report::{json, markdown, text};
use diagnose::weigh::{self, Diagnosis};
use diagnostic::error::{Error, Kind};
use diagnostic::layout::Layout;
use diagnostic::terminal;
use facts::{Expected, Facts, gather};
use host::snapshot::Snapshot;

/// Read logs of a job that failed and say what failed first, on which rank and node, what it means, and what to type.
///
/// Files (also packed with gzip or zstd), folders of them, or - for standard input. What is only a consequence is told from the cause; where
/// the log proves none, the candidates are ranked with what would decide between them. Lines that tell of a failure and that nothing
/// explains are always shown.
///
/// Exit code 0: nothing failed; 1: a cause, or an error that nothing explains; 2: something could not be read.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Logs, folders of logs, or - for standard input.
    #[arg(required_unless_present_any = ["container", "cluster", "kernel"], value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    elsewhere: Elsewhere,

    /// Go on reading one file as it grows, one container or standard input until it ends, and tell the cause as soon as it is there; until
    /// Ctrl-C.
    #[arg(long, conflicts_with_all = ["cluster", "kernel", "format"])]
    follow: bool,

    /// Let the checks that a cause points to look at a recorded machine (made with `envdoc snapshot`): they confirm it or rule it out.
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,

    /// Let them look at this machine.
    #[arg(long, conflicts_with = "from")]
    here: bool,

    /// How the report is written.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Also tell what happened in which order.
    #[arg(long)]
    timeline: bool,

    /// Everything of every cause, and lines that only look like errors.
    #[arg(long, short)]
    verbose: bool,
}

/// Looking at this machine may take so long; what has not answered by then is unknown.
const LOOKING: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// For machines; stable keys, schema in docs/schemas/diagnose.json.
    Json,
    /// For an issue: names of people, machines and networks are replaced.
    Markdown,
}

impl Args {
    /// Reads, weighs, reports.
    pub fn run(self) -> Result<u8, Error> {
        if self.follow {
            return self.go_on();
        }
        let facts = self.facts()?;
        let mut reads = if self.paths.is_empty() { Vec::new() } else { reads(&self.paths)? };
        reads.extend(self.elsewhere.reads(self.from.as_deref())?);
        let diagnosis = weigh::weigh(&reads, facts.as_ref());
        let text = match self.format {
            Format::Text => text::report(&diagnosis, Layout::of_screen(self.verbose), self.timeline),
            Format::Json => diagnostic::render::json::text(&json::report(&diagnosis))?,
            Format::Markdown => markdown::report(&diagnosis, self.timeline),
        };
        terminal::print(&text)?;
        if !diagnosis.failed() {
            seen(&reads)?;
        }
        Ok(u8::from(diagnosis.failed()))
    }

    /// Follows a file, a container or standard input.
    fn go_on(&self) -> Result<u8, Error> {
        let followed = match (self.paths.as_slice(), self.elsewhere.one_container()) {
            ([path], None) if path.as_os_str() == "-" => Followed::Standard,
            ([path], None) => Followed::File(path),
            ([], Some(name)) => Followed::Container(name),
            _ => {
                return Err(Error::new(Kind::Usage, "--follow reads one file or one container")
                    .hint("start it once for each"));
            }
        };
        let facts = self.facts()?;
        let tell = |diagnosis: &Diagnosis| {
            terminal::print(&text::report(diagnosis, Layout::of_screen(self.verbose), self.timeline))
        };
        let mut told = Vec::new();
        let (mut last, mut lines) = (None, 0);
        let failed = follow(&followed, &mut |read| {
            lines = read.lines;
            let diagnosis = weigh::weigh(&[read], facts.as_ref());
            let news: Vec<String> = diagnosis.causes.iter().map(|cause| cause.id.clone()).collect();
            let failed = diagnosis.failed();
            if !news.is_empty() && news != told {
                told = news;
                tell(&diagnosis)?;
                last = None;
            } else if told.is_empty() || !diagnosis.remarks.is_empty() {
                last = Some(diagnosis);
            }
            Ok(failed)
        })?;
        // At the end also what was no news meanwhile: that there was nothing, or how the container ended.
        last.iter().try_for_each(tell)?;
        if lines == 0 { Err(no_line()) } else { Ok(u8::from(failed)) }
    }

    fn facts(&self) -> Result<Option<Facts>, Error> {
        if self.here {
            return super::look(None, LOOKING, Expected::default()).map(|(_, facts)| Some(facts));
        }
        let Some(file) = &self.from else { return Ok(None) };
        Ok(Some(gather::recorded(&Snapshot::open(file)?.host(), Expected::default())))
    }
}

/// That nothing was found tells nothing where nothing could be looked at.
fn seen(reads: &[Read]) -> Result<(), Error> {
    let unread: Vec<&str> = reads.iter().filter(|read| read.unread).map(|read| read.name.as_str()).collect();
    if !unread.is_empty() {
        return Err(Error::new(Kind::File, format!("could not be read: {}", unread.join(", "))));
    }
    match reads.iter().all(|read| read.lines == 0) {
        true => Err(no_line()),
        false => Ok(()),
    }
}

fn no_line() -> Error {
    Error::new(Kind::File, "there was not one line to read: nothing is known of the job")
}

fn reads(paths: &[PathBuf]) -> Result<Vec<Read>, Error> {
    let sources = read::sources(paths)?;
    if !sources.iter().any(|source| !matches!(source, Source::LeftOut { .. })) {
        return Err(Error::new(Kind::File, "there is no log to read here").hint("name the files themselves"));
    }
    sources.iter().map(read::read).collect()
}
