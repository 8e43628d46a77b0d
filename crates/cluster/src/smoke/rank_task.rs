//! What a rank can do, and what it answers.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::broken::Broken;
use super::cpu_limit;
use super::noise::Packets;
use super::processor::Usage;

/// What a rank can do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "rank", rename_all = "kebab-case")]
pub enum Task {
    /// Listens for the rank on the left; [`Answer::Listening`].
    Listen {
        /// The address to listen on; all of them where it is left out or not this machine's.
        address: Option<IpAddr>,
    },
    /// Connects to the rank on the right and waits for the one on the left; [`Answer::Joined`].
    Join {
        /// Which run this is: ranks of others are refused.
        run: String,
        /// This worker's nonce.
        own: String,
        /// The nonce of the rank on the left: a second process that says that it is this rank is refused.
        left: String,
        /// Which rank this is, from 0.
        number: usize,
        /// How many there are; at least 2.
        world: usize,
        /// Address of the rank on the right.
        address: IpAddr,
        port: u16,
        /// The longest that a connection may stall later, in seconds.
        stall: f64,
    },
    /// All-reduces: once checked, `warmup` times, `iterations` times with a clock, the last of these checked
    /// again; [`Answer::Reduced`].
    AllReduce {
        /// How many float32.
        elements: usize,
        /// Rounds before those that count.
        warmup: usize,
        /// Rounds that count.
        iterations: usize,
        /// A test's: the element of which a byte is turned before the first round.
        corrupt: Option<usize>,
    },
    /// Sends to the right, receives from the left, without reducing: what the path takes;
    /// [`Answer::Streamed`].
    Stream {
        bytes: usize,
        sends: bool,
        receives: bool,
        /// Bytes per second that it sends at most; as fast as it can where it is left out.
        #[serde(default)]
        rate: Option<f64>,
    },
    /// Sends to itself over the loopback: what its processors carry at this moment where no network limits
    /// them; [`Answer::Streamed`].
    Loopback { bytes: usize },
    /// Tells what its threads got of the processors lately; [`Answer::Processor`].
    Processor {
        /// How far back, in seconds.
        seconds: f64,
    },
    /// Reads the counters of its CPU limits; [`Answer::CpuLimit`].
    CpuLimit,
    /// Closes the connections; [`Answer::Left`].
    Leave,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "came", rename_all = "kebab-case")]
pub enum Answer {
    /// Of [`Task::Listen`].
    Listening { port: u16 },
    /// Of [`Task::Join`].
    Joined {
        /// Connections that were refused, and why.
        refused: Vec<String>,
    },
    /// Of [`Task::AllReduce`].
    Reduced {
        /// Seconds of each round that counted.
        seconds: Vec<f64>,
        /// Seconds that this rank took for writing and checking its numbers, without the others.
        own: f64,
        /// The part of the timed rounds in which the summing thread ran or waited for a processor: what is
        /// left of 1 it waited for the network or another rank. `None` where the kernel does not tell.
        #[serde(default)]
        busy: Option<f64>,
        /// Elements that were not the sum of all ranks, in the checked rounds together.
        wrong: usize,
        /// The first of them.
        first_wrong: Option<usize>,
    },
    /// Of [`Task::Stream`] and [`Task::Loopback`].
    Streamed {
        /// Seconds until everything had come from the left, or had gone to the right where nothing was to
        /// come.
        seconds: f64,
        /// Seconds of it that are not the network's: [`super::ring::Streamed::waited`].
        waited: f64,
        /// The TCP segments of this network namespace meanwhile.
        packets: Option<Packets>,
    },
    /// Of [`Task::Processor`]; `None` where the kernel does not tell.
    Processor {
        /// What its threads got.
        usage: Option<Usage>,
    },
    /// Of [`Task::CpuLimit`].
    CpuLimit {
        /// Its control groups that a limit can throttle, or why they are unknown.
        groups: Result<Vec<cpu_limit::Group>, cpu_limit::Unread>,
    },
    /// Of [`Task::Leave`].
    Left,
    /// It could not be done.
    Broken(Broken),
}
