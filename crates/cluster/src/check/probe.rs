//! What lies between the machines, tried by a worker on each: ports, packet sizes, names; and what only a
//! worker can tell of one.

use std::net::IpAddr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::nodes::{Worker, side_by_side};
use crate::worker::{Answer, Expected, Failure, Task, Why};
use facts::Fact;
use facts::fleet::{Member, Pair, PathMtu, Port, Reach, Skew};

/// The longest that a question may take that needs nobody else.
const ASK_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest that one port may take.
const PORT_TIMEOUT: Duration = Duration::from_secs(3);
/// The longest that the search for a packet's size may take.
const MTU_TIMEOUT: Duration = Duration::from_secs(15);
/// The largest IP packet in bytes, whatever an interface would send.
const PACKET_MAX: u32 = 65_535;
/// How long listeners stay open at most.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(300);
/// How often a clock is asked.
const CLOCK_SAMPLES: usize = 5;
/// Up to so many machines, every pair is tried.
const ALL_PAIRS: usize = 8;
/// Left out of what must be the same.
const EXCLUDED: &[&str] = &[".git", "__pycache__"];

type Workers<'w> = &'w [Result<Worker, crate::Error>];

/// Identity, clock and contents of each machine.
pub(super) async fn of_each(
    workers: Workers<'_>,
    members: &mut [&mut Member],
    paths: &[String],
    content: Duration,
) {
    let all =
        side_by_side(workers, workers.len(), |worker| async move {
            let worker = match worker {
                Ok(worker) => worker,
                Err(why) => return Err(why.to_string()),
            };
            let (skew, identity) = (skew(worker).await, identity(worker).await);
            let contents = side_by_side(paths, 2, |path| async move {
                (path.clone(), contents(worker, path, content).await)
            });
            Ok((identity, skew, contents.await))
        });
    for (member, known) in members.iter_mut().zip(all.await) {
        match known {
            Ok((identity, skew, contents)) => {
                member.identity = identity;
                member.skew = skew;
                member.contents = contents.into_iter().collect();
            }
            Err(why) => {
                member.identity = Fact::unknown(why.clone());
                member.skew = Fact::unknown(why.clone());
                member.contents =
                    paths.iter().map(|path| (path.clone(), Fact::unknown(why.clone()))).collect();
            }
        }
    }
}

async fn identity(worker: &Worker) -> Fact<crate::worker::Identity> {
    match worker.session.ask(Task::Identity, ASK_TIMEOUT).await {
        Ok(Answer::Identity(identity)) => Fact::Known(identity),
        other => Fact::unknown(unexpected(other).message),
    }
}

/// The answer with the shortest way there and back counts.
async fn skew(worker: &Worker) -> Fact<Skew> {
    let mut best: Option<Skew> = None;
    for _ in 0..CLOCK_SAMPLES {
        let (asked, by_clock) = (Instant::now(), now());
        let answer = worker.session.ask(Task::Clock, ASK_TIMEOUT).await;
        let way = asked.elapsed().as_secs_f64();
        match answer {
            Ok(Answer::Clock { unix_seconds }) => {
                let skew = Skew { seconds: unix_seconds - (by_clock + way / 2.0), uncertain: way / 2.0 };
                if best.is_none_or(|best| skew.uncertain < best.uncertain) {
                    best = Some(skew);
                }
            }
            other => return best.map_or_else(|| Fact::unknown(unexpected(other).message), Fact::Known),
        }
    }
    best.map_or_else(|| Fact::Unknown("its clock was not read".into()), Fact::Known)
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

async fn contents(worker: &Worker, path: &str, limit: Duration) -> Fact<crate::worker::Digest> {
    let exclude = EXCLUDED.iter().map(|name| (*name).to_owned()).collect();
    match worker.session.ask(Task::Digest { path: path.to_owned(), exclude }, limit).await {
        Ok(Answer::Digest(digest)) => Fact::Known(digest),
        Err(Failure { why: Why::NotFound, .. }) => Fact::Absent,
        Err(Failure { why: Why::TimedOut, .. }) => {
            Fact::unknown(format!("not read within {} s (--content-timeout)", limit.as_secs()))
        }
        other => Fact::unknown(unexpected(other).message),
    }
}

fn unexpected(answer: Result<Answer, Failure>) -> Failure {
    match answer {
        Err(failure) => failure,
        Ok(other) => crate::worker::unexpected(&other),
    }
}

/// Whether a worker listens on a port of its machine.
#[derive(Debug, Clone)]
enum Listener {
    Ours,
    /// Somebody else has it: an engine, most likely.
    Taken,
    Failed(Failure),
}

/// What is listened on at one machine.
struct Listening {
    ports: Vec<(Port, Listener)>,
    /// A UDP port for packets of all sizes; one that the cluster needs anyway where it is free, as firewalls
    /// let that pass.
    sizes: Result<u16, Failure>,
}

/// Tries all pairs, or of many machines those with the neighbours and with the first.
pub(super) async fn between(
    addresses: &[String],
    workers: Workers<'_>,
    ports: &[(Port, bool)],
    width: usize,
) -> Vec<Pair> {
    let listening =
        side_by_side(workers.iter().enumerate(), width, |(index, worker)| listen(worker, index, ports)).await;
    let listening = &listening;
    side_by_side(pairs(addresses.len()), width, |(from, to)| async move {
        let address = addresses.get(to).map_or("", String::as_str);
        pair(from, to, address, workers, listening).await
    })
    .await
}

fn pairs(count: usize) -> Vec<(usize, usize)> {
    let wanted = |from: usize, to: usize| {
        count <= ALL_PAIRS || from == 0 || to == 0 || (from + 1) % count == to || (to + 1) % count == from
    };
    let all = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
    all.filter(|(from, to)| from != to && wanted(*from, *to)).collect()
}

async fn listen(
    worker: &Result<Worker, crate::Error>,
    index: usize,
    ports: &[(Port, bool)],
) -> Result<Listening, crate::Error> {
    let worker = worker.as_ref().map_err(Clone::clone)?;
    let (mut listening, mut free) = (Vec::new(), None);
    for (port, _) in ports.iter().filter(|(_, first)| !first || index == 0) {
        // On all addresses, as the jobs will: a port that is taken at one of them is taken.
        let task = match port.udp {
            true => Task::ListenUdp { address: None, port: port.number },
            false => Task::ListenTcp { address: None, port: port.number },
        };
        let listener = match worker.session.ask(task, LISTEN_TIMEOUT).await {
            Ok(Answer::Listening { .. }) => Listener::Ours,
            Err(Failure { why: Why::PortTaken, .. }) => Listener::Taken,
            other => Listener::Failed(unexpected(other)),
        };
        if port.udp && matches!(listener, Listener::Ours) {
            free = Some(port.number);
        }
        listening.push((*port, listener));
    }
    let sizes = match free {
        Some(port) => Ok(port),
        None => match worker.session.ask(Task::ListenUdp { address: None, port: 0 }, LISTEN_TIMEOUT).await {
            Ok(Answer::Listening { port }) => Ok(port),
            other => Err(unexpected(other)),
        },
    };
    Ok(Listening { ports: listening, sizes })
}

async fn pair(
    from: usize,
    to: usize,
    address: &str,
    workers: Workers<'_>,
    listening: &[Result<Listening, crate::Error>],
) -> Pair {
    let (Some(Ok(sender)), Some(Ok(receiver)), Some(Ok(there))) =
        (workers.get(from), workers.get(to), listening.get(to))
    else {
        let why = [workers.get(from), workers.get(to)]
            .into_iter()
            .flatten()
            .find_map(|worker| worker.as_ref().err());
        let why = why.map_or_else(|| "no worker on that node".to_owned(), ToString::to_string);
        return Pair {
            from,
            to,
            resolved: Fact::unknown(why.clone()),
            mtu: Fact::unknown(why),
            ports: Vec::new(),
        };
    };
    let resolved = resolve(sender, address).await;
    let ip = match &resolved {
        Fact::Known(addresses) => addresses.first().copied(),
        _ => None,
    };
    let Some(ip) = ip else {
        let why = format!("{address} does not resolve on this node");
        return Pair { from, to, resolved, mtu: Fact::unknown(why), ports: Vec::new() };
    };
    let nonce = receiver.session.hello.nonce.as_str();
    let tried = side_by_side(&there.ports, there.ports.len(), |(port, listener)| async move {
        (*port, reach(sender, address, *port, listener, nonce).await)
    });
    let (ports, mtu) = tokio::join!(tried, size(sender, address, ip, &there.sizes));
    Pair { from, to, resolved, mtu, ports }
}

async fn resolve(worker: &Worker, address: &str) -> Fact<Vec<IpAddr>> {
    if let Ok(address) = address.parse() {
        return Fact::Known(vec![address]);
    }
    match worker.session.ask(Task::Resolve { name: address.to_owned() }, ASK_TIMEOUT).await {
        Ok(Answer::Resolved { addresses }) => Fact::Known(addresses),
        Err(Failure { why: Why::UnknownName, .. }) => Fact::Absent,
        other => Fact::unknown(unexpected(other).message),
    }
}

async fn reach(worker: &Worker, address: &str, port: Port, listener: &Listener, nonce: &str) -> Fact<Reach> {
    let ours = match listener {
        Listener::Ours => true,
        Listener::Taken if port.udp => {
            return Fact::Unknown(
                "the port is in use there, so envdoc cannot receive a test datagram on \
                it"
                .into(),
            );
        }
        Listener::Taken => false,
        Listener::Failed(why) => return Fact::unknown(format!("no listener could be opened there: {why}")),
    };
    let address = address.to_owned();
    let task = match port.udp {
        true => Task::SendUdp { address, port: port.number, size: 100, dont_fragment: false },
        false => {
            let expected = if ours { Expected::Worker } else { Expected::Nothing };
            Task::ConnectTcp { address, port: port.number, expected }
        }
    };
    match worker.session.ask(task, PORT_TIMEOUT).await {
        Ok(Answer::Connected { greeting: Some(receiver), .. }) if receiver != nonce => {
            Fact::Known(Reach::Not(Why::Other, "a different machine answers at this address".into()))
        }
        Ok(Answer::Acknowledged { receiver, .. }) if receiver != nonce => {
            Fact::Known(Reach::Not(Why::Other, "a different machine answers at this address".into()))
        }
        Ok(Answer::Connected { .. } | Answer::Acknowledged { .. }) => Fact::Known(Reach::Reached),
        Err(failure) if matches!(failure.why, Why::Gone | Why::Unanswered) => Fact::unknown(failure.message),
        Err(Failure { why, message }) => Fact::Known(Reach::Not(why, message)),
        other => Fact::unknown(unexpected(other).message),
    }
}

async fn size(worker: &Worker, address: &str, ip: IpAddr, port: &Result<u16, Failure>) -> Fact<PathMtu> {
    let port = match port {
        Ok(port) => *port,
        Err(why) => return Fact::unknown(format!("no listener could be opened there: {why}")),
    };
    let interface = match worker.session.ask(Task::Route { address: ip }, ASK_TIMEOUT).await {
        // A loopback's is larger than any packet.
        Ok(Answer::Route { mtu: Some(mtu), .. }) => mtu.min(PACKET_MAX),
        Ok(Answer::Route { interface, .. }) => {
            return Fact::unknown(format!(
                "the MTU of {} is unknown",
                interface.unwrap_or_else(|| "the interface".into())
            ));
        }
        other => return Fact::unknown(unexpected(other).message),
    };
    let task = Task::PathMtu { address: address.to_owned(), port, largest: interface };
    match worker.session.ask(task, MTU_TIMEOUT).await {
        Ok(Answer::PathMtu { bytes, .. }) => Fact::Known(PathMtu { bytes, interface }),
        other => Fact::unknown(unexpected(other).message),
    }
}

#[cfg(test)]
mod tests {
    use super::pairs;

    #[test]
    fn small_fleets_probe_all_pairs_and_large_ones_a_subset() {
        assert_eq!(pairs(2), [(0, 1), (1, 0)]);
        assert_eq!(pairs(8).len(), 56);
        let many = pairs(64);
        // 63 to and from the first, and the ring without what is in those.
        assert_eq!(many.len(), 2 * 63 + 2 * 62);
        assert!(many.contains(&(31, 32)) && !many.contains(&(31, 33)));
    }
}
