//! The phase `tcp`: every rank connects to every other.

use std::time::{Duration, Instant};

use diagnostic::Fix;
use docker::fan_out;
use futures_util::stream::StreamExt;

use super::ask::gone;
use super::{Endpoint, PhaseRunner};
use crate::blocked::nsenter;
use crate::probe;
use crate::smoke::outcome::PhaseFailed;
use crate::smoke::phase::PhaseId;
use crate::worker::{self, Failure, Why};

/// Milliseconds within which a connection is established in one data center.
const FAST_CONNECT_MS: f64 = 2.0;
/// How often a connection that takes longer is tried: of a round trip only the shortest tells, as whatever
/// disturbs it makes it longer.
const SLOW_CONNECT_TRIES: usize = 8;
/// Connections that begin at once.
const MAX_PARALLEL_CONNECTS: usize = 64;

/// A rank's listener: its number and port.
type Listener = Result<(u64, u16), Failure>;

/// How long a connection from one rank to another took in milliseconds, or why there is none.
type Tried = (usize, usize, Result<f64, Failure>);

impl PhaseRunner<'_> {
    /// Every rank connects to every other.
    pub async fn reach(&mut self) -> Result<(), PhaseFailed> {
        let start = Instant::now();
        self.progress.phase(PhaseId::Tcp, "connecting every rank to every other");
        let listeners = self.listen().await;
        let deaf = self.endpoints.iter().zip(&listeners).filter_map(|(endpoint, listener)| {
            let why = listener.as_ref().err()?;
            Some((endpoint.node.clone(), format!("{} cannot listen: {why}", endpoint.node)))
        });
        let mut failed: Vec<_> = deaf.collect();
        self.outcome.fixes.extend(self.endpoints.iter().zip(&listeners).filter_map(no_port));
        if failed.is_empty() {
            let tried = self.connect_all(&listeners).await;
            failed = self.unreached(tried);
            failed.sort();
        }
        if !failed.is_empty() {
            failed.splice(..0, gone(self.sessions()).await);
        }
        self.stop(&listeners).await;
        let world = self.endpoints.len();
        let slowest = self.outcome.network.slowest_connect.map_or(0.0, |(_, _, milliseconds)| milliseconds);
        let message = format!("all {} pairs connect, slowest in {slowest:.1} ms", world * (world - 1));
        self.outcome.finish_phase(PhaseId::Tcp, start, failed, &message)
    }

    async fn listen(&self) -> Vec<Listener> {
        let deadline = self.options.deadline * 2;
        fan_out(self.endpoints.iter().map(|endpoint| async move {
            let task = worker::Task::ListenTcp { address: Some(endpoint.address), port: 0 };
            match endpoint.session.start(task, deadline).await? {
                (id, worker::Answer::Listening { port }) => Ok((id, port)),
                (_, other) => Err(worker::unexpected(&other)),
            }
        }))
        .await
    }

    async fn connect_all(&self, listeners: &[Listener]) -> Vec<Tried> {
        let (endpoints, world, deadline) = (self.endpoints, self.endpoints.len(), self.options.deadline);
        let pairs = (0..world).flat_map(|from| (0..world).map(move |to| (from, to)));
        let tried = pairs.filter(|(from, to)| from != to).map(|(from, to)| {
            let port = listeners[to].as_ref().map_or(0, |(_, port)| *port);
            async move { (from, to, connects(&endpoints[from], &endpoints[to], port, deadline).await) }
        });
        let left = endpoints.iter().map(|endpoint| (endpoint.node.clone(), world - 1)).collect();
        let mut progress = self.progress.counting(left);
        // A few at once: hundreds of connections that begin together take each other's time.
        let tried = futures_util::stream::iter(tried).buffer_unordered(MAX_PARALLEL_CONNECTS);
        tried.inspect(|(from, _, came)| progress(&endpoints[*from].node, came.is_ok())).collect().await
    }

    /// Notes the slowest connection; the nodes with those that failed.
    fn unreached(&mut self, tried: Vec<Tried>) -> Vec<(String, String)> {
        let mut failed = Vec::new();
        for (from, to, came) in tried {
            let (one, other) = (&self.endpoints[from], &self.endpoints[to]);
            match came {
                Ok(milliseconds) => {
                    let slowest = &mut self.outcome.network.slowest_connect;
                    if slowest.is_none_or(|(_, _, other)| milliseconds > other) {
                        *slowest = Some((from, to, milliseconds));
                    }
                }
                Err(why) => {
                    let message =
                        format!("{} cannot reach {} at {}: {why}", one.node, other.node, other.address);
                    failed.push((one.node.clone(), message));
                }
            }
        }
        failed
    }

    async fn stop(&self, listeners: &[Listener]) {
        let deadline = self.options.deadline;
        fan_out(self.endpoints.iter().zip(listeners).map(|(endpoint, listener)| async move {
            if let Ok((listener, _)) = listener {
                let _ = endpoint.session.ask(worker::Task::Stop { listener: *listener }, deadline).await;
            }
        }))
        .await;
    }
}

/// What to do on a node that has no port for a listener.
fn no_port((endpoint, listener): (&Endpoint, &Listener)) -> Option<Fix> {
    listener.as_ref().err().filter(|failure| failure.why == Why::NoFreePort)?;
    let node = &endpoint.node;
    Some(Fix::safe(
        format!("Show the local ports of that container and what uses them, on {node}:"),
        &[
            &format!("docker exec {node} sysctl net.ipv4.ip_local_port_range"),
            &format!("{} ss -s", nsenter(node)),
        ],
    ))
}

/// Milliseconds until a connection stood, the shortest of several where the first one took long: that one
/// also looks for the way.
async fn connects(one: &Endpoint, other: &Endpoint, port: u16, deadline: Duration) -> Result<f64, Failure> {
    let mut least = f64::INFINITY;
    for _ in 0..SLOW_CONNECT_TRIES {
        let endpoint = (other.address, port);
        let connected = probe::connect_to_worker(&one.session, &other.session, endpoint, deadline);
        least = least.min(connected.await?);
        if least < FAST_CONNECT_MS {
            break;
        }
    }
    Ok(least)
}
