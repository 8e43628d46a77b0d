//! `envdoc smoke`.

mod kept;

use super::output::Output;
use super::run;
use catalog::Catalog;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::cluster::{Locking, first_engine, lock_notice, lock_refused, path};
use super::format::Format;
use super::headings::OUTPUT;
use super::interrupts::Interrupts;
use super::settings::SettingsFiles;
use super::values;
use ::cluster::lock::{self, Access, Held};
use ::cluster::plan::ClusterPlan;
use ::cluster::smoke::local::Local;
use ::cluster::smoke::nccl::workers::Site;
use ::cluster::smoke::outcome::Outcome;
use ::cluster::smoke::phases::{self, Options, When};
use ::cluster::smoke::progress::{Event, Progress};
use ::cluster::smoke::report::live::Live;
use ::cluster::smoke::report::{self as report, findings, plot};
use ::cluster::smoke::transport::ExpectedTransport;
use ::cluster::smoke::{bandwidth, cluster, nccl};
use ::cluster::worker::bundle::Bundle;
use diagnostic::error::{Error, Kind};
use diagnostic::layout::Layout;
use diagnostic::render::{html, json};
use diagnostic::terminal;
use docker::{interrupted, runtime};
use facts::Expected;
use host::file;
use judge::report::machine;
use kept::Kept;

/// Test all-reduce between cluster nodes, and measure its bandwidth.
///
/// Each phase has a deadline; the first phase that fails is reported, with the node and the reason. In a
/// cluster created by `envdoc cluster up`, the phases are: containers, envdoc's worker in each, /dev/shm
/// (also with --local), the network interface of NCCL, name resolution; then (also with --local) TCP
/// between all pairs, MTU, ssh if the launcher needs it, rendezvous, all-reduce with every element checked,
/// path, and bandwidth by size. OOM kills are reported with the memory limit. Nothing stays in the
/// containers.
///
/// Bandwidths are those of nccl-tests: algbw is bytes / time, busbw is algbw * 2(n-1)/n.
///
/// Exit code 0: ok; 1: slow, wrong or failed; 2: the test could not run; 3: it could not be judged.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Cluster file [default: cluster.yaml].
    ///
    /// One rank runs in each of its containers.
    #[arg(long, short, value_name = "FILE", help_heading = RANKS)]
    file: Option<PathBuf>,

    /// Run the ranks on this machine instead.
    ///
    /// They communicate over the loopback interface.
    #[arg(long, conflicts_with = "file", help_heading = RANKS)]
    local: bool,

    /// Number of ranks with --local.
    #[arg(
        long,
        value_name = "N",
        default_value = "2",
        value_parser = values::ranks,
        requires = "local",
        help_heading = RANKS
    )]
    ranks: usize,

    /// With --local: run NCCL on N GPUs.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=64),
        requires = "local",
        conflicts_with = "ranks",
        help_heading = RANKS
    )]
    gpus: Option<u32>,

    /// Also test NCCL on every GPU.
    ///
    /// Uses the libnccl of the image's torch. auto: if the containers have GPUs.
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_value = "auto",
        default_missing_value = "always",
        conflicts_with = "local",
        help_heading = TESTS
    )]
    nccl: When,

    /// Also run an all-reduce with the image's torch.
    ///
    /// Uses NCCL with GPUs, else Gloo.
    #[arg(long, conflicts_with = "local", help_heading = TESTS)]
    torch: bool,

    /// Also train a tiny model for 20 steps with DeepSpeed ZeRO-2.
    ///
    /// Uses DeepSpeed's own launcher over ssh and a hostfile, and checks that all ranks have the same loss.
    #[arg(long, conflicts_with = "local", help_heading = TESTS)]
    deepspeed: bool,

    /// Transport that NCCL must use.
    ///
    /// Compared with NCCL's log; implies --nccl=always. Unused InfiniBand adapters are a failure with or
    /// without this option.
    #[arg(long, value_name = "TRANSPORT", value_enum, help_heading = TESTS)]
    expect_transport: Option<ExpectedTransport>,

    /// Also test every pair of ranks, to find a bad node or link.
    ///
    /// Always done if a ring of more than two ranks is slow or fails.
    #[arg(long, help_heading = TESTS, hide_short_help = true)]
    pairs: bool,

    /// Message sizes in bytes: 8-256M, 4K,1M,64M.
    ///
    /// A range of powers of two, or a list.
    #[arg(long, value_name = "SIZES", default_value = bandwidth::SIZES, help_heading = MEASUREMENT)]
    sizes: String,

    /// Timed iterations per size [default: as many as fit in 0.2 s, 3–50].
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=100_000),
        help_heading = MEASUREMENT,
        hide_short_help = true
    )]
    iterations: Option<u32>,

    /// Timeout of each phase before the bandwidth phase, in seconds.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "10",
        value_parser = super::values::seconds,
        help_heading = MEASUREMENT,
        hide_short_help = true
    )]
    timeout: Duration,

    /// Timeout for a connection between ranks without progress, in seconds.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "5",
        value_parser = super::values::seconds,
        help_heading = MEASUREMENT,
        hide_short_help = true
    )]
    stall: Duration,

    /// Save this run as a baseline, if it passes.
    #[arg(long, value_name = "FILE", help_heading = MEASUREMENT)]
    save_baseline: Option<PathBuf>,

    /// Compare with a baseline.
    ///
    /// The run is slow if a large size has less than 75 % of the baseline's bandwidth, or a small size takes
    /// more than twice as long.
    #[arg(long, value_name = "FILE", help_heading = MEASUREMENT)]
    baseline: Option<PathBuf>,

    #[command(flatten)]
    locking: Locking,

    /// For testing: flip a byte of one element of a rank.
    #[arg(long, value_name = "RANK:ELEMENT", hide = true, value_parser = values::corrupt)]
    corrupt: Option<(usize, usize)>,

    /// For testing: pause at the start of a phase.
    #[arg(long, value_name = "PHASE:SECONDS", hide = true, value_parser = values::pause)]
    pause: Option<(String, Duration)>,

    /// Report format.
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = OUTPUT)]
    format: Format,

    /// Also write an HTML report with a bandwidth plot.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT, hide_short_help = true)]
    html: Option<PathBuf>,

    /// Also write the plot of bus bandwidth by size as SVG.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT, hide_short_help = true)]
    svg: Option<PathBuf>,

    /// Overwrite existing files.
    #[arg(long, help_heading = OUTPUT, hide_short_help = true)]
    force: bool,

    /// Show every size.
    #[arg(long, short, help_heading = OUTPUT)]
    verbose: bool,

    #[command(flatten)]
    pub(in crate::cli) output: Output,
}

const RANKS: &str = "Ranks";
const TESTS: &str = "Additional tests";
const MEASUREMENT: &str = "Measurement";

const EXAMPLES: &str = "\
Examples:
  envdoc smoke                             # ./cluster.yaml
  envdoc smoke --torch --deepspeed         # with frameworks
  envdoc smoke --local --gpus 8            # NCCL on 8 GPUs
  envdoc smoke --baseline last-week.json   # slower than a saved run?";

impl Args {
    pub(super) fn run(
        self,
        catalog: &'static Catalog,
        interrupts: &Interrupts,
        settings: &SettingsFiles,
    ) -> Result<u8, Error> {
        let sizes = bandwidth::sizes(&self.sizes)
            .map_err(|why| Error::new(Kind::Usage, format!("--sizes {}: {why}", self.sizes)))?;
        if self.local && self.gpus.is_none() && self.expect_transport.is_some() {
            return Err(Error::new(
                Kind::Usage,
                "--expect-transport requires NCCL, which --local without --gpus does not use",
            )
            .hint("to test NCCL on N GPUs of this machine: envdoc smoke --local --gpus N"));
        }
        // Before the measurement, which takes minutes.
        let files: Vec<&PathBuf> =
            [&self.html, &self.svg, &self.save_baseline].into_iter().flatten().collect();
        for (index, path) in files.iter().enumerate() {
            file::free(path, self.force)?;
            if files[..index].contains(path) {
                let message = format!("two output options name the same file: {}", path.display());
                return Err(Error::new(Kind::Usage, message));
            }
        }
        let options = Options {
            catalog,
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
        let kept = self.baseline.as_deref().map(Kept::read).transpose()?;
        let mut outcome = match (self.local, self.gpus) {
            (true, Some(gpus)) => self.local_gpus(gpus as usize, &options),
            (true, None) => self.local(&options),
            (false, _) => self.cluster(&path(self.file.as_deref(), &settings.read()?)?, &options),
        }?;
        if let Some(kept) = &kept {
            kept.compare(&mut outcome)?;
        }
        if let Some(path) = &self.save_baseline {
            kept::save(&outcome, path, self.force)?;
        }
        if self.local && (self.html.is_some() || matches!(self.format, Format::Html | Format::Markdown)) {
            let (_, facts) = super::read_machine(catalog, None, None, Expected::default(), interrupts)?;
            outcome.hardware = machine::lines(&facts);
        }
        self.print(&outcome)?;
        Ok(outcome.verdict.exit_code())
    }

    fn local(&self, options: &Options) -> Result<Outcome, Error> {
        self.corruptible(self.ranks)?;
        runtime()?.block_on(async {
            let local = Local::start(self.ranks).await?;
            let live = Live::new((0..self.ranks).map(|rank| format!("rank {rank}")).collect());
            let progress = self.progress_handler(&live);
            let mut outcome =
                until_interrupted(phases::run(&local.endpoints, options, Progress(&progress))).await;
            live.end();
            local.end(outcome.as_mut()).await;
            outcome.ok_or_else(|| interruption(&[]))
        })
    }

    fn cluster(&self, file: &Path, options: &Options) -> Result<Outcome, Error> {
        let (_, plan) = super::cluster::read(file)?;
        if plan.nodes.len() < 2 {
            return Err(Error::new(
                Kind::Usage,
                "an all-reduce requires at least two nodes, and this cluster has one",
            )
            .hint("to test one machine: envdoc smoke --local --ranks 2"));
        }
        self.corruptible(plan.nodes.len())?;
        let bundle = Bundle::make()?;
        let runtime = runtime()?;
        runtime.block_on(async {
            let connecting = super::cluster::connected(&plan);
            let reached = until_interrupted(connecting).await.ok_or_else(|| interruption(&[]))?;
            let id = lock::run_id();
            let request = self.locking.using(&plan, first_engine(&reached), (&id, "smoke"), Access::Measure);
            let held = Held::take(request, lock_notice, interrupted()).await;
            let held = held.map_err(|why| lock_refused(&why))?.ok_or_else(|| interruption(&[]))?;
            let outcome = held.during(self.in_containers(&plan, &reached, &bundle, options, &id)).await;
            held.release().await;
            outcome
        })
    }

    /// The test in the containers of the nodes; nothing of it stays there.
    async fn in_containers(
        &self,
        plan: &ClusterPlan,
        reached: &[cluster::Reached<'_>],
        bundle: &Bundle,
        options: &Options,
        mark: &str,
    ) -> Result<Outcome, Error> {
        let live = Live::new(plan.nodes.iter().map(|node| node.name.clone()).collect());
        let progress = self.progress_handler(&live);
        let running = cluster::run(plan, reached, bundle, options, mark, Progress(&progress));
        let outcome = until_interrupted(running).await;
        live.end();
        let left = cluster::leave(reached, (options.torch || options.deepspeed).then_some(mark)).await;
        match outcome {
            Some(mut outcome) => {
                outcome.remarks.extend(left);
                Ok(outcome)
            }
            None => Err(interruption(&left)),
        }
    }

    /// NCCL on the GPUs of this machine.
    fn local_gpus(&self, gpus: usize, options: &Options) -> Result<Outcome, Error> {
        let mut outcome = Outcome::new(options.catalog, (0..gpus).map(|gpu| format!("GPU {gpu}")).collect());
        outcome.transport = "nccl".into();
        let runtime = runtime()?;
        let live = Live::new(Site::Local.nodes());
        let progress = self.progress_handler(&live);
        let running = nccl::here::run(gpus, options, Progress(&progress), &mut outcome);
        let finished = runtime.block_on(until_interrupted(running));
        live.end();
        match finished {
            Some(_) => Ok(outcome),
            None => Err(interruption(&[])),
        }
    }

    /// Reports progress; sleeps at the phase of --pause.
    fn progress_handler<'t>(&'t self, live: &'t Live) -> impl Fn(Event<'_>) + 't {
        let paused = std::cell::Cell::new(false);
        move |step| {
            live.step(step);
            if let (Event::Phase { name, .. }, Some((phase, time))) = (step, &self.pause)
                && name == phase
                && !paused.replace(true)
            {
                // Blocks the whole thread, like a caller that is stopped.
                std::thread::sleep(*time);
            }
        }
    }

    fn corruptible(&self, ranks: usize) -> Result<(), Error> {
        match self.corrupt.filter(|(rank, _)| *rank >= ranks) {
            Some((rank, _)) => Err(Error::new(Kind::Usage, format!("no rank {rank} of {ranks}"))),
            None => Ok(()),
        }
    }

    fn print(&self, outcome: &Outcome) -> Result<(), Error> {
        if let Some(path) = &self.html {
            file::write(path, &html::report(&findings::report(outcome), &run::now()), self.force)?;
        }
        if let Some(path) = &self.svg {
            file::write(path, &plot::svg(outcome), self.force)?;
        }
        terminal::print(&self.format.write(
            || findings::report(outcome),
            || report::text::report(outcome, &Layout::of_screen(self.verbose)),
            || json::text(&report::json(outcome)),
        )?)
    }
}

/// `None` after Ctrl-C or SIGTERM.
async fn until_interrupted<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        came = work => Some(came),
        () = interrupted() => None,
    }
}

fn interruption(left: &[String]) -> Error {
    match left {
        [] => Error::new(Kind::Interrupted, "interrupted; all ranks were stopped".to_owned()),
        left => Error::new(Kind::Interrupted, format!("interrupted, but {}", left.join("; "))),
    }
}
