//! What the verbs that speak to a cluster's engines share.

use clap::ValueEnum;

use crate::cli::running::{interrupted, runtime};
use diagnostic::error::{Error, Kind};
use diagnostic::layout::Layout;
use diagnostic::terminal;

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people.
    Text,
    /// The report as JSON on standard output; events, one JSON object a line, on standard error.
    Json,
}

/// Runs to its end, or until Ctrl-C (or SIGTERM): then `None`.
pub(super) fn until_interrupted<T>(work: impl Future<Output = T>) -> Result<Option<T>, Error> {
    let runtime = runtime()?;
    let result = runtime.block_on(async {
        tokio::select! {
            result = work => Some(result),
            () = interrupted() => None,
        }
    });
    // A credential helper that still runs must not hold envdoc.
    runtime.shutdown_background();
    Ok(result)
}

/// The shape of reports here.
pub(super) fn layout() -> Layout {
    Layout::of_screen(false)
}

/// A report, which says so beside the events.
pub(super) fn json(report: &impl serde::Serialize) -> Result<(), Error> {
    let mut value = serde_json::to_value(report).unwrap_or_default();
    if let Some(object) = value.as_object_mut() {
        object.insert("event".into(), "report".into());
    }
    terminal::print(&format!("{value}\n"))
}

/// The error of an interruption, after what was started has been ended: for each container how many processes are left.
pub(super) fn stopped(left: &[(String, Result<u32, String>)]) -> Error {
    let rest: Vec<_> = left
        .iter()
        .filter_map(|(node, left)| match left {
            Ok(0) => None,
            Ok(count) => Some(format!("{node}: {count} processes are left")),
            Err(why) => Some(format!("{node}: {why}")),
        })
        .collect();
    match rest.is_empty() {
        true => Error::new(
            Kind::Interrupted,
            "interrupted: everything that was started has been ended, on all nodes",
        ),
        false => Error::new(
            Kind::Interrupted,
            format!("interrupted, but not everything could be ended: {}", rest.join("; ")),
        ),
    }
}
