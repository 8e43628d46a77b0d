//! The checks: what can be wrong with a machine ([`server`]) and with several machines together ([`fleet`]).
//!
//! In: [`Facts`], or a [`facts::fleet::Fleet`]. Out: one [`Verdict`] a check. A check never reads anything
//! itself. A check is `<fault>.rs`, its explanation `<fault>.md`, and one line in the list of its folder.

mod check;
mod daemon_json;
mod distribution;
mod driver;
pub mod fleet;
mod gpu;
mod nvidia_smi;
mod partner;
mod python;
pub mod report;
pub mod server;
#[doc(hidden)]
pub mod testing;

pub(crate) use check::yield_to;
pub use check::{Applies, Check, CheckResult, Group, judge, judge_one};
pub use diagnostic::{Fix, FixClass, Judged, Severity, Subject, Verdict};
pub use server::{CHECKS, debug_variable_left_on, nccl_variable_unknown};
