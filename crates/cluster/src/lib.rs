//! Several machines as one cluster.
//!
//! In: `cluster.yaml` ([`request`]) and the nodes' engines. [`validate`] turns a request into a [`plan`] in
//! which every value is set; [`container`], [`keys`] and [`render`] derive from the plan what each node gets.
//!
//! [`up`] carries the plan out step by step: [`observed_state`] reads what exists, [`swarm`], [`image`] and
//! [`network`] decide what to change, [`probe`] and [`container_probe`] test from within containers,
//! [`causes`] ranks why containers do not reach each other ([`stale_entries`]: faults of the overlay itself,
//! [`flow`]: what each direction loses).
//! [`smoke`] runs the all-reduce; [`oom`] finds what the kernel killed for lack of memory meanwhile.
//!
//! Out: [`report`]s, and [`problem`]s named by their cause.

pub mod activity;
mod blocked;
pub mod bootstrap;
pub mod built;
pub mod causes;
pub mod check;
pub mod compare;
pub mod container;
pub mod container_probe;
pub mod down;
pub mod error;
mod field_labels;
mod fixes;
pub mod flow;
pub mod former;
#[doc(hidden)]
pub mod fuzzing;
mod gossip;
mod hosts_file;
pub mod image;
pub mod init;
pub mod job;
mod job_oom;
pub mod jobs;
mod join_marker;
pub mod kept;
pub mod keys;
pub mod launch;
pub mod leftovers;
pub mod lock;
pub mod logs;
pub mod network;
pub mod nodes;
pub mod not_running;
pub mod observed_state;
pub mod oom;
pub mod plan;
pub mod probe;
pub mod problem;
mod program_line;
pub mod progress;
pub mod reach;
pub mod record;
pub mod render;
pub mod report;
pub mod request;
mod resolver;
pub mod secrets;
pub mod smoke;
pub mod ssh;
mod sshd;
pub mod stale_entries;
pub mod status;
pub mod swarm;
#[cfg(test)]
pub(crate) mod testing;
pub mod up;
pub mod validate;
pub mod waiting;
pub mod watchdog;
pub mod worker;

pub use error::Error;
