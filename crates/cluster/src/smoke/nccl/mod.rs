//! The all-reduce of NCCL, driven by envdoc itself: one rank per GPU, with the very libnccl that the image's
//! torch would load.
//!
//! A rank is a process of its own (a worker), because a library that hangs or crashes takes its process with
//! it. [`search`] finds the library ([`elf`] reads which ones torch asks for), [`library`] opens it, [`gpu`]
//! is the GPU, [`rank`] does what is asked of a rank, [`error`] names what fails there, [`words`] says what
//! result codes mean. [`workers`] starts the ranks, [`phases`] are the phases of the test, [`transport_used`]
//! its last one; [`here`] runs them on this machine.

pub mod elf;
pub mod error;
pub mod gpu;
pub mod here;
pub mod library;
mod logs;
pub mod phases;
pub mod rank;
pub mod search;
pub mod transport_used;
pub mod words;
pub mod workers;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::gpu::{Gpu, Loaded};
use super::transport::Infiniband;
use error::Reported;

/// What a rank can do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "nccl", rename_all = "kebab-case")]
pub enum Task {
    /// Looks at what decides how a rank is to be started; [`Answer::Ground`].
    Look,
    /// Opens libnccl, then the GPU; [`Answer::Opened`].
    Open {
        /// Which GPU, from 0, of those that the process sees.
        device: usize,
        /// Variables for NCCL, where the environment does not have them.
        environment: BTreeMap<String, String>,
    },
    /// A new unique id, by which the ranks find each other; [`Answer::Id`].
    UniqueId,
    /// Joins the communicator; [`Answer::Joined`].
    Join {
        /// The unique id in hex.
        id: String,
        /// Which rank this is, from 0.
        number: usize,
        /// How many there are.
        world: usize,
    },
    /// Sums float32: once checked, `warmup` times, `iterations` times with a clock; [`Answer::Reduced`].
    AllReduce {
        /// How many float32.
        elements: usize,
        /// Rounds before those that count.
        warmup: usize,
        /// Rounds that count, one right after the other.
        iterations: usize,
    },
    /// What NCCL has written with `NCCL_DEBUG=INFO` so far; [`Answer::Log`].
    Log,
}

/// The result of one NCCL rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "came", rename_all = "kebab-case")]
pub enum Answer {
    /// Of [`Task::Look`].
    Ground(Ground),
    /// Of [`Task::Open`].
    Opened(Box<Opened>),
    /// Of [`Task::UniqueId`], in hex.
    Id {
        /// 128 bytes.
        id: String,
    },
    /// Of [`Task::Join`].
    Joined,
    /// Of [`Task::AllReduce`].
    Reduced {
        /// Seconds of a round, the mean of those that counted; nothing where none was to count.
        seconds: Option<f64>,
        /// Elements that were not the sum of all ranks.
        wrong: usize,
        /// The first of them.
        first_wrong: Option<usize>,
    },
    /// Of [`Task::Log`].
    Log {
        /// Its lines.
        lines: Vec<String>,
    },
    /// It could not be done.
    Broken {
        /// Why the rank stopped.
        message: Reported,
    },
}

/// What decides how a rank is to be started in a container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ground {
    /// The version of the image's glibc, `2.39`: its libraries may need it. `None` where it has none.
    pub image: Option<String>,
    /// The version of the glibc that this process runs on.
    pub own: Option<String>,
    /// `LD_LIBRARY_PATH` of the container.
    pub library_path: String,
    /// How many `/dev/nvidia0`, `/dev/nvidia1`, … there are.
    pub devices: usize,
}

/// The library and the GPU of a rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// What was loaded, or why nothing could be.
    pub library: Result<Loaded, Reported>,
    /// What is to be known of the choice.
    pub remarks: Vec<String>,
    /// The GPU, or why there is none.
    pub gpu: Result<Gpu, Reported>,
    /// What may keep NCCL from InfiniBand.
    pub infiniband: Infiniband,
    /// Rates of the InfiniBand ports in Gbit/s.
    pub rates: Vec<u32>,
}
