//! What is known of several machines together: each one's facts, and what only shows between them.

pub mod traits;

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::{Fact, Facts};
use serde::{Deserialize, Serialize};

/// Several machines that are to work together.
#[derive(Debug, Clone)]
pub struct Fleet {
    /// The machines, the one that leads first.
    pub members: Vec<Member>,
    /// What was tried between them: every ordered pair, or of many machines some of them.
    pub pairs: Vec<Pair>,
    /// Why nothing was tried between them: recorded machines.
    pub not_tried: Option<String>,
    /// Paths that must hold the same on every machine.
    pub same_content: Vec<String>,
    /// The image that they are to run.
    pub image: Option<String>,
}

/// One machine.
#[derive(Debug, Clone)]
pub struct Member {
    /// The name that reports use: `gpu1`, `node-a.json`.
    pub name: String,
    /// The address by which the others reach it.
    pub address: String,
    /// What was gathered on it.
    pub facts: Facts,
    /// Distinguishes it from the others.
    pub identity: Fact<Identity>,
    /// Its clock against this machine's.
    pub skew: Fact<Skew>,
    /// By path, what lies there. Absent: there is no such path.
    pub contents: BTreeMap<String, Fact<Digest>>,
    /// Size of the image in its engine, in bytes. Absent: it does not have it.
    pub image: Fact<u64>,
}

/// How far a clock is off, by the answer to a question whose way there and back was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Skew {
    /// Seconds that it is ahead of this machine's.
    pub seconds: f64,
    /// Seconds that this may be wrong by: half the way there and back.
    pub uncertain: f64,
}

/// From one machine to another.
#[derive(Debug, Clone)]
pub struct Pair {
    /// Whose packets: an index into the members.
    pub from: usize,
    /// To whom.
    pub to: usize,
    /// The addresses that the other's address has for this one; itself where it is no name.
    pub resolved: Fact<Vec<IpAddr>>,
    /// The largest packet that arrives whole.
    pub mtu: Fact<PathMtu>,
    /// The ports that the cluster needs.
    pub ports: Vec<(Port, Fact<Reach>)>,
}

/// Packets that may not be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathMtu {
    /// The largest IP packet that arrived, in bytes; 0: not even a small one.
    pub bytes: u32,
    /// The MTU of the interface that they leave by, in bytes.
    pub interface: u32,
}

/// A port that the cluster needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Port {
    /// 7946.
    pub number: u16,
    /// UDP, else TCP.
    pub udp: bool,
    /// What needs it.
    pub purpose: &'static str,
}

impl std::fmt::Display for Port {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.number, if self.udp { "udp" } else { "tcp" })
    }
}

/// Whether a port is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// What envdoc sent arrived, or whoever has the port there took the connection.
    Reached,
    /// It did not.
    Not(Why, String),
}

/// Which machine this is. What could not be read is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// As the kernel has it.
    pub hostname: String,
    /// `/etc/machine-id`: the installation. Images of machines that were cloned share it.
    pub machine_id: Option<String>,
    /// The kernel's, of this boot: two nodes with the same one are the same running machine.
    pub boot_id: Option<String>,
    /// `x86_64`.
    pub architecture: String,
    /// The kernel's release.
    pub kernel: String,
}

/// What is below a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digest {
    /// SHA-256 in hex.
    pub sha256: String,
    /// Files that were read.
    pub files: u64,
    /// Their sizes together, in bytes.
    pub bytes: u64,
    /// The digests of a directory's entries, to tell which one differs; empty where there are more than
    /// [`ENTRIES_MAX`].
    pub entries: BTreeMap<String, String>,
    /// Paths that could not be read, with the reason; at most 20. Not empty: the digest says nothing of them.
    pub unreadable: Vec<String>,
}

/// Kinds of failure that mean different things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// The other machine is there and refuses: nobody listens on that port.
    Refused,
    /// Nothing came back: packets are dropped, or nobody has that address.
    TimedOut,
    /// The network knows no way there.
    Unreachable,
    /// It accepted the connection, and then said nothing.
    Silent,
    /// The name has no address.
    UnknownName,
    /// The DNS server answers that it cannot or will not say (SERVFAIL, REFUSED).
    NameServer,
    PortTaken,
    /// This side has no local port left for it (`ip_local_port_range`).
    NoFreePort,
    /// The packet is larger than this machine's interface sends.
    TooLarge,
    /// There is no such file or directory.
    NotFound,
    /// It is not allowed.
    Denied,
    /// The request was not understood.
    NotUnderstood,
    /// The worker ended, or the way to it did.
    Gone,
    /// The worker said nothing in time: it hangs, or nothing gets through to it.
    Unanswered,
    Other,
}
