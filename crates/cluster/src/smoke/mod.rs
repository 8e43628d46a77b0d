//! The smoke test: an all-reduce between the ranks of a cluster, with a verdict.
//!
//! [`phase`] names the phases; [`phases`] runs the test from "can the ranks connect" to "how fast", with a
//! worker as every rank; [`rank`] is what a worker does for it: [`ring`] is the all-reduce over TCP,
//! [`pattern`] the numbers that are summed. [`local`] starts ranks on this machine, [`cluster`] in the
//! containers of a cluster. [`nccl`] runs the all-reduce on GPUs, [`torch`] with the image's own torch,
//! [`deepspeed`] trains a tiny model; [`nccl_log`] parses NCCL's log, [`transport`] compares it with the
//! expected transport. [`progress`] reports events as they happen, [`outcome`] is the result, [`judge`] the
//! verdict from the spread of repeated rounds ([`repeated`], [`noise`]), [`pairs`] finds the one bad node or
//! link, a [`baseline`] is an earlier run, [`memory_kills`] what the OOM killer ended meanwhile.

pub mod bandwidth;
pub mod baseline;
pub mod broken;
pub mod captured;
pub mod cluster;
pub(crate) mod counters;
pub mod cpu_limit;
pub mod deepspeed;
pub mod expected_nccl;
pub mod judge;
pub mod local;
pub mod memory_kills;
pub mod nccl;
pub mod nccl_log;
pub mod noise;
pub mod outcome;
mod pace;
pub mod packets;
pub mod pairs;
pub mod pattern;
pub mod phase;
pub mod phases;
pub mod processor;
pub mod progress;
pub mod rank;
mod reduce;
pub mod repeated;
pub mod report;
pub mod ring;
mod shm;
mod slow_link;
mod straggler;
pub mod torch;
pub mod transport;
pub mod unjudged;
pub mod worker_tasks;
mod wrong_elements;
