//! `envdoc smoke`.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;

use super::running::runtime;
use crate::error::{Error, Kind};
use crate::report::smoke::{self as report, page, plot};
use crate::report::text::Layout;
use crate::report::{file, json, screen};
use crate::smoke::bandwidth;
use crate::smoke::ladder::{self, Options, Place};
use crate::smoke::local::Local;
use crate::smoke::outcome::{Outcome, Verdict};

/// The most ranks on one machine.
const RANKS_MAX: usize = 256;

/// Run an all-reduce between ranks, rung by rung, with a verdict.
///
/// Each rung has a deadline, and what breaks is named by the first rung that does not hold: TCP between all pairs, rendezvous, every
/// element of a sum, what the path carries, bandwidth over size. Bandwidths are those of nccl-tests: algbw is bytes over time, busbw is
/// algbw times 2(n-1)/n. Exit code 0: ok; 1: slow, wrong or failed; 2: it could not be tried.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Ranks on this machine, over the loopback.
    #[arg(long, required = true)]
    local: bool,

    /// How many ranks.
    #[arg(long, value_name = "N", default_value = "2", value_parser = ranks)]
    ranks: usize,

    /// Sizes in bytes: every power of two between two, or a list: 4K,1M,64M.
    #[arg(long, value_name = "SIZES", default_value = bandwidth::SIZES)]
    sizes: String,

    /// Rounds of each size that count; unless said, as many as take 0.2 s, 3 to 50.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    iterations: Option<u32>,

    /// Seconds that a rung before the bandwidths may take.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = super::seconds)]
    timeout: Duration,

    /// Seconds that a connection between ranks may stand still.
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = super::seconds)]
    stall: Duration,

    /// For tests of this test: turn a byte of an element of a rank.
    #[arg(long, value_name = "RANK:ELEMENT", hide = true, value_parser = corrupt)]
    corrupt: Option<(usize, usize)>,

    /// How the report is written.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Write the report as a page with the plot too.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Write the plot too: bus bandwidth over size.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Write over files that are there.
    #[arg(long)]
    force: bool,

    /// Show every size.
    #[arg(long, short)]
    verbose: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// For machines; stable keys, schema in docs/schemas/smoke.json.
    Json,
    /// For CI systems.
    Junit,
    /// For issues and pull requests.
    Markdown,
}

impl Args {
    /// Climbs, reports.
    pub fn run(self) -> Result<u8, Error> {
        let sizes = bandwidth::sizes(&self.sizes)
            .map_err(|why| Error::new(Kind::Usage, format!("--sizes {}: {why}", self.sizes)))?;
        if let Some((rank, _)) = self.corrupt.filter(|(rank, _)| *rank >= self.ranks) {
            return Err(Error::new(Kind::Usage, format!("there is no rank {rank} of {}", self.ranks)));
        }
        let options = Options {
            sizes,
            iterations: self.iterations.map(|count| count as usize),
            deadline: self.timeout,
            stall: self.stall,
            corrupt: self.corrupt,
        };
        let runtime = runtime()?;
        let outcome = runtime.block_on(async {
            let local = Local::start(self.ranks).await?;
            let outcome = until_interrupted(&local.places, &options).await;
            local.end().await;
            outcome
        })?;
        self.print(&outcome)?;
        Ok(u8::from(outcome.verdict != Verdict::Ok))
    }

    fn print(&self, outcome: &Outcome) -> Result<(), Error> {
        for (path, text) in [(&self.html, page::html(outcome)), (&self.svg, plot::svg(outcome))] {
            if let Some(path) = path {
                file::write(path, &text, self.force)?;
            }
        }
        screen::print(&match self.format {
            Format::Json => json::text(&report::json(outcome))?,
            Format::Junit => report::junit(outcome)?,
            Format::Markdown => report::markdown(outcome),
            Format::Text => report::text::report(outcome, &Layout::of_screen(self.verbose)),
        })
    }
}

async fn until_interrupted(places: &[Place], options: &Options) -> Result<Outcome, Error> {
    let tell = |says: &str| {
        if screen::redraws() {
            screen::note(says);
        }
    };
    tokio::select! {
        outcome = ladder::climb(places, options, &tell) => Ok(outcome),
        _ = tokio::signal::ctrl_c() => {
            Err(Error::new(Kind::Interrupted, "interrupted; the ranks are ended".to_owned()))
        }
    }
}

fn ranks(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(ranks) if (2..=RANKS_MAX).contains(&ranks) => Ok(ranks),
        _ => Err(format!("must be 2 to {RANKS_MAX}")),
    }
}

fn corrupt(text: &str) -> Result<(usize, usize), String> {
    let both = text.split_once(':').and_then(|(rank, index)| Some((rank.parse().ok()?, index.parse().ok()?)));
    both.ok_or_else(|| "RANK:ELEMENT, two numbers".into())
}
