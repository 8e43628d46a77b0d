//! Why a worker does not answer: its process ended or is stopped, or its engine cannot be reached any more.

use std::time::{Duration, Instant};

use diagnostic::Fix;
use docker::transport::Transport;
use docker::{exec, fan_out};
use tokio::time::timeout;

use super::Site;
use super::stopped::{STATE_TIMEOUT, Stopped};
use crate::container_probe::ContainerProbe;
use crate::smoke::outcome::{Outcome, Status};
use crate::smoke::phases;

/// The longest that a new connection to an engine may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(8);
/// Prints the `stat` of each process that was started from the worker's directory.
const SCRIPT: &str = r#"
for entry in /proc/[0-9]*; do
    case $(tr '\0' ' ' 2>/dev/null <"$entry/cmdline") in
        /envdoc-worker/*) cat "$entry/stat" 2>/dev/null ;;
    esac
done
"#;

/// Why a worker does not answer.
#[derive(Debug, PartialEq, Eq)]
enum Reason {
    /// Its process ended.
    Ended { status: i64 },
    /// Its process is stopped.
    Stopped(Stopped),
    /// A new connection to its engine fails.
    Unreachable { why: String, fixes: Vec<Fix> },
}

impl Site<'_> {
    /// Adds to the failed phases of nodes whose workers are silent why they are. The workers must not have
    /// been ended: the newest one in a container is the one of this run.
    pub(super) async fn silent(&self, containers: &[ContainerProbe<'_>], outcome: &mut Outcome) {
        let asked = containers.iter().map(|one| async move {
            let (silent, reason) = tokio::join!(phases::silent(&one.session), reason(one));
            silent.and(reason).map(|reason| (one.node.name.as_str(), reason))
        });
        for (node, reason) in fan_out(asked).await.into_iter().flatten() {
            let message = reason.message(node);
            for phase in &mut outcome.phases {
                if phase.status == Status::Failed && phase.node.as_deref() == Some(node) {
                    phase.message += &format!("; {message}");
                }
            }
            outcome.message += &format!("; {node}: {message}");
            outcome.fixes.splice(..0, reason.fixes(node));
        }
    }
}

async fn reason(one: &ContainerProbe<'_>) -> Option<Reason> {
    let ended = async {
        let id = one.session.exec.as_ref()?;
        timeout(STATE_TIMEOUT, exec::ended(one.engine, id)).await.ok()?.ok().flatten()
    };
    let argv = ["sh", "-c", SCRIPT];
    let listed = exec::run(one.engine, &one.node.name, &argv, STATE_TIMEOUT);
    match tokio::join!(ended, listed) {
        (Some(status), _) => Some(Reason::Ended { status }),
        (None, Ok(ran)) => Stopped::newest(&ran.stdout).map(Reason::Stopped),
        (None, Err(_)) => unreachable(one).await,
    }
}

/// Whether a new connection to the engine fails. One over SSH is asked for an answer.
async fn unreachable(one: &ContainerProbe<'_>) -> Option<Reason> {
    let deadline = Instant::now() + CONNECT_TIMEOUT;
    let blocked = match Transport::connect(&one.node.engine, one.node.tls.as_deref(), deadline).await {
        Ok(transport) => transport.ssh()?.check_engine(deadline).await.err()?,
        Err(blocked) => blocked,
    };
    Some(Reason::Unreachable { why: blocked.message, fixes: blocked.fixes })
}

impl Reason {
    fn message(&self, node: &str) -> String {
        match self {
            Reason::Ended { status: 137 } => {
                "its worker process was killed (exit status 137, SIGKILL)".into()
            }
            Reason::Ended { status } => format!("its worker process ended with exit status {status}"),
            Reason::Stopped(stopped) => format!("its worker process {}", stopped.message()),
            Reason::Unreachable { why, .. } => {
                format!("a new connection to the engine of {node} fails: {why}")
            }
        }
    }

    fn fixes(&self, node: &str) -> Vec<Fix> {
        match self {
            Reason::Ended { .. } => Vec::new(),
            Reason::Stopped(stopped) => vec![stopped.fix(node)],
            Reason::Unreachable { fixes, .. } => fixes.clone(),
        }
    }
}
