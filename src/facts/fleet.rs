//! What is known of several machines together: each one's facts, and what only shows between them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{Fact, Facts};
use crate::worker::{Digest, Identity, Why};

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
    /// Its name.
    pub name: String,
    /// The address by which the others reach it.
    pub address: String,
    /// What it is.
    pub facts: Facts,
    /// What tells it from others.
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
    /// Its number.
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
