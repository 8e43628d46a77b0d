//! Ranks on this machine: workers as processes of their own, which talk over the loopback.

use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use super::memory_kills::{self, Killed};
use super::outcome::Outcome;
use super::phases::Endpoint;
use crate::oom;
use crate::worker::session::Session;
use diagnostic::error::{Error, Kind};
use docker::process::{self, Child};

/// The longest that a worker may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// On Linux.
const SIGKILL: i32 = 9;

/// Workers of this machine; dropping it ends them.
pub struct Local {
    pub endpoints: Vec<Endpoint>,
    children: Vec<Child>,
    processes: Vec<u32>,
    memory: oom::Local,
}

/// A worker's process on this machine.
pub(super) type Process = Child;

/// Why no worker could be started on this machine.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The system starts no process.
    #[error(transparent)]
    Process(#[from] std::io::Error),
    /// The process has no pipes.
    #[error("the process has no stdin or stdout")]
    NoPipes,
    /// The process does not greet.
    #[error(transparent)]
    Worker(#[from] crate::Error),
}

/// Starts this program as a worker on this machine.
pub(super) async fn worker(errors: Stdio) -> Result<(Session, Process), SpawnError> {
    // A process group of its own: Ctrl-C signals only envdoc, which then stops the ranks; otherwise the first
    // rank to exit is reported as a failure. Ctrl-Z suspends only envdoc, too: the ranks run on, and after
    // `fg` their timeouts report a stall.
    let mut command = process::own()?;
    command.arg("worker").process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
    let mut child = command.spawn()?;
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(SpawnError::NoPipes);
    };
    Ok((Session::open(stdout, stdin, START_TIMEOUT).await?, child))
}

impl Local {
    pub async fn start(ranks: usize) -> Result<Local, Error> {
        let failed = |error: SpawnError| Error::new(Kind::Usage, format!("cannot start a rank: {error}"));
        let memory = oom::Local::start();
        let mut local = Local { endpoints: Vec::new(), children: Vec::new(), processes: Vec::new(), memory };
        for rank in 0..ranks {
            let (session, child) = worker(Stdio::inherit()).await.map_err(failed)?;
            local.processes.push(child.id().unwrap_or_default());
            local.children.push(child);
            let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
            local.endpoints.push(Endpoint {
                node: format!("rank {rank}"),
                is_rank: true,
                address,
                session: Arc::new(session),
            });
        }
        Ok(local)
    }

    /// Ends them, and waits until they are gone. What the OOM killer ended before is added to the outcome.
    pub async fn end(mut self, outcome: Option<&mut Outcome>) {
        if let Some(outcome) = outcome {
            let killed = self.killed();
            memory_kills::here(outcome, self.memory.end(), &killed);
        }
        self.endpoints.clear();
        for child in &mut self.children {
            if tokio::time::timeout(Duration::from_secs(2), child.wait()).await.is_err() {
                let _ = child.kill().await;
            }
        }
    }

    /// Ranks that SIGKILL has ended by now.
    fn killed(&mut self) -> Vec<Killed> {
        let signal = |child: &mut Child| child.try_wait().ok().flatten().and_then(|status| status.signal());
        let ranks = self.children.iter_mut().zip(&self.processes).enumerate();
        ranks
            .filter_map(|(rank, (child, process))| {
                (signal(child) == Some(SIGKILL)).then_some(Killed { rank, process: *process })
            })
            .collect()
    }

    /// Process numbers, in the order of the ranks.
    pub fn processes(&self) -> Vec<u32> {
        self.children.iter().filter_map(Child::id).collect()
    }
}
