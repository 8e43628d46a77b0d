//! What every part of envdoc speaks with: findings, their severity, subject, evidence and fixes; errors with
//! hints; sizes and durations; and one renderer for each output format.
//!
//! In: a [`report::Report`] of [`Verdict`]s. Out: text, JSON, JUnit, SARIF, GitHub annotations, Markdown,
//! HTML. Nothing here knows a machine, an engine or the catalog.

pub mod chart;
pub mod error;
mod finding;
mod fix;
mod ignored;
pub mod layout;
pub mod links;
mod markup;
mod missing;
pub mod page;
pub mod render;
pub mod report;
pub mod rule;
mod run;
pub mod shell;
mod status;
pub mod suggest;
pub mod terminal;
pub mod units;
mod verdict;
pub mod visible;
pub mod words;
pub mod yaml;

pub use finding::{Diagnostic, Severity, Subject};
pub use fix::{Edit, Fix, FixClass, Position};
pub use missing::{Missing, MissingKind, Unavailable};
pub use status::Status;
pub use verdict::{Judged, Verdict};
