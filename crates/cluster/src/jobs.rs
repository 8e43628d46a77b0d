//! Programs in several containers at once: their output line by line, how each ended, and none left behind.

use std::time::{Duration, Instant};

use docker::fan_out;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::Notify;

use crate::not_running::NotRunning;
use crate::problem::Problem;
use docker::engine::Engine;
use docker::exec::{self, Command};

/// The variable by which what was started is found again in a container: children have it from their parents.
const MARK: &str = "ENVDOC_JOB";
/// The longest line that is held, in bytes.
const LINE_LIMIT_BYTES: usize = 64 << 10;
/// What the others get to end by themselves when one has failed.
const PEER_GRACE: Duration = Duration::from_secs(10);
/// The longest that ending what is left may take on one node.
const SWEEP_TIMEOUT: Duration = Duration::from_secs(20);
/// Sends a signal to every process whose environment has the mark, and prints how many there were. It spares
/// itself and its parents.
const SWEEP: &str = r#"
count=0
for entry in /proc/[0-9]*; do
    pid=${entry#/proc/}
    [ "$pid" = "$$" ] && continue
    if tr '\0' '\n' <"$entry/environ" 2>/dev/null | grep -qx "ENVDOC_JOB=$1"; then
        case $(cut -d' ' -f3 "$entry/stat" 2>/dev/null) in Z) continue ;; esac
        count=$((count + 1))
        [ "$2" = 0 ] || kill -"$2" "$pid" 2>/dev/null
    fi
done
echo "$count"
"#;

/// One program on one node.
pub struct Job<'a> {
    pub node: String,
    pub container: String,
    pub engine: &'a Engine,
    pub command: Command,
}

/// Why a job's end, or the number of its processes, is unknown.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// The node's engine cannot be used.
    #[error("{}", .0.message)]
    Unreachable(Box<Problem>),
    /// The engine refused a request.
    #[error(transparent)]
    Engine(#[from] docker::Error),
    /// Its container does not run.
    #[error("{0}; start it: `envdoc cluster up`")]
    NotRunning(NotRunning),
    /// The stream of its output broke.
    #[error("lost the connection to its output: {0}")]
    OutputLost(#[source] docker::Error),
    /// Its exit status could not be read.
    #[error("the Docker engine stopped responding: {0}")]
    StatusLost(#[source] docker::Error),
    /// It closed its output and goes on.
    #[error("its output ended but the process still runs")]
    StillRuns,
    /// The shell that counts its processes failed; its standard error.
    #[error("could not list its processes: {0}")]
    Processes(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    pub node: String,
    /// Its exit status, or why nobody knows it.
    pub status: Result<i64, Error>,
    /// Seconds from the start.
    pub seconds: f64,
    /// Whether it was stopped because another one had failed.
    pub stopped: bool,
}

/// Runs all jobs; the results are in the order in which they end. `line` is called for each line: node,
/// whether standard error, the line. With `together`, the first that fails has the others stopped after a
/// while, in all these containers; so does the alarm, for a launcher that waits for the others instead of
/// ending.
pub async fn run(
    jobs: Vec<Job<'_>>,
    everywhere: &[(String, &Engine)],
    mark: &str,
    together: bool,
    alarm: &Notify,
    line: &dyn Fn(&str, bool, &str),
) -> Vec<Ended> {
    let started = Instant::now();
    let mut running: FuturesUnordered<_> =
        jobs.into_iter().map(|job| one(job, mark, started, line)).collect();
    let mut ended: Vec<Ended> = Vec::new();
    let mut stop_at: Option<Instant> = None;
    let mut stopping = false;
    loop {
        let next = match stop_at {
            Some(at) if !stopping => tokio::time::timeout_at(at.into(), running.next()).await,
            None if together => tokio::select! {
                next = running.next() => Ok(next),
                () = alarm.notified() => {
                    stop_at = Some(Instant::now() + PEER_GRACE);
                    continue;
                }
            },
            _ => Ok(running.next().await),
        };
        match next {
            Ok(Some(mut end)) => {
                end.stopped = stopping && end.status != Ok(0);
                if together && end.status != Ok(0) && stop_at.is_none() {
                    stop_at = Some(Instant::now() + PEER_GRACE);
                }
                ended.push(end);
            }
            Ok(None) => return ended,
            Err(_) => {
                stopping = true;
                let containers = everywhere.iter().map(|(name, engine)| (name.as_str(), *engine));
                end_all(containers, mark).await;
            }
        }
    }
}

async fn one(job: Job<'_>, mark: &str, started: Instant, line: &dyn Fn(&str, bool, &str)) -> Ended {
    let status = streamed(&job, mark, line).await;
    Ended { node: job.node, status, seconds: started.elapsed().as_secs_f64(), stopped: false }
}

async fn streamed(job: &Job<'_>, mark: &str, line: &dyn Fn(&str, bool, &str)) -> Result<i64, Error> {
    let mut command = job.command.clone();
    command.environment.push(format!("{MARK}={mark}"));
    let mut running = match exec::start(job.engine, &job.container, &command).await {
        Ok(running) => running,
        Err(why) => {
            let stopped = NotRunning::find(job.engine, &job.node, &job.container).await;
            return Err(stopped.map_or(Error::Engine(why), Error::NotRunning));
        }
    };
    let mut lines = [Lines::default(), Lines::default()];
    while let Some(printed) = running.output.next().await {
        let printed = printed.map_err(Error::OutputLost)?;
        for text in lines[usize::from(printed.error)].add(&printed.bytes) {
            line(&job.node, printed.error, &text);
        }
    }
    for (number, lines) in lines.iter_mut().enumerate() {
        if let Some(text) = lines.rest() {
            line(&job.node, number == 1, &text);
        }
    }
    let status = running.status(job.engine).await;
    status.map_err(Error::StatusLost)?.ok_or(Error::StillRuns)
}

/// Bytes as lines, in bounded memory.
#[derive(Default)]
pub struct Lines(Vec<u8>);

impl Lines {
    /// The lines that are whole now. A line that is drawn over (`\r`) is kept as it was last, and one that is
    /// longer than the limit is handed out in parts.
    pub fn add(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut whole = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.0.extend_from_slice(part);
            if part.ends_with(b"\n") || self.0.len() >= LINE_LIMIT_BYTES {
                let line = std::mem::take(&mut self.0);
                whole.push(shown(&String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(&line))));
            }
        }
        whole
    }

    /// What has no end yet.
    pub fn rest(&mut self) -> Option<String> {
        let rest = std::mem::take(&mut self.0);
        (!rest.is_empty()).then(|| shown(&String::from_utf8_lossy(&rest)))
    }
}

fn shown(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    line.rsplit('\r').next().unwrap_or(line).to_owned()
}

/// Ends everything with the mark in these containers: politely, then for good. For each container how many
/// are left, or why nobody knows.
pub async fn end_all<'a>(
    containers: impl Iterator<Item = (&'a str, &'a Engine)>,
    mark: &str,
) -> Vec<(String, Result<u32, Error>)> {
    fan_out(
        containers.map(|(name, engine)| async move { (name.to_owned(), end_one(engine, name, mark).await) }),
    )
    .await
}

async fn end_one(engine: &Engine, name: &str, mark: &str) -> Result<u32, Error> {
    if sweep(engine, name, mark, "TERM").await? > 0 {
        for _ in 0..10 {
            tokio::time::sleep(Duration::from_millis(300)).await;
            if sweep(engine, name, mark, "0").await? == 0 {
                return Ok(0);
            }
        }
        sweep(engine, name, mark, "KILL").await?;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    sweep(engine, name, mark, "0").await
}

async fn sweep(engine: &Engine, name: &str, mark: &str, signal: &str) -> Result<u32, Error> {
    let ran = exec::run(engine, name, &["sh", "-c", SWEEP, "sh", mark, signal], SWEEP_TIMEOUT).await?;
    ran.stdout.trim().parse().map_err(|_| Error::Processes(ran.stderr.trim().to_owned()))
}

/// The exit code for all: the largest.
pub fn exit_code(ended: &[Ended]) -> u8 {
    let code = |end: &Ended| match &end.status {
        Ok(status) => u8::try_from(*status).unwrap_or(u8::MAX),
        Err(_) => u8::MAX,
    };
    ended.iter().map(code).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_chunks_are_reassembled_into_lines() {
        let mut lines = Lines::default();
        assert_eq!(lines.add(b"one\ntw"), ["one"]);
        assert_eq!(lines.add(b"o\r\n10%\r20%\r\nth"), ["two", "20%"]);
        assert_eq!(lines.add("ré".as_bytes()), Vec::<String>::new());
        assert_eq!(lines.rest().as_deref(), Some("thré"));
        assert_eq!(lines.rest(), None);
    }

    #[test]
    fn a_line_without_end_is_not_held() {
        let mut lines = Lines::default();
        let handed: usize = (0..100).flat_map(|_| lines.add(&[b'x'; 10_000])).map(|line| line.len()).sum();
        let held = lines.rest().unwrap_or_default().len();
        assert_eq!(handed + held, 1_000_000);
        assert!(held < LINE_LIMIT_BYTES, "{held}");
    }

    #[test]
    fn the_largest_exit_code_counts() {
        let end = |status| Ended { node: "n".into(), status, seconds: 0.0, stopped: false };
        assert_eq!(exit_code(&[end(Ok(0)), end(Ok(3))]), 3);
        assert_eq!(exit_code(&[end(Ok(0)), end(Err(Error::StillRuns))]), 255);
        assert_eq!(exit_code(&[]), 0);
    }
}
