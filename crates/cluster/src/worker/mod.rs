//! The program inside: `envdoc worker` (hidden) does on a node, or in a container of any image, what can only
//! be seen from there.
//!
//! It reads one [`Request`] a line from standard input and writes one [`Reply`] a line to standard output,
//! many at once; the first line that it writes is a [`Reply::hello`]. Every task has a deadline, and the
//! worker ends when its standard input does, so that nothing is left behind by a caller that dies.
//! [`session`] is the caller's side, over any pair of streams (ssh, an exec); [`bundle`] is the program with
//! the libraries that it needs, for images of another or no C library.

pub(crate) mod auth;
pub mod bundle;
pub mod container;
pub mod custom;
pub mod digest;
pub(crate) mod dns;
pub(crate) mod interfaces;
mod machine;
mod mtu;
pub mod serve;
pub mod session;
pub(crate) mod tcp;
pub(crate) mod udp;

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

pub use crate::error::Failure;
pub use auth::Secret;
pub use facts::fleet::{Digest, Identity, Why};
pub(crate) use machine::nonce;
pub use machine::{SPACE_TRIAL_BYTES, Unusable};
pub(crate) use tcp::failure;

/// The version of this protocol: another one is not spoken with.
pub const PROTOCOL: u32 = 6;

/// One line to the worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The caller's number for it, which the replies carry.
    pub id: u64,
    /// The longest that it may take, in seconds; a listener is closed then.
    pub seconds: f64,
    /// What to do.
    #[serde(flatten)]
    pub task: Task,
}

/// What a worker can do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "kebab-case")]
pub enum Task {
    /// The addresses of a name, by this machine's resolver; [`Answer::Resolved`].
    Resolve {
        /// A host name.
        name: String,
    },
    /// The IPv4 addresses of a name by this DNS server, past this machine's resolver; [`Answer::Resolved`].
    ResolveAt {
        /// A host name.
        name: String,
        server: IpAddr,
    },
    /// Network interfaces with their addresses and MTU; [`Answer::Interfaces`].
    Interfaces,
    /// The interface that packets to an address leave by; [`Answer::Route`].
    Route {
        /// Where to: an IP address.
        address: IpAddr,
    },
    /// The IPv4 networks that the kernel has a route to; [`Answer::Routes`].
    Routes,
    /// Whether somebody answered for the hardware address of an address on the same link;
    /// [`Answer::Neighbour`]. Nothing is sent: what the kernel found out when it was last tried counts.
    Neighbour {
        /// Its IPv4 address.
        address: IpAddr,
    },
    /// Keeps the secret of the run, which the listeners and what connects to them need; no answer.
    Secret {
        /// Random.
        secret: Secret,
    },
    /// Accepts connections of workers of this run and sends them its nonce; [`Answer::Listening`] at once,
    /// then open until the deadline or [`Task::Stop`].
    ListenTcp {
        /// The address to listen on; all of them where it is left out or not this machine's.
        address: Option<IpAddr>,
        /// 0: any that is free.
        port: u16,
    },
    /// Connects; [`Answer::Connected`].
    ConnectTcp {
        /// A name or an IP address.
        address: String,
        port: u16,
        /// What the other side must send. Fails as [`Why::Silent`] if nothing comes.
        expected: Expected,
    },
    /// Acknowledges the datagrams of [`Task::SendUdp`] and [`Task::PathMtu`] of this run;
    /// [`Answer::Listening`] at once.
    ListenUdp {
        /// The address to listen on; all of them where it is left out or not this machine's.
        address: Option<IpAddr>,
        /// 0: any that is free.
        port: u16,
    },
    /// Sends a datagram, again every 300 ms, until it is acknowledged; [`Answer::Acknowledged`], or fails as
    /// [`Why::TimedOut`].
    SendUdp {
        /// A name or an IP address.
        address: String,
        /// The listener's port.
        port: u16,
        /// The whole IP packet's size in bytes, headers included (IPv4: 28 bytes, IPv6: 48 bytes).
        size: u32,
        /// Whether routers may not cut it into fragments.
        dont_fragment: bool,
    },
    /// Searches the largest packet that arrives whole; [`Answer::PathMtu`], or fails as [`Why::TimedOut`]
    /// where not even a small one is acknowledged. Nothing of what the kernel remembers is believed.
    PathMtu {
        /// A name or an IP address.
        address: String,
        /// The port of a [`Task::ListenUdp`].
        port: u16,
        /// The largest size that is tried, in bytes of the IP packet: the MTU that should be.
        largest: u32,
    },
    /// The room of the file system at a directory, and whether it takes a file of [`SPACE_TRIAL_BYTES`],
    /// which is removed at once; [`Answer::Space`].
    Space {
        /// A directory: `/dev/shm`.
        path: String,
    },
    /// Now; [`Answer::Clock`].
    Clock,
    /// Which machine this is; [`Answer::Identity`].
    Identity,
    /// What is below a path, as one digest: names, sizes, modes and contents; [`Answer::Digest`].
    Digest {
        /// A file or a directory.
        path: String,
        /// Names of entries that are left out at any depth: `.git`, `__pycache__`.
        #[serde(default)]
        exclude: Vec<String>,
    },
    /// A task of a program that registered with the worker (see [`custom`]); [`Answer::Custom`].
    Custom {
        /// The program: `rank`, `nccl`.
        program: String,
        /// Its task.
        payload: serde_json::Value,
    },
    /// Closes a listener; [`Answer::Stopped`].
    Stop {
        /// The `id` of its request.
        listener: u64,
    },
}

/// One line from the worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The request's number; 0 for the greeting.
    pub id: u64,
    /// The result that the worker reports, or its error.
    #[serde(flatten)]
    pub answer: Answer,
}

/// What came of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Answer {
    /// The worker is there.
    Hello(Hello),
    /// Of [`Task::Resolve`], each once, in the resolver's order.
    Resolved {
        /// Never empty.
        addresses: Vec<IpAddr>,
    },
    /// Of [`Task::Interfaces`], by name.
    Interfaces {
        /// All of them, `lo` too.
        interfaces: Vec<Interface>,
    },
    /// Of [`Task::Route`].
    Route {
        /// The address that packets would come from.
        source: IpAddr,
        /// The interface that has it.
        interface: Option<String>,
        /// Its MTU in bytes.
        mtu: Option<u32>,
    },
    /// Of [`Task::Routes`].
    Routes {
        /// As `10.0.18.0/24` with the interface that packets to it leave by, without the default route.
        networks: Vec<(String, String)>,
    },
    /// Of [`Task::Neighbour`].
    Neighbour {
        /// The hardware address; `None` where nobody answered.
        hardware: Option<String>,
    },
    /// Of the listeners.
    Listening { port: u16 },
    /// Of [`Task::ConnectTcp`].
    Connected {
        /// Until the connection stood, in milliseconds.
        milliseconds: f64,
        /// The address that was connected to.
        address: IpAddr,
        /// The first line from the other side, without its end, where it was waited for: an sshd's banner;
        /// of a worker, its nonce.
        greeting: Option<String>,
    },
    /// Of [`Task::SendUdp`].
    Acknowledged {
        /// From the first datagram to the acknowledgement, in milliseconds.
        milliseconds: f64,
        /// Datagrams that were sent.
        sent: u32,
        /// The nonce of the worker that received it.
        receiver: String,
    },
    /// Of [`Task::PathMtu`].
    PathMtu {
        /// The largest IP packet in bytes that was acknowledged.
        bytes: u32,
        /// The smallest size in bytes that was tried and did not arrive.
        lost: Option<u32>,
        /// The size in bytes that this machine's own interface would not send.
        refused: Option<u32>,
    },
    /// Of [`Task::Space`].
    Space {
        /// Its size in bytes.
        total: u64,
        /// What is free of it, in bytes.
        free: u64,
        /// Why no file can be made there; `None` where one was made.
        unusable: Option<Unusable>,
    },
    /// Of [`Task::Clock`].
    Clock {
        /// Seconds since 1970-01-01 UTC, by this machine's clock.
        unix_seconds: f64,
    },
    /// Of [`Task::Identity`].
    Identity(Identity),
    /// Of [`Task::Digest`].
    Digest(Digest),
    /// Of [`Task::Custom`].
    Custom {
        /// The program's answer.
        payload: serde_json::Value,
    },
    /// Of [`Task::Stop`].
    Stopped,
    /// It could not be done.
    Failed(Failure),
}

/// Who the worker is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// envdoc's version.
    pub envdoc: String,
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// Random: tells two workers apart.
    pub nonce: String,
}

/// A network interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interface {
    /// `eth0`.
    pub name: String,
    /// Its addresses with the length of their prefix.
    pub addresses: Vec<(IpAddr, u8)>,
    /// In bytes; `None` where it could not be read.
    pub mtu: Option<u32>,
    /// The speed of its link in Mbit/s; `None` for one that has no hardware behind it, and where it does not
    /// tell.
    #[serde(default)]
    pub speed: Option<u32>,
    /// Whether it is switched on and has a carrier.
    pub up: bool,
    pub loopback: bool,
}

/// Limit of entries whose digests are reported one by one.
pub const ENTRIES_MAX: usize = 1000;

/// What the other side of a TCP connection must say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expected {
    /// Nothing: that it accepts is enough.
    Nothing,
    /// A line, as an sshd does.
    Line,
    /// The proof that it is a worker of this run (see [`auth`]), and its nonce.
    Worker,
}

/// An answer to another question.
pub fn unexpected(answer: &Answer) -> Failure {
    Failure { why: Why::NotUnderstood, message: format!("unexpected answer from the worker: {answer:?}") }
}
