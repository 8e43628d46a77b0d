//! Logs that `envdoc diagnose` fetches or follows: containers, kernels, growing files.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use docker::fan_out;
use futures_util::{Stream, StreamExt, stream};

use super::running::{interrupted, runtime};
use ::cluster::nodes::{self, Limits, Node, Place};
use ::cluster::plan::ClusterPlan;
use ::cluster::reach;
use diagnose::read::Read;
use diagnose::read::blocks::{Blocks, LIMITS};
use diagnose::read::container::{self, ContainerError};
use diagnostic::error::{Error, Kind};
use docker::client;
use docker::engine::Engine;
use facts::{Fact, kernel_log};
use host::live::Live;
use host::snapshot::Snapshot;

/// Timeout for reading a kernel log.
const KERNEL_TIMEOUT: Duration = Duration::from_secs(15);

/// Polling interval of a file; silence after which the findings so far are reported.
const POLL_INTERVAL: Duration = Duration::from_millis(300);

/// Longest time between two reports of a log that never pauses.
const REPORT_INTERVAL: Duration = Duration::from_secs(2);

/// Log sources that are not files.
#[derive(Debug, clap::Args)]
pub struct Elsewhere {
    /// Read the output of a container, running or exited; repeatable.
    #[arg(long, value_name = "NAME", help_heading = LOGS)]
    container: Vec<String>,

    /// Read the output of a cluster's containers, from all nodes.
    #[arg(long, value_name = "FILE", help_heading = LOGS)]
    cluster: Option<PathBuf>,

    /// Read the kernel log of this machine; of the nodes with --cluster, of the recorded machine with --from.
    #[arg(long, help_heading = LOGS)]
    kernel: bool,
}

pub(super) const LOGS: &str = "Logs";

impl Elsewhere {
    /// Fetches them. A failure to read a cluster or kernel log becomes a remark.
    pub(super) fn reads(&self, from: Option<&Path>) -> Result<Vec<Read>, Error> {
        let mut reads = Vec::new();
        if !self.container.is_empty() {
            reads.extend(waited(containers(&self.container))??);
        }
        if let Some(file) = &self.cluster {
            let (_, plan) = super::cluster::read(file)?;
            reads.extend(waited(cluster(&plan))?);
            if self.kernel {
                reads.extend(waited(kernels(&plan))?);
            }
        } else if self.kernel {
            reads.push(kernel(from)?);
        }
        Ok(reads)
    }

    /// The container, if it is the only source.
    pub(super) fn one_container(&self) -> Option<&str> {
        match self.container.as_slice() {
            [one] if self.cluster.is_none() && !self.kernel => Some(one),
            _ => None,
        }
    }
}

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
        reads.push(read.map_err(no_container)?);
    }
    Ok(reads)
}

fn no_container(why: ContainerError) -> Error {
    Error::new(Kind::Engine, why.to_string()).hint("`docker ps -a` lists all containers")
}

async fn cluster(plan: &ClusterPlan) -> Vec<Read> {
    let reached = reach::connect(plan).await;
    let reads = fan_out(reached.iter().map(|(node, engine)| async {
        match engine {
            Ok(engine) => {
                container::read(engine, &node.name, Some(&node.name)).await.map_err(|why| why.to_string())
            }
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
        None => kernel_log::whole(&Live::new(Instant::now() + KERNEL_TIMEOUT)),
    };
    Ok(match there(log) {
        Ok(log) => {
            let mut read = records(&name, "", &log);
            if from.is_some() {
                read.remarks.push("a recorded machine has only the kernel lines that checks read".into());
            }
            read
        }
        Err(why) => missing(name, why),
    })
}

fn there(log: Fact<String>) -> Result<String, String> {
    match log {
        Fact::Known(log) => Ok(log),
        Fact::Absent => Err("not found".into()),
        Fact::Unknown(why) => Err(why.detail),
    }
}

async fn kernels(plan: &ClusterPlan) -> Vec<Read> {
    let limits = Limits { each: KERNEL_TIMEOUT, ..Limits::default() };
    let open = nodes::open(&plan.nodes, limits).await;
    nodes::side_by_side(&open, limits.width, |node| async move {
        let name = format!("kernel log of {}", node.name);
        match kernel_of(node).await {
            Ok(log) => records(&name, &format!("{}  | ", node.name), &log),
            Err(why) => missing(name, why),
        }
    })
    .await
}

/// The kernel ring buffer if the login may read it, else the journal.
const REMOTE_KERNEL_COMMAND: &str = "dmesg 2>/dev/null || journalctl --dmesg --boot --quiet --no-pager";

async fn kernel_of(node: &Node) -> Result<String, String> {
    match node.place() {
        Place::Here => there(kernel_log::whole(&Live::new(Instant::now() + KERNEL_TIMEOUT))),
        Place::There(connection) => {
            let ran = connection.run(REMOTE_KERNEL_COMMAND, b"", Instant::now() + KERNEL_TIMEOUT).await;
            let ran = ran.map_err(|blocked| blocked.message)?;
            match ran.status {
                0 => Ok(String::from_utf8_lossy(&ran.stdout).into_owned()),
                _ => Err(format!("permission denied for dmesg and journalctl: {}", ran.stderr.trim())),
            }
        }
        Place::EngineOnly | Place::Blocked(_) => Err(node.closed().unwrap_or_default()),
    }
}

fn records(name: &str, prefix: &str, log: &str) -> Read {
    let mut blocks = Blocks::new(name, LIMITS);
    log.lines().for_each(|line| blocks.feed(format!("{prefix}{}\n", record(line)).as_bytes()));
    blocks.end()
}

fn missing(name: String, why: String) -> Read {
    Read { name, unread: true, remarks: vec![format!("not read: {why}")], ..Read::default() }
}

/// Converts a /dev/kmsg record (`4,1234,12345678,-;words`) to dmesg format (`[12.345678] words`).
/// Other lines are kept.
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

pub(super) enum Followed<'a> {
    /// A file that grows.
    File(&'a Path),
    /// Standard input, until it ends.
    Standard,
    /// The output of a container, until it ends.
    Container(&'a str),
}

/// Reports the findings so far; returns whether they are a failure.
type Told<'a> = &'a mut dyn FnMut(Read) -> Result<bool, Error>;

/// Reads existing and new lines until Ctrl-C or the end. Reports the findings at every pause; the last answer is
/// the result. A file that becomes shorter is read again from the start.
pub(super) fn follow(followed: &Followed<'_>, told: Told<'_>) -> Result<bool, Error> {
    let mut failed = false;
    let runtime = runtime()?;
    runtime.block_on(async {
        let work = async {
            match followed {
                Followed::File(path) => growing(path, told, &mut failed).await,
                Followed::Standard => piped(told, &mut failed).await,
                Followed::Container(name) => printing(name, told, &mut failed).await,
            }
        };
        tokio::select! {
            result = work => result,
            () = interrupted() => Ok(()),
        }
    })?;
    // A thread may still wait for standard input.
    runtime.shutdown_background();
    Ok(failed)
}

async fn piped(told: Told<'_>, failed: &mut bool) -> Result<(), Error> {
    let (send, mut pieces) = tokio::sync::mpsc::channel(4);
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        let mut buffer = vec![0; 1 << 16];
        loop {
            let piece = match input.read(&mut buffer) {
                Ok(0) => return,
                Ok(length) => Ok(buffer[..length].to_vec()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => Err(format!("reading stopped: {error}")),
            };
            if send.blocking_send(piece).is_err() {
                return;
            }
        }
    });
    let mut blocks = Blocks::new("standard input", LIMITS);
    let pieces = stream::poll_fn(move |context| pieces.poll_recv(context));
    coming(&mut blocks, pieces, told, failed).await?;
    *failed = told(blocks.end())?;
    Ok(())
}

async fn printing(name: &str, told: Told<'_>, failed: &mut bool) -> Result<(), Error> {
    let engine = Engine::connect(&client::find(None)?.endpoint).await?;
    let lines = container::lines(&engine, name, None, true).await.map_err(no_container)?;
    let mut blocks = Blocks::new(&format!("container {name}"), LIMITS);
    let lines = lines.map(|line| line.map_err(|why| why.to_string()));
    coming(&mut blocks, lines, told, failed).await?;
    container::ended(&engine, name).await.into_iter().for_each(|remark| blocks.remark(remark));
    *failed = told(blocks.end())?;
    Ok(())
}

/// Reads until the end; reports after [`POLL_INTERVAL`] of silence, and at least every [`REPORT_INTERVAL`].
async fn coming(
    blocks: &mut Blocks,
    pieces: impl Stream<Item = Result<Vec<u8>, String>>,
    told: Told<'_>,
    failed: &mut bool,
) -> Result<(), Error> {
    let mut pieces = std::pin::pin!(pieces);
    let (mut known, mut last) = (0, Instant::now());
    loop {
        match tokio::time::timeout(POLL_INTERVAL, pieces.next()).await {
            Ok(None) => return Ok(()),
            Ok(Some(Err(why))) => blocks.remark(why),
            Ok(Some(Ok(piece))) => {
                blocks.feed(&piece);
                if last.elapsed() < REPORT_INTERVAL {
                    continue;
                }
            }
            Err(_) => {}
        }
        if blocks.bytes() > known {
            known = blocks.bytes();
            blocks.pause();
            *failed = told(blocks.clone().end())?;
        }
        last = Instant::now();
    }
}

async fn growing(path: &Path, told: Told<'_>, failed: &mut bool) -> Result<(), Error> {
    let unreadable =
        |error: std::io::Error| Error::new(Kind::File, format!("cannot read {}: {error}", path.display()));
    let name = path.display().to_string();
    loop {
        let mut file = host::file::open(path).map_err(unreadable)?;
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
            tokio::time::sleep(POLL_INTERVAL).await;
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
