//! The phase `tcp`: every rank connects to every other.

use std::time::{Duration, Instant};

use docker::fan_out;
use futures_util::stream::StreamExt;

use super::ask::gone;
use super::{PhaseRunner, Place};
use crate::probe;
use crate::smoke::outcome::PhaseFailed;
use crate::smoke::phase::PhaseId;
use crate::worker::{self, Failure};

/// Milliseconds within which a connection is established in one data center.
const FAST_CONNECT_MS: f64 = 2.0;
/// Connections that begin at once.
const MAX_PARALLEL_CONNECTS: usize = 64;

impl PhaseRunner<'_> {
    /// Every rank connects to every other.
    pub async fn reach(&mut self) -> Result<(), PhaseFailed> {
        let (start, deadline) = (Instant::now(), self.options.deadline);
        self.progress.phase(PhaseId::Tcp, "connecting every rank to every other");
        let listening = fan_out(self.places.iter().map(|place| async {
            let task = worker::Task::ListenTcp { port: 0 };
            match place.session.start(task, deadline * 2).await {
                Ok((id, worker::Answer::Listening { port })) => Ok((id, port)),
                Ok((_, other)) => Err(worker::unexpected(&other)),
                Err(failure) => Err(failure),
            }
        }))
        .await;
        let mut failed = Vec::new();
        for (place, port) in self.places.iter().zip(&listening) {
            if let Err(why) = port {
                failed.push((place.node.clone(), format!("{} cannot listen: {why}", place.node)));
            }
        }
        if !failed.is_empty() {
            failed.splice(..0, gone(self.sessions()).await);
            return self.outcome.finish_phase(PhaseId::Tcp, start, failed, "");
        }
        let (places, world) = (self.places, self.places.len());
        let pairs = (0..world).flat_map(|from| (0..world).map(move |to| (from, to)));
        let tried = pairs.filter(|(from, to)| from != to).map(|(from, to)| {
            let port = listening[to].as_ref().map_or(0, |(_, port)| *port);
            async move { (from, to, connects(&places[from], &places[to], port, deadline).await) }
        });
        // A few at once: hundreds of connections that begin together take each other's time.
        let left = places.iter().map(|place| (place.node.clone(), world - 1)).collect();
        let mut progress = self.progress.counting(left);
        let tried = futures_util::stream::iter(tried).buffer_unordered(MAX_PARALLEL_CONNECTS);
        let tried: Vec<_> =
            tried.inspect(|(from, _, came)| progress(&places[*from].node, came.is_ok())).collect().await;
        drop(progress);
        let mut failed = Vec::new();
        for (from, to, came) in tried {
            let (one, other) = (&self.places[from], &self.places[to]);
            match came {
                Ok(milliseconds) => {
                    let slowest = &mut self.outcome.network.slowest_connect;
                    if slowest.is_none_or(|(_, _, other)| milliseconds > other) {
                        *slowest = Some((from, to, milliseconds));
                    }
                }
                Err(why) => {
                    let says =
                        format!("{} cannot reach {} at {}: {why}", one.node, other.node, other.address);
                    failed.push((one.node.clone(), says));
                }
            }
        }
        failed.sort();
        if !failed.is_empty() {
            failed.splice(..0, gone(self.sessions()).await);
        }
        fan_out(self.places.iter().zip(&listening).map(|(place, listening)| async move {
            if let Ok((listener, _)) = listening {
                let _ = place.session.ask(worker::Task::Stop { listener: *listener }, deadline).await;
            }
        }))
        .await;
        let slowest = self.outcome.network.slowest_connect.map_or(0.0, |(_, _, milliseconds)| milliseconds);
        let says = format!("all {} pairs connect, slowest in {slowest:.1} ms", world * (world - 1));
        self.outcome.finish_phase(PhaseId::Tcp, start, failed, &says)
    }
}

/// Milliseconds until a connection stood; the second time where the first one took long, as it looks for the
/// way.
async fn connects(one: &Place, other: &Place, port: u16, deadline: Duration) -> Result<f64, Failure> {
    let mut least = f64::INFINITY;
    for _ in 0..2 {
        let endpoint = (other.address, port);
        let connected = probe::connect_to_worker(&one.session, &other.session, endpoint, deadline);
        least = least.min(connected.await?);
        if least < FAST_CONNECT_MS {
            break;
        }
    }
    Ok(least)
}
