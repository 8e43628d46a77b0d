//! The smoke test: an all-reduce between the ranks of a cluster, with a verdict.
//!
//! [`ladder`] climbs from "is there a way" to "how fast", with a worker in every place; [`rank`] is what a worker does in it: [`ring`] is the
//! all-reduce over TCP, [`pattern`] what is summed. [`local`] has the places on this machine. [`cluster`] those in containers. [`outcome`] is what comes of it,
//! [`judge`] what it means, [`pairs`] looks for the one bad node or link, a [`baseline`] is an earlier run.
//! [`tell`] is how it is followed.
//! [`nccl`] does it on the GPUs, [`torch`] has the image's own torch do the same, [`deepspeed`] trains, [`nccl_log`] reads what NCCL says of it,
//! and [`transport`] whether that is as it should be.

pub mod bandwidth;
pub mod baseline;
pub mod cluster;
pub mod deepspeed;
pub mod judge;
pub mod ladder;
pub mod local;
pub mod nccl;
pub mod nccl_log;
pub mod outcome;
pub mod pairs;
pub mod pattern;
pub mod rank;
pub mod report;
pub mod ring;
pub mod tell;
pub mod torch;
pub mod transport;
