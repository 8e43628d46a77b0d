//! The caller's side: has workers send to each other, and asks the receivers what arrived.

use std::net::IpAddr;
use std::time::Duration;

use docker::fan_out;

use super::rate::Way;
use super::{Answer, Arrived, Counters, Task};
use crate::container_probe::ContainerProbe;
use crate::worker::session::Session;
use crate::worker::{Failure, Why};

/// Datagrams of the first look in each direction: half a second.
const QUICK_COUNT: u32 = 120;
/// Datagrams more in each direction that showed anything: a second and a half.
const THOROUGH_COUNT: u32 = 400;
/// The longest that sending may take beyond its own time, and opening and counting.
const DEADLINE: Duration = Duration::from_secs(8);
/// How long the last datagrams may take to arrive.
const ARRIVAL_TIME: Duration = Duration::from_millis(300);
/// Up to so many nodes every direction of every pair is measured; of more, the neighbors in the ring.
const ALL_PAIRS_LIMIT: usize = 12;

/// A worker and where the others reach it.
#[derive(Clone, Copy)]
pub struct Peer<'s> {
    /// Its address in the containers' network.
    pub address: IpAddr,
    /// Its worker.
    pub session: &'s Session,
}

impl<'c> From<&'c ContainerProbe<'_>> for Peer<'c> {
    fn from(one: &'c ContainerProbe<'_>) -> Peer<'c> {
        Peer { address: one.address, session: &one.session }
    }
}

/// The directions that are measured.
pub fn directions(world: usize) -> Vec<(usize, usize)> {
    let all = (0..world).flat_map(|from| (0..world).map(move |to| (from, to)));
    let near = |(from, to): &(usize, usize)| (from + 1) % world == *to || (to + 1) % world == *from;
    all.filter(|(from, to)| from != to).filter(|way| world <= ALL_PAIRS_LIMIT || near(way)).collect()
}

/// Measures directions, and those that showed anything for longer. The counts of both are added up.
///
/// # Errors
/// A worker that could not do its part.
pub async fn all(peers: &[Peer<'_>], directions: &[(usize, usize)]) -> Result<Vec<Way>, Failure> {
    let mut ways = once(peers, directions, QUICK_COUNT, &run()).await?;
    let odd: Vec<_> = ways.iter().filter(|way| way.is_odd()).map(|way| (way.from, way.to)).collect();
    if odd.is_empty() {
        return Ok(ways);
    }
    for more in once(peers, &odd, THOROUGH_COUNT, &run()).await? {
        if let Some(way) = ways.iter_mut().find(|way| (way.from, way.to) == (more.from, more.to)) {
            way.add(&more);
        }
    }
    Ok(ways)
}

/// The beginning of the names of a measurement's flows: random, so that no datagram of another one counts.
pub fn run() -> String {
    let mut run = crate::worker::nonce() + &crate::worker::nonce();
    run.truncate(super::FLOW_LENGTH - 8);
    run
}

/// The flow from one place to another.
pub fn flow(run: &str, (from, to): (usize, usize)) -> String {
    format!("{run}{:04x}{:04x}", from % 0x1_0000, to % 0x1_0000)
}

/// The ports where the workers count, each at its own address.
async fn opened(peers: &[Peer<'_>], run: &str) -> Result<Vec<u16>, Failure> {
    let opening = peers.iter().map(|peer| {
        let task = Task::Open { address: Some(peer.address), run: run.to_owned() };
        async move { peer.session.ask_custom(&task, DEADLINE).await }
    });
    let mut ports = Vec::new();
    for opened in fan_out(opening).await {
        match opened? {
            Answer::Opened { port } => ports.push(port),
            other => return Err(failed(other)),
        }
    }
    Ok(ports)
}

/// So many datagrams in each direction, all directions at once.
///
/// # Errors
/// A worker that could not do its part.
pub async fn once(
    peers: &[Peer<'_>],
    directions: &[(usize, usize)],
    count: u32,
    run: &str,
) -> Result<Vec<Way>, Failure> {
    let ports = opened(peers, run).await?;
    let sent = fan_out(directions.iter().map(|(from, to)| {
        let (address, port, flow) = (peers[*to].address, ports[*to], flow(run, (*from, *to)));
        let session = peers[*from].session;
        async move { session.ask_custom(&Task::Send { address, port, flow, count }, DEADLINE).await }
    }))
    .await;
    tokio::time::sleep(ARRIVAL_TIME).await;
    let counted = asked(peers, Task::Close).await;
    let mut ways = Vec::new();
    for ((from, to), sent) in directions.iter().copied().zip(sent) {
        let (sent, refused) = match sent? {
            Answer::Sent { sent, failure } => (sent, failure),
            other => return Err(failed(other)),
        };
        let (arrived, overflowed) = match &counted[to] {
            Ok(Answer::Counted { flows, overflowed }) => {
                (flows.get(&flow(run, (from, to))).copied().unwrap_or_default(), *overflowed)
            }
            Ok(other) => return Err(failed(other.clone())),
            Err(failure) => return Err(failure.clone()),
        };
        ways.push(way((from, to), sent, arrived, overflowed, refused));
    }
    Ok(ways)
}

/// A task for all of them.
pub(super) async fn asked(peers: &[Peer<'_>], task: Task) -> Vec<Result<Answer, Failure>> {
    let task = &task;
    fan_out(peers.iter().map(|peer| async move { peer.session.ask_custom(task, DEADLINE).await })).await
}

fn way(
    (from, to): (usize, usize),
    sent: u32,
    arrived: Arrived,
    overflowed: u64,
    refused: Option<Failure>,
) -> Way {
    // What the receiver's own buffer had no room for was not lost by the network; whose it was is not known.
    let overflowed = u32::try_from(overflowed).unwrap_or(u32::MAX);
    let missing = sent.saturating_sub(arrived.datagrams).saturating_sub(overflowed);
    Way {
        from,
        to,
        sent,
        arrived: sent.saturating_sub(missing),
        duplicates: arrived.duplicates,
        late: arrived.late,
        refused,
    }
}

/// What the kernels have counted; `None` of one that cannot tell.
pub async fn counters(peers: &[Peer<'_>]) -> Vec<Option<Counters>> {
    let answers = asked(peers, Task::Counters).await;
    let known = |answer| if let Ok(Answer::Counters(counters)) = answer { Some(counters) } else { None };
    answers.into_iter().map(known).collect()
}

fn failed(answer: Answer) -> Failure {
    match answer {
        Answer::Failed(failure) => failure,
        other => Failure { why: Why::NotUnderstood, message: format!("unexpected answer: {other:?}") },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_all_directions_or_a_ring_for_many_nodes() {
        assert_eq!(directions(2), [(0, 1), (1, 0)]);
        assert_eq!(directions(3).len(), 6);
        let many = directions(64);
        assert_eq!(many.len(), 128);
        assert!(many.contains(&(63, 0)) && many.contains(&(0, 63)) && !many.contains(&(0, 2)));
    }

    #[test]
    fn datagrams_dropped_by_the_receiver_do_not_count_as_lost() {
        let arrived = Arrived { datagrams: 90, ..Arrived::default() };
        assert_eq!(way((0, 1), 120, arrived, 0, None).lost(), 30);
        assert_eq!(way((0, 1), 120, arrived, 25, None).lost(), 5);
        assert_eq!(way((0, 1), 120, arrived, 99, None).lost(), 0);
    }

    #[test]
    fn flows_have_one_length_and_differ() {
        let run = run();
        assert_eq!(flow(&run, (0, 1)).len(), crate::flow::FLOW_LENGTH);
        assert_ne!(flow(&run, (0, 1)), flow(&run, (1, 0)));
    }
}
