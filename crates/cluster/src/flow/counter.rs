//! The worker's side: sends datagrams, and counts those that arrive.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{Answer, Arrived, datagram};
use crate::worker::auth::Secret;
use crate::worker::{self, Failure, Why, udp};

/// Datagrams that follow each other at once: their order shows whether the network keeps it.
const TRAIN: u32 = 4;
/// The pause between two trains.
const TRAIN_INTERVAL: Duration = Duration::from_millis(15);
/// How often the counting looks whether it should end.
const STOP_INTERVAL: Duration = Duration::from_millis(50);
/// The longest that it goes on when nobody ends it.
const COUNTING_LIMIT: Duration = Duration::from_secs(60);

/// What one flow has brought so far.
#[derive(Default)]
struct Seen {
    numbers: BTreeSet<u32>,
    duplicates: u32,
    late: u32,
}

impl Seen {
    fn count(&mut self, number: u32) {
        let highest = self.numbers.last().copied();
        if !self.numbers.insert(number) {
            self.duplicates += 1;
        } else if highest.is_some_and(|highest| number < highest) {
            self.late += 1;
        }
    }

    fn arrived(&self) -> Arrived {
        let datagrams = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        Arrived { datagrams, duplicates: self.duplicates, late: self.late }
    }
}

struct Counting {
    port: u16,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<BTreeMap<String, Seen>>,
}

/// This process's counting.
static COUNTING: Mutex<Option<Counting>> = Mutex::new(None);

fn counting() -> std::sync::MutexGuard<'static, Option<Counting>> {
    COUNTING.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn open(address: Option<IpAddr>, run: &str, secret: &Secret) -> Result<Answer, Failure> {
    let socket = udp::any_port(address)?;
    let failure = |error: std::io::Error| worker::failure(&error);
    socket.set_read_timeout(Some(STOP_INTERVAL)).map_err(failure)?;
    let port = socket.local_addr().map_err(failure)?.port();
    let stop = Arc::new(AtomicBool::new(false));
    let (run, secret, stopped) = (run.to_owned(), secret.clone(), Arc::clone(&stop));
    let thread = std::thread::spawn(move || count(&socket, &run, &secret, &stopped));
    if let Some(earlier) = counting().replace(Counting { port, stop, thread }) {
        earlier.stop.store(true, Ordering::Relaxed);
    }
    Ok(Answer::Opened { port })
}

fn count(socket: &UdpSocket, run: &str, secret: &Secret, stop: &AtomicBool) -> BTreeMap<String, Seen> {
    let mut flows: BTreeMap<String, Seen> = BTreeMap::new();
    let (mut buffer, started) = ([0; 2048], Instant::now());
    while !stop.load(Ordering::Relaxed) && started.elapsed() < COUNTING_LIMIT {
        let Ok(size) = socket.recv(&mut buffer) else { continue };
        if let Some((flow, number)) = datagram::read(&buffer[..size], secret)
            && flow.starts_with(run)
        {
            flows.entry(flow.to_owned()).or_default().count(number);
        }
    }
    flows
}

pub(super) async fn close() -> Result<Answer, Failure> {
    let Some(counting) = counting().take() else {
        return Err(Failure { why: Why::NotFound, message: "no datagrams are counted".into() });
    };
    let overflowed = overflowed(counting.port);
    counting.stop.store(true, Ordering::Relaxed);
    let other = |message: &str| Failure { why: Why::Other, message: message.to_owned() };
    let joined = tokio::task::spawn_blocking(move || counting.thread.join()).await;
    let flows = joined.map_err(|error| other(&error.to_string()))?;
    let flows = flows.map_err(|_| other("counting datagrams failed"))?;
    let flows = flows.into_iter().map(|(flow, seen)| (flow, seen.arrived())).collect();
    Ok(Answer::Counted { flows, overflowed })
}

/// Datagrams that found the buffer of this port's socket full.
fn overflowed(port: u16) -> u64 {
    let tables = ["/proc/net/udp", "/proc/net/udp6"];
    let tables = tables.into_iter().filter_map(|path| host::file::read(std::path::Path::new(path)).ok()?);
    tables.map(|table| drops(&table, port)).sum()
}

/// Lines after the first: number, local address and port in hexadecimal, …, drops (net/ipv4/udp.c,
/// udp4_format_sock).
fn drops(table: &str, port: u16) -> u64 {
    let wanted = format!(":{port:04X}");
    let lines = table
        .lines()
        .skip(1)
        .filter(|line| line.split_whitespace().nth(1).is_some_and(|local| local.ends_with(&wanted)));
    lines.filter_map(|line| line.split_whitespace().last()?.parse::<u64>().ok()).sum()
}

pub(super) async fn send(
    to: SocketAddr,
    flow: String,
    count: u32,
    secret: &Secret,
) -> Result<Answer, Failure> {
    let secret = secret.clone();
    let sent = tokio::task::spawn_blocking(move || trains(to, &flow, count, &secret));
    sent.await.map_err(|error| Failure { why: Why::Other, message: error.to_string() })?
}

fn trains(to: SocketAddr, flow: &str, count: u32, secret: &Secret) -> Result<Answer, Failure> {
    let socket = udp::connected(to)?;
    let (started, mut sent, mut refused) = (Instant::now(), 0, None);
    for number in 0..count {
        if number % TRAIN == 0 {
            let due = started + TRAIN_INTERVAL * (number / TRAIN);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        // The answer to an earlier one is reported in place of sending this one.
        for _ in 0..2 {
            match socket.send(&datagram::write(flow, number, secret)) {
                Ok(_) => {
                    sent += 1;
                    break;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => refused = Some(worker::failure(&error)),
            }
        }
    }
    Ok(Answer::Sent { sent, failure: refused })
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::flow::FLOW_LENGTH;
    use crate::worker::auth;

    #[test]
    fn counts_duplicate_and_late_datagrams_separately() {
        let mut seen = Seen::default();
        for number in [0, 1, 3, 2, 2, 7] {
            seen.count(number);
        }
        assert_eq!(seen.arrived(), Arrived { datagrams: 5, duplicates: 1, late: 1 });
    }

    #[test]
    fn reads_udp_drops_of_a_port() {
        // Of a socket that nobody read (Linux 6.1).
        let table = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  \
            timeout inode ref pointer drops
  320: 00000000000000000000000000000000:9C40 00000000000000000000000000000000:0000 07 00000000:00034200 \
      00:00000000 00000000     0        0 18765 2 0000000000000000 57
  321: 00000000000000000000000000000000:9C41 00000000000000000000000000000000:0000 07 00000000:00000000 \
      00:00000000 00000000     0        0 18766 2 0000000000000000 3
";
        assert_eq!((drops(table, 40_000), drops(table, 40_001), drops(table, 40_002)), (57, 3, 0));
    }

    /// What strangers send is counted nowhere, even where they know the name of the flow.
    #[tokio::test]
    async fn what_is_sent_on_one_machine_arrives_once_and_in_order() {
        let (secret, stranger) = (auth::tests::secret(), auth::tests::secret());
        let run = "abcdefabcdefabcdefabcdef";
        let here = IpAddr::from(Ipv4Addr::LOCALHOST);
        let Answer::Opened { port } = open(Some(here), run, &secret).unwrap() else { panic!("not opened") };
        let other_address = SocketAddr::from((Ipv4Addr::new(127, 0, 0, 2), port));
        assert!(UdpSocket::bind(other_address).is_ok(), "the counting listens on other addresses too");
        let (flow, other) = (format!("{run}00000001"), format!("{run}00000002"));
        let to = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let sent = send(to, flow.clone(), 40, &secret).await.unwrap();
        assert_eq!(sent, Answer::Sent { sent: 40, failure: None });
        // Of a run that is not counted.
        send(to, "f".repeat(FLOW_LENGTH), 4, &secret).await.unwrap();
        // Would be duplicates, and a flow in which nothing is lost.
        send(to, flow.clone(), 40, &stranger).await.unwrap();
        send(to, other, 40, &stranger).await.unwrap();
        let Answer::Counted { flows, overflowed } = close().await.unwrap() else { panic!("not counted") };
        assert_eq!(overflowed, 0);
        assert_eq!(flows.keys().collect::<Vec<_>>(), [&flow]);
        let arrived = flows.get(&flow).copied().unwrap();
        // The last may still be on its way to the counting thread.
        assert!(arrived.datagrams >= 36 && arrived.duplicates == 0 && arrived.late == 0, "{arrived:?}");
        assert!(close().await.is_err());
    }
}
