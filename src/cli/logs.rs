//! Logs that `envdoc diagnose` fetches itself: of containers, of the kernel, of a file that grows.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures_util::future::join_all;

use super::running::{interrupted, runtime};
use crate::cluster::reach;
use crate::diagnose::read::blocks::{Blocks, LIMITS};
use crate::diagnose::read::{Read, container};
use crate::engine::client;
use crate::engine::docker::Engine;
use crate::error::{Error, Kind};
use crate::facts::{Fact, kernel_log};
use crate::host::live::Live;
use crate::host::snapshot::Snapshot;

/// The kernel's log is there or not after so long.
const KERNEL: Duration = Duration::from_secs(15);

/// A file that does not grow is looked at again after so long.
const PAUSE: Duration = Duration::from_millis(300);

/// Logs that are no files.
#[derive(Debug, clap::Args)]
pub struct Elsewhere {
    /// Read what a container printed, whether it runs or has ended; several times for several.
    #[arg(long, value_name = "NAME")]
    container: Vec<String>,

    /// Read what the containers of a cluster printed, on all of its nodes.
    #[arg(long, value_name = "FILE")]
    cluster: Option<PathBuf>,

    /// Read the log of this machine's kernel; with --from that of the recorded machine.
    #[arg(long)]
    kernel: bool,
}

impl Elsewhere {
    /// Fetches them. What could not be fetched of a cluster or the kernel is a remark of its own.
    pub(super) fn reads(&self, from: Option<&Path>) -> Result<Vec<Read>, Error> {
        let mut reads = Vec::new();
        if !self.container.is_empty() {
            reads.extend(waited(containers(&self.container))??);
        }
        if let Some(file) = &self.cluster {
            let (_, plan) = super::cluster::read(file)?;
            reads.extend(waited(cluster(&plan))?);
        }
        if self.kernel {
            reads.push(kernel(from)?);
        }
        Ok(reads)
    }
}

/// Waits for something, or for Ctrl-C.
fn waited<T>(work: impl Future<Output = T>) -> Result<T, Error> {
    let runtime = runtime()?;
    let result = runtime.block_on(async {
        tokio::select! {
            result = work => Ok(result),
            () = interrupted() => Err(Error::new(Kind::Interrupted, "interrupted")),
        }
    });
    runtime.shutdown_background();
    result
}

async fn containers(names: &[String]) -> Result<Vec<Read>, Error> {
    let engine = Engine::connect(&client::find(None)?.endpoint).await?;
    let mut reads = Vec::new();
    for name in names {
        let read = container::read(&engine, name, None).await;
        reads.push(read.map_err(|why| {
            Error::new(Kind::Engine, why).hint("`docker ps -a` lists those that are there")
        })?);
    }
    Ok(reads)
}

async fn cluster(plan: &crate::cluster::plan::ClusterPlan) -> Vec<Read> {
    let reached = reach::connect(plan).await;
    let reads = join_all(reached.iter().map(|(node, engine)| async {
        match engine {
            Ok(engine) => container::read(engine, &node.name, Some(&node.name)).await,
            Err(problem) => Err(problem.says.clone()),
        }
        .unwrap_or_else(|why| missing(format!("container {}", node.name), why))
    }));
    reads.await
}

fn kernel(from: Option<&Path>) -> Result<Read, Error> {
    let name = "kernel log".to_owned();
    let log = match from {
        Some(file) => kernel_log::text(&*Snapshot::open(file)?.host()),
        None => kernel_log::whole(&Live::new(Instant::now() + KERNEL)),
    };
    Ok(match log {
        Fact::Known(log) => {
            let mut blocks = Blocks::new(&name, LIMITS);
            log.lines().for_each(|line| blocks.feed(format!("{}\n", record(line)).as_bytes()));
            let mut read = blocks.end();
            if from.is_some() {
                read.remarks.push("of a recorded machine: only the lines that its checks look at".into());
            }
            read
        }
        Fact::Absent => missing(name, "there is none".into()),
        Fact::Unknown(why) => missing(name, why),
    })
}

/// A source that could not be read.
fn missing(name: String, why: String) -> Read {
    Read { name, unread: true, remarks: vec![format!("not read: {why}")], ..Read::default() }
}

/// A record of /dev/kmsg, `4,1234,12345678,-;words`, as dmesg shows it: `[12.345678] words`. Other lines stay as they are.
fn record(line: &str) -> String {
    let shown = || {
        let (fields, words) = line.split_once(';')?;
        let mut fields = fields.split(',');
        let (_, _) = (fields.next()?.parse::<u32>().ok()?, fields.next()?.parse::<u64>().ok()?);
        let time = fields.next()?.parse::<u64>().ok()?;
        Some(format!("[{:5}.{:06}] {words}", time / 1_000_000, time % 1_000_000))
    };
    shown().unwrap_or_else(|| line.to_owned())
}

/// Reads a file, and what comes to it, until Ctrl-C. Whenever it pauses `told` learns what was found so far and says whether that is a
/// failure: the last such answer is the result. A file that becomes shorter is read anew.
pub(super) fn follow(path: &Path, told: &mut dyn FnMut(Read) -> Result<bool, Error>) -> Result<bool, Error> {
    let mut failed = false;
    let runtime = runtime()?;
    runtime.block_on(async {
        tokio::select! {
            result = growing(path, told, &mut failed) => result,
            () = interrupted() => Ok(()),
        }
    })?;
    Ok(failed)
}

async fn growing(
    path: &Path,
    told: &mut dyn FnMut(Read) -> Result<bool, Error>,
    failed: &mut bool,
) -> Result<(), Error> {
    let unreadable =
        |error: std::io::Error| Error::new(Kind::File, format!("cannot read {}: {error}", path.display()));
    let name = path.display().to_string();
    loop {
        #[expect(clippy::disallowed_methods, reason = "the log that is followed is no fact of the machine")]
        let mut file = std::fs::File::open(path).map_err(unreadable)?;
        let mut blocks = Blocks::new(&name, LIMITS);
        let mut known = 0;
        while file.metadata().map_err(unreadable)?.len() >= blocks.bytes() {
            if blocks.feed_from(&mut file).map_err(unreadable)? > 0 {
                tokio::task::yield_now().await;
                continue;
            }
            if blocks.bytes() > known {
                known = blocks.bytes();
                blocks.pause();
                *failed = told(blocks.clone().end())?;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::record;

    #[test]
    fn records_of_the_kernel() {
        let raw = "4,1234,12345678,-;NVRM: Xid (PCI:0000:38:00): 79, GPU has fallen off the bus.";
        assert_eq!(record(raw), "[   12.345678] NVRM: Xid (PCI:0000:38:00): 79, GPU has fallen off the bus.");
        for line in
            [" SUBSYSTEM=pci", "[   12.345678] words; more", "2026-03-01T10:00:00+0000 gpu1 kernel: words"]
        {
            assert_eq!(record(line), line);
        }
    }
}
