//! Numbered datagrams from one container to another, counted where they arrive: each direction has its own
//! rate of loss, and a blocked direction is distinguished from the other. What a connection shows (TCP, a
//! question and its answer) always needs both directions.
//!
//! The workers send, count and watch ([`counter`], [`watch`], [`counters`]); [`measure`] asks them and
//! [`rate`] is what the counts mean. Each datagram proves that it is of this run ([`datagram`]): what others
//! send changes no count.

mod counter;
pub mod counters;
pub(crate) mod datagram;
pub mod gossip;
pub mod measure;
pub mod rate;
pub mod trace;
pub(crate) mod watch;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use counters::Counters;

use crate::worker::custom::CustomTask;
use crate::worker::{Failure, auth};

/// The port over which the members of a swarm gossip, by TCP and UDP.
pub(crate) const PORT_OF_GOSSIP: u16 = 7946;
/// Letters of a flow's name: the run's, and two numbers.
pub(crate) const FLOW_LENGTH: usize = 32;

/// What a worker does with datagrams.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "kebab-case")]
pub enum Task {
    /// Counts the datagrams of a run until [`Task::Close`]; [`Answer::Opened`].
    Open {
        /// The address to listen on; all of them where it is left out or not this machine's.
        address: Option<IpAddr>,
        /// The beginning of the names of its flows.
        run: String,
    },
    /// Sends numbered datagrams; [`Answer::Sent`] when the last one is out.
    Send {
        /// Where to.
        address: IpAddr,
        /// The port of [`Answer::Opened`].
        port: u16,
        flow: String,
        count: u32,
    },
    /// Ends the counting; [`Answer::Counted`].
    Close,
    /// Looks at all packets that pass this network namespace's interfaces; [`Answer::Watched`].
    Watch {
        /// The beginning of the names of the flows.
        run: String,
        seconds: f64,
    },
    /// What the kernel has counted so far; [`Answer::Counters`].
    Counters,
    /// Looks at the gossip of the Docker engines; [`Answer::Heard`].
    Gossip { seconds: f64 },
}

/// What came of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Answer {
    /// Of [`Task::Open`].
    Opened {
        /// The UDP port.
        port: u16,
    },
    /// Of [`Task::Send`].
    Sent {
        /// How many the kernel took.
        sent: u32,
        /// Why it refused one: a firewall's answer, no route.
        failure: Option<Failure>,
    },
    /// Of [`Task::Close`].
    Counted {
        /// By the flow's name.
        flows: BTreeMap<String, Arrived>,
        /// How many arrived and found the socket's buffer full: the receiver's own fault.
        overflowed: u64,
    },
    /// Of [`Task::Watch`].
    Watched {
        /// Each kind once.
        packets: Vec<Packet>,
        /// Who asked for the hardware address of whom (ARP), without an answer.
        unanswered: Vec<(IpAddr, IpAddr)>,
    },
    /// Of [`Task::Counters`].
    Counters(Counters),
    /// Of [`Task::Gossip`].
    Heard(gossip::Heard),
    /// It could not be done.
    Failed(Failure),
}

impl CustomTask for Task {
    const PROGRAM: &'static str = "flow";
    type Answer = Answer;
}

/// What arrived of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Arrived {
    /// Different datagrams.
    pub datagrams: u32,
    /// Datagrams that had arrived before.
    pub duplicates: u32,
    /// Datagrams that came after one with a higher number.
    pub late: u32,
}

/// Packets that carry a flow, as an interface of a machine sees them: the overlay's packets, or a firewall's
/// answer to one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Packet {
    pub flow: String,
    /// The sender.
    pub source: IpAddr,
    pub destination: IpAddr,
    /// The UDP port that it is for; `None` for an ICMP error, which quotes the packet.
    pub port: Option<u16>,
}

/// Does a task; the caller has the deadline.
pub(crate) async fn answer(task: Task, _deadline: Duration) -> Answer {
    let done = match task {
        Task::Open { address, run } => auth::own().and_then(|secret| counter::open(address, &run, secret)),
        Task::Send { address, port, flow, count } => match auth::own() {
            Ok(secret) => counter::send(SocketAddr::new(address, port), flow, count, secret).await,
            Err(failure) => Err(failure),
        },
        Task::Close => counter::close().await,
        Task::Watch { run, seconds } => match auth::own() {
            Ok(secret) => watch::watch(run, seconds, secret).await,
            Err(failure) => Err(failure),
        },
        Task::Counters => counters::read().map(Answer::Counters),
        Task::Gossip { seconds } => gossip::listen(seconds).await,
    };
    done.unwrap_or_else(Answer::Failed)
}
