//! What a check is ([`Check`], [`fleet::FleetCheck`]), how one judges, and how its results are reported.
//!
//! In: [`facts::Facts`] and a list of checks. Out: one [`Verdict`] a check. The checks themselves are in the
//! crate `checks`, which only the program uses: it passes them down as [`Checks`], so that an edit of a check
//! compiles that crate and the program alone.

mod check;
pub mod debug_variables;
pub mod fleet;
pub mod report;
#[doc(hidden)]
pub mod testing;

pub use check::{Applies, Check, CheckResult, Checks, Group, judge, judge_one, root, with_ids, yield_to};
pub use diagnostic::{Fix, FixClass, Judged, Severity, Subject, Verdict};
