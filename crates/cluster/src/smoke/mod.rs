//! The smoke test: an all-reduce between the ranks of a cluster, with a verdict.
//!
//! [`phase`] names the phases; [`phases`] runs the test from "can the ranks connect" to "how fast", with a
//! worker as every rank; [`rank`] does the tasks of [`rank_task`] in a worker: [`ring`] is the all-reduce
//! over TCP, [`pattern`] the numbers that are summed. [`local`] starts ranks on this machine, [`cluster`]
//! in the containers of a cluster. [`nccl`] runs the all-reduce on GPUs, [`torch`] with the image's own
//! torch, [`deepspeed`] trains a tiny model; [`nccl_log`] parses NCCL's log, [`transport`] compares it with
//! the expected transport. [`progress`] reports events as they happen, [`outcome`] is the result, [`judge`]
//! the verdict from the spread of repeated rounds ([`repeated`], [`noise`]), [`pair`] finds the one bad
//! node or link, a [`baseline`] is an earlier run, [`memory_kills`] what the OOM killer ended meanwhile.

pub mod bandwidth;
pub mod baseline;
pub mod broken;
pub mod captured;
pub mod changed_packets;
pub mod cluster;
pub(crate) mod counters;
pub mod cpu_limit;
pub mod criteria;
pub mod deepspeed;
mod doubts;
pub mod expected_nccl;
mod found;
pub mod gpu;
pub mod judge;
pub mod local;
pub mod memory_kills;
pub mod nccl;
pub mod nccl_log;
pub mod no_answer;
pub mod noise;
pub mod outcome;
mod pace;
pub mod packets;
pub mod pair;
pub mod pattern;
pub mod phase;
pub mod phases;
pub mod processor;
pub mod progress;
pub mod rank;
pub mod rank_task;
mod reduce;
pub mod repeated;
pub mod report;
pub mod ring;
mod shm;
mod slow_link;
mod straggler;
mod sum;
mod throttled;
pub mod torch;
pub mod transport;
mod unjudged;
pub mod worker_tasks;
mod wrong_elements;
