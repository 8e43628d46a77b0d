//! A rank, inside: what a worker does for the smoke test. A worker is one rank of one ring at a time.
//!
//! The caller is the rendezvous: it has every rank listen ([`Task::Listen`]), and tells each whom to connect
//! to ([`Task::Join`]). A connection begins with the proof that both sides belong to this run
//! ([`crate::worker::auth`]), and with a line that names the rank, so that a second process of the same rank
//! is refused by name.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

pub use super::broken::Broken;
use super::counters::{segments, segments_since};
use super::cpu_limit;
use super::processor;
use super::rank_task::{Answer, Task};
use super::reduce::reduce;
use super::ring::{Pace, Ring, Streamed};
use crate::worker::auth::{self, Refusal, Secret, Seen};
use crate::worker::tcp;

/// The first word of a connection between ranks.
const GREETING: &str = "envdoc-ring";
/// How long one that has connected may take to prove that it belongs to the run.
const PROOF_TIMEOUT: Duration = Duration::from_secs(5);
/// Connections that are in the middle of their proof at once; more wait.
const MAX_PARALLEL_PROOFS: usize = 256;
/// Refused connections that are listed.
const REFUSED_LISTED_MAX: usize = 20;
/// How often a connection is tried again while the other rank does not listen yet.
const CONNECT_RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// Between two tasks.
#[derive(Default)]
struct State {
    listener: Option<Arc<TcpListener>>,
    ring: Option<(Ring, usize, usize)>,
}

/// This process's rank.
static STATE: Mutex<State> = Mutex::new(State { listener: None, ring: None });

fn state() -> std::sync::MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does a task; the caller has the deadline.
pub async fn answer(task: Task, deadline: Duration) -> Answer {
    let done = match task {
        Task::Listen { address } => listen(address).await,
        Task::Join { run, own, left, number, world, address, port, stall } => {
            let stall = Duration::from_secs_f64(stall.clamp(0.1, 3600.0));
            let own = Greeting { run: &run, number, world, nonce: &own };
            join(&own, &left, (address, port), stall, deadline).await
        }
        Task::Leave => {
            *state() = State::default();
            Ok(Answer::Left)
        }
        Task::AllReduce { elements, warmup, iterations, corrupt } => {
            blocking(move |ring, number, world| {
                reduce(ring, (number, world), elements, (warmup, iterations), corrupt)
            })
            .await
        }
        Task::Stream { bytes, sends, receives, rate } => {
            blocking(move |ring, _, _| {
                let before = segments();
                let pace = rate.map(Pace::new);
                let Streamed { elapsed, waited } = ring.stream(bytes, (sends, receives), pace)?;
                let packets = segments_since(before);
                Ok(Answer::Streamed { seconds: elapsed.as_secs_f64(), waited, packets })
            })
            .await
        }
        Task::Loopback { bytes } => loopback(bytes, deadline).await,
        Task::CpuLimit => Ok(Answer::CpuLimit { groups: cpu_limit::own_groups() }),
        Task::Processor { seconds } => Ok(Answer::Processor { usage: processor::lately(seconds) }),
    };
    done.unwrap_or_else(Answer::Broken)
}

async fn listen(address: Option<IpAddr>) -> Result<Answer, Broken> {
    processor::watch();
    let listener = tcp::bind(address, 0).await.map_err(|error| of_no_rank(&error.to_string()))?;
    let port = listener.local_addr().map_err(|error| of_no_rank(&error.to_string()))?.port();
    *state() = State { listener: Some(Arc::new(listener)), ring: None };
    Ok(Answer::Listening { port })
}

/// The line that a connection begins with.
struct Greeting<'g> {
    run: &'g str,
    number: usize,
    world: usize,
    nonce: &'g str,
}

impl Greeting<'_> {
    fn line(&self) -> String {
        let Greeting { run, number, world, nonce } = self;
        format!("{GREETING} {run} {number} {world} {nonce}")
    }

    /// Who sent the line of another rank.
    fn other(&self, line: &str) -> String {
        let Greeting { run, number, world, .. } = self;
        match line.split(' ').collect::<Vec<_>>()[..] {
            [GREETING, other, rank, ..] if other != *run => format!("rank {rank} of a different run"),
            [GREETING, _, rank, of, ..] if rank == number.to_string() && of == world.to_string() => {
                format!("a second process claiming to be rank {number}")
            }
            [GREETING, _, rank, of, ..] => format!("rank {rank} of {of}, which is not a neighbor"),
            _ => "a worker without a rank".to_owned(),
        }
    }
}

async fn join(
    own: &Greeting<'_>,
    left: &str,
    right: (IpAddr, u16),
    stall: Duration,
    deadline: Duration,
) -> Result<Answer, Broken> {
    let Greeting { run, number, world, .. } = *own;
    if world < 2 || number >= world {
        return Err(of_no_rank(&format!("no rank {number} in a ring of {world}")));
    }
    let Some(listener) = state().listener.clone() else {
        return Err(of_no_rank("the rank does not listen yet"));
    };
    let secret = auth::own().map_err(|failure| of_no_rank(&failure.message))?;
    let (to, from) = ((number + 1) % world, (number + world - 1) % world);
    // A little before the caller's deadline, so that it is this side that tells who is missing.
    let early = deadline.mul_f64(0.9);
    let mut refused = Vec::new();
    let connecting = tokio::time::timeout(early, connect(own, right, secret));
    let wanted = Greeting { run, number: from, world, nonce: left };
    let accepting = tokio::time::timeout(early, accept(&listener, &wanted, secret, &mut refused));
    let (connected, accepted) = tokio::join!(connecting, accepting);
    let missing = |rank: usize, fault: &str| Broken::Peer { rank, fault: fault.to_owned() };
    let also = if refused.is_empty() { String::new() } else { format!("; refused: {}", refused.join(", ")) };
    let left = accepted
        .map_err(|_| missing(from, &format!("did not connect within {:.1} s{also}", early.as_secs_f64())))?
        .map_err(|error| of_no_rank(&error.to_string()))?;
    let right = connected
        .map_err(|_| missing(to, &format!("did not accept within {:.1} s", early.as_secs_f64())))?
        .map_err(|error| missing(to, &error.to_string()))?;
    let streams = [right, left].map(|stream| {
        let stream = stream.into_std()?;
        stream.set_nonblocking(false)?;
        Ok::<_, std::io::Error>(stream)
    });
    let [right, left] = streams;
    let ring = right
        .and_then(|right| Ring::new(number, world, right, left?, stall))
        .map_err(|error| of_no_rank(&error.to_string()))?;
    state().ring = Some((ring, number, world));
    Ok(Answer::Joined { refused })
}

/// Why the rank on the right does not take a connection.
#[derive(Debug, thiserror::Error)]
enum ConnectError {
    /// TCP.
    #[error("at {0}: {1}")]
    Tcp(IpAddr, std::io::Error),
    /// It is not of this run, or it hung up.
    #[error(transparent)]
    Proof(#[from] Refusal),
    /// It is a rank, and this one is not its neighbor; its text.
    #[error("refused: {0}")]
    Refused(String),
}

/// Connects and introduces itself; the other side says `ok`, or why not. Tried again while nobody listens.
async fn connect(
    own: &Greeting<'_>,
    right: (IpAddr, u16),
    secret: &Secret,
) -> Result<TcpStream, ConnectError> {
    let mut stream = loop {
        match TcpStream::connect(right).await {
            Ok(stream) => break stream,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                tokio::time::sleep(CONNECT_RETRY_INTERVAL).await;
            }
            Err(error) => return Err(ConnectError::Tcp(right.0, error)),
        }
    };
    auth::prove(&mut stream, secret, &own.line()).await?;
    match auth::line(&mut stream).await?.as_str() {
        "ok" => Ok(stream),
        other => Err(ConnectError::Refused(other.to_owned())),
    }
}

/// Takes the rank on the left; refuses everybody else and goes on. Strangers keep nobody waiting: each proves
/// itself next to the others.
async fn accept(
    listener: &TcpListener,
    wanted: &Greeting<'_>,
    secret: &Secret,
    refused: &mut Vec<String>,
) -> Result<TcpStream, std::io::Error> {
    let (seen, mut proofs) = (Seen::default(), FuturesUnordered::new());
    loop {
        let proven = tokio::select! {
            connection = listener.accept(), if proofs.len() < MAX_PARALLEL_PROOFS => {
                let (mut stream, address) = connection?;
                let seen = &seen;
                proofs.push(async move {
                    let admitted = auth::admit(&mut stream, secret, seen);
                    (tokio::time::timeout(PROOF_TIMEOUT, admitted).await, stream, address)
                });
                continue;
            }
            Some(proven) = proofs.next() => proven,
        };
        let (admitted, mut stream, address) = proven;
        let who = match admitted {
            Ok(Ok(claim)) if claim == wanted.line() => {
                stream.write_all(b"ok\n").await?;
                return Ok(stream);
            }
            Ok(Ok(claim)) => {
                let Greeting { number, world, .. } = wanted;
                let _ = stream.write_all(format!("this is for rank {number} of {world}\n").as_bytes()).await;
                wanted.other(&claim)
            }
            Ok(Err(_)) | Err(_) => "not a rank of this run".to_owned(),
        };
        if refused.len() < REFUSED_LISTED_MAX {
            refused.push(format!("{who} at {address}"));
        }
    }
}

/// Work with the ring, on a thread of its own; the ring comes back when it is done, and is gone when it
/// broke.
async fn blocking(
    work: impl FnOnce(&mut Ring, usize, usize) -> Result<Answer, super::ring::Broken> + Send + 'static,
) -> Result<Answer, Broken> {
    let Some((mut ring, number, world)) = state().ring.take() else {
        return Err(of_no_rank("the rank is not in a ring"));
    };
    let done = tokio::task::spawn_blocking(move || {
        let done = work(&mut ring, number, world);
        if done.is_ok() {
            state().ring = Some((ring, number, world));
        }
        done
    });
    match done.await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(broken)) => Err(broken.into()),
        Err(error) => Err(of_no_rank(&error.to_string())),
    }
}

/// A connection of this rank with itself, and so many bytes over it.
async fn loopback(bytes: usize, deadline: Duration) -> Result<Answer, Broken> {
    let failed = |error: std::io::Error| of_no_rank(&format!("loopback: {error}"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let (right, left) = tokio::join!(TcpStream::connect(address), listener.accept());
    let own = right.as_ref().ok().and_then(|right| right.local_addr().ok());
    if left.as_ref().is_ok_and(|(_, from)| Some(*from) != own) {
        return Err(of_no_rank("loopback: a different process connected first"));
    }
    let [right, left] = [right, left.map(|(stream, _)| stream)].map(|stream| {
        let stream = stream?.into_std()?;
        stream.set_nonblocking(false)?;
        Ok::<_, std::io::Error>(stream)
    });
    let mut ring =
        Ring::new(0, 1, right.map_err(failed)?, left.map_err(failed)?, deadline).map_err(failed)?;
    let streamed = tokio::task::spawn_blocking(move || ring.stream(bytes, (true, true), None)).await;
    let Streamed { elapsed, waited } = streamed.map_err(|error| of_no_rank(&error.to_string()))??;
    Ok(Answer::Streamed { seconds: elapsed.as_secs_f64(), waited, packets: None })
}

fn of_no_rank(message: &str) -> Broken {
    Broken::Own { why: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn rejects_strangers_and_accepts_the_neighbor_rank() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let right = listener.local_addr().map(|address| (address.ip(), address.port())).unwrap();
        let (secret, other) = (auth::tests::secret(), auth::tests::secret());
        let of = |run, number, nonce| Greeting { run, number, world: 3, nonce };
        let visits = async {
            // One that knows the whole greeting of the rank, but not the secret; a port scanner; one that is
            // silent, and stays connected.
            let stranger = connect(&of("now", 0, "a"), right, &other).await.map(drop).unwrap_err();
            assert!(matches!(stranger, ConnectError::Proof(Refusal::Closed)), "{stranger}");
            let mut scanner = TcpStream::connect(right).await.unwrap();
            scanner.write_all(b"GET / HTTP/1.0\n").await.unwrap();
            assert!(matches!(auth::line(&mut scanner).await, Err(Refusal::Closed)));
            let silent = TcpStream::connect(right).await.unwrap();
            // With the secret: a worker of another run, a second process of the same rank, a wrong neighbor.
            for greeting in [of("yesterday", 0, "a"), of("now", 0, "another process"), of("now", 2, "c")] {
                let refused = connect(&greeting, right, &secret).await.map(drop).unwrap_err().to_string();
                assert_eq!(refused, "refused: this is for rank 0 of 3");
            }
            connect(&of("now", 0, "a"), right, &secret).await.unwrap();
            drop(silent);
        };
        let (mut refused, wanted) = (Vec::new(), of("now", 0, "a"));
        let (taken, ()) = tokio::join!(accept(&listener, &wanted, &secret, &mut refused), visits);
        taken.unwrap();
        let who = [
            "not a rank of this run",
            "not a rank of this run",
            "rank 0 of a different run",
            "a second process claiming to be rank 0",
            "rank 2 of 3, which is not a neighbor",
        ];
        assert_eq!(refused.len(), who.len(), "{refused:?}");
        for (refused, who) in refused.iter().zip(who) {
            assert!(refused.starts_with(who), "{refused}");
        }
    }
}
