//! The checks: what can be wrong with a machine ([`server`]) and with several machines together ([`fleet`]).
//!
//! In: [`Facts`], or a [`facts::fleet::Fleet`]. Out: one [`Verdict`] a check. A check never reads anything
//! itself. A check is `<fault>.rs`, its explanation `<fault>.md`, and one line in the list of its folder.

mod daemon_json;
mod distribution;
mod driver;
pub mod fleet;
mod gpu;
mod nvidia_smi;
mod partner;
mod python;
pub mod server;
#[doc(hidden)]
pub mod testing;

pub use judge::{Applies, Check, CheckResult, Fix, FixClass, Group, Judged, Severity, Subject, Verdict};
pub use judge::{judge, judge_one};
pub(crate) use judge::{root, yield_to};
pub use server::{CHECKS, IMAGE_CHECKS};
