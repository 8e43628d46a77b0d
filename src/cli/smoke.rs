//! `envdoc smoke`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;

use super::running::{interrupted, runtime};
use ::cluster::smoke::local::Local;
use ::cluster::smoke::nccl::phases as nccl_phases;
use ::cluster::smoke::nccl::workers::Site;
use ::cluster::smoke::outcome::{Outcome, Verdict};
use ::cluster::smoke::phases::{self, Options, When};
use ::cluster::smoke::progress::{Event, Progress};
use ::cluster::smoke::report::live::Live;
use ::cluster::smoke::report::{self as report, page, plot};
use ::cluster::smoke::transport::ExpectedTransport;
use ::cluster::smoke::{bandwidth, baseline, cluster};
use ::cluster::worker::bundle::Bundle;
use ::cluster::{fan_out, reach};
use diagnostic::error::{Error, Kind};
use diagnostic::layout::Layout;
use diagnostic::render::json;
use diagnostic::terminal;
use host::file;

/// The most ranks on one machine.
const RANKS_MAX: usize = 256;

/// Run an all-reduce between ranks, rung by rung, with a verdict.
///
/// Each rung has a deadline, and what breaks is named by the first rung that does not hold. In a cluster that `envdoc cluster up` made:
/// containers, envdoc's worker in each, /dev/shm, the interface that NCCL uses, names; then, there and with --local: TCP between all pairs,
/// the largest packets, ssh where the launcher needs it, rendezvous, every element of a sum, what the path carries, bandwidth over size.
/// Nothing of it stays in the containers. Bandwidths are those of nccl-tests: algbw is bytes over time, busbw is
/// algbw times 2(n-1)/n. Exit code 0: ok; 1: slow, wrong or failed; 2: it could not be tried.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The cluster's description: a rank in every container of it.
    #[arg(long, short, value_name = "FILE", default_value = "cluster.yaml")]
    file: PathBuf,

    /// Ranks on this machine, over the loopback, in place of a cluster's.
    #[arg(long, conflicts_with = "file")]
    local: bool,

    /// How many ranks on this machine.
    #[arg(long, value_name = "N", default_value = "2", value_parser = ranks, requires = "local")]
    ranks: usize,

    /// NCCL on so many GPUs of this machine, in place of ranks over the loopback.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64), requires = "local", conflicts_with = "ranks")]
    gpus: Option<u32>,

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

    /// Try every pair of ranks alone too, to find the one bad node or link; done by itself where the ring of more than two is slow or breaks.
    #[arg(long)]
    pairs: bool,

    /// Have NCCL sum on every GPU, one rank each, with the libnccl that the image's torch would load; unless said, where the containers have GPUs.
    #[arg(long, value_name = "WHEN", value_enum, num_args = 0..=1, require_equals = true, default_value = "auto",
        default_missing_value = "always", conflicts_with = "local")]
    nccl: When,

    /// Have the image's own torch do an all-reduce too: with NCCL where it sees GPUs, else with Gloo, one process for each slot.
    #[arg(long, conflicts_with = "local")]
    torch: bool,

    /// Have DeepSpeed train a tiny model too, 20 steps of ZeRO-2: started by its own launcher over ssh and hostfile, with the same loss on
    /// all ranks.
    #[arg(long, conflicts_with = "local")]
    deepspeed: bool,

    /// The transport that NCCL must use, as its own log tells: implies --nccl=always. InfiniBand that is there and unused is a failure without
    /// it too.
    #[arg(long, value_name = "TRANSPORT", value_enum)]
    expect_transport: Option<ExpectedTransport>,

    /// Keep this run, if it is good, to hold later ones against.
    #[arg(long, value_name = "FILE")]
    save_baseline: Option<PathBuf>,

    /// Hold this run against one that was kept: slow where a large size has less than 75 % of its bandwidth, or a small one takes more than
    /// twice its time.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// For tests of this test: turn a byte of an element of a rank.
    #[arg(long, value_name = "RANK:ELEMENT", hide = true, value_parser = corrupt)]
    corrupt: Option<(usize, usize)>,

    /// For tests of this test: wait so many seconds when this rung begins, for something to happen.
    #[arg(long, value_name = "RUNG:SECONDS", hide = true, value_parser = pause)]
    pause: Option<(String, Duration)>,

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
        if self.local && self.gpus.is_none() && self.expect_transport.is_some() {
            return Err(Error::new(
                Kind::Usage,
                "--expect-transport is about NCCL, and ranks over the loopback have none",
            )
            .hint("`envdoc smoke --local --gpus N` has NCCL sum on N GPUs of this machine"));
        }
        let options = Options {
            sizes,
            iterations: self.iterations.map(|count| count as usize),
            deadline: self.timeout,
            stall: self.stall,
            pairs: self.pairs,
            nccl: if self.expect_transport.is_some() { When::Always } else { self.nccl },
            torch: self.torch,
            deepspeed: self.deepspeed,
            transport: self.expect_transport,
            corrupt: self.corrupt,
        };
        let kept = self.baseline.as_deref().map(read_baseline).transpose()?;
        let mut outcome = match (self.local, self.gpus) {
            (true, Some(gpus)) => self.local_gpus(gpus as usize, &options),
            (true, None) => self.local(&options),
            (false, _) => self.cluster(&options),
        }?;
        if let Some((path, kept)) = &kept
            && outcome.verdict != Verdict::Failed
        {
            baseline::compare(&mut outcome, kept)
                .map_err(|why| Error::new(Kind::Usage, format!("the baseline {path} is of no use: {why}")))?;
        }
        if let Some(path) = &self.save_baseline {
            match baseline::keep(&outcome, &jiff::Timestamp::now().strftime("%FT%TZ").to_string()) {
                Ok(text) => file::write(path, &text, self.force)?,
                Err(why) => outcome.remarks.push(format!("{} is not written: {why}", path.display())),
            }
        }
        self.print(&outcome)?;
        Ok(u8::from(outcome.verdict != Verdict::Ok))
    }

    fn local(&self, options: &Options) -> Result<Outcome, Error> {
        self.corruptible(self.ranks)?;
        runtime()?.block_on(async {
            let local = Local::start(self.ranks).await?;
            let live = Live::new((0..self.ranks).map(|rank| format!("rank {rank}")).collect());
            let progress = self.progress_handler(&live);
            let outcome = until_interrupted(phases::run(&local.places, options, Progress(&progress))).await;
            live.end();
            local.end().await;
            outcome.ok_or_else(|| interruption(&[]))
        })
    }

    fn cluster(&self, options: &Options) -> Result<Outcome, Error> {
        let (_, plan) = super::cluster::read(&self.file)?;
        if plan.nodes.len() < 2 {
            return Err(Error::new(Kind::Usage, "an all-reduce needs two nodes, and this cluster has one")
                .hint("`envdoc smoke --local --ranks 2` tries one machine"));
        }
        self.corruptible(plan.nodes.len())?;
        let bundle = Bundle::make()?;
        let runtime = runtime()?;
        let outcome = runtime.block_on(async {
            let reached = until_interrupted(reach::connect(&plan)).await.ok_or_else(|| interruption(&[]))?;
            let live = Live::new(plan.nodes.iter().map(|node| node.name.clone()).collect());
            let progress = self.progress_handler(&live);
            let mark = fan_out::mark();
            let running = cluster::run(&plan, &reached, &bundle, options, &mark, Progress(&progress));
            let outcome = until_interrupted(running).await;
            live.end();
            let left =
                cluster::leave(&reached, (options.torch || options.deepspeed).then_some(mark.as_str())).await;
            match outcome {
                Some(mut outcome) => {
                    outcome.remarks.extend(left);
                    Ok(outcome)
                }
                None => Err(interruption(&left)),
            }
        });
        // A connection that hangs must not hold envdoc.
        runtime.shutdown_background();
        outcome
    }

    /// NCCL on the GPUs of this machine.
    fn local_gpus(&self, gpus: usize, options: &Options) -> Result<Outcome, Error> {
        let mut outcome = Outcome::new((0..gpus).map(|gpu| format!("GPU {gpu}")).collect());
        outcome.transport = "nccl".into();
        let runtime = runtime()?;
        let live = Live::new(Site::Local.nodes());
        let progress = self.progress_handler(&live);
        let running = nccl_phases::run(&Site::Local, Some(gpus), options, Progress(&progress), &mut outcome);
        let finished = runtime.block_on(until_interrupted(running));
        live.end();
        runtime.shutdown_background();
        match finished {
            Some(_) => Ok(outcome),
            None => Err(interruption(&[])),
        }
    }

    /// Who is told what goes on.
    fn progress_handler<'t>(&'t self, live: &'t Live) -> impl Fn(Event<'_>) + 't {
        let paused = std::cell::Cell::new(false);
        move |step| {
            live.step(step);
            if let (Event::Phase { name, .. }, Some((phase, time))) = (step, &self.pause)
                && name == phase
                && !paused.replace(true)
            {
                // Everything stands still meanwhile, as in a caller that is stopped.
                std::thread::sleep(*time);
            }
        }
    }

    fn corruptible(&self, ranks: usize) -> Result<(), Error> {
        match self.corrupt.filter(|(rank, _)| *rank >= ranks) {
            Some((rank, _)) => Err(Error::new(Kind::Usage, format!("there is no rank {rank} of {ranks}"))),
            None => Ok(()),
        }
    }

    fn print(&self, outcome: &Outcome) -> Result<(), Error> {
        for (path, text) in [(&self.html, page::html(outcome)), (&self.svg, plot::svg(outcome))] {
            if let Some(path) = path {
                file::write(path, &text, self.force)?;
            }
        }
        terminal::print(&match self.format {
            Format::Json => json::text(&report::json(outcome))?,
            Format::Junit => report::junit(outcome)?,
            Format::Markdown => report::markdown(outcome),
            Format::Text => report::text::report(outcome, &Layout::of_screen(self.verbose)),
        })
    }
}

/// A run that was kept, and the name of its file.
fn read_baseline(path: &Path) -> Result<(String, baseline::Baseline), Error> {
    let name = path.display().to_string();
    let text = file::read(path)?.ok_or_else(|| {
        Error::new(Kind::File, format!("there is no file {name}")).hint("`--save-baseline FILE` writes one")
    })?;
    let kept = baseline::parse(&text)
        .map_err(|why| Error::new(Kind::File, format!("{name} is no baseline of envdoc: {why}")))?;
    Ok((name, kept))
}

/// What came of it; `None`: Ctrl-C, or SIGTERM.
async fn until_interrupted<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        came = work => Some(came),
        () = interrupted() => None,
    }
}

fn interruption(left: &[String]) -> Error {
    match left {
        [] => Error::new(Kind::Interrupted, "interrupted; the ranks are ended".to_owned()),
        left => Error::new(Kind::Interrupted, format!("interrupted, but {}", left.join("; "))),
    }
}

fn ranks(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(ranks) if (2..=RANKS_MAX).contains(&ranks) => Ok(ranks),
        _ => Err(format!("must be 2 to {RANKS_MAX}")),
    }
}

fn pause(text: &str) -> Result<(String, Duration), String> {
    let both =
        text.split_once(':').and_then(|(phase, seconds)| Some((phase.to_owned(), seconds.parse().ok()?)));
    both.map(|(phase, seconds)| (phase, Duration::from_secs(seconds))).ok_or_else(|| "RUNG:SECONDS".into())
}

fn corrupt(text: &str) -> Result<(usize, usize), String> {
    let both = text.split_once(':').and_then(|(rank, index)| Some((rank.parse().ok()?, index.parse().ok()?)));
    both.ok_or_else(|| "RANK:ELEMENT, two numbers".into())
}
