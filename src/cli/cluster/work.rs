//! Shared by the subcommands that connect to a cluster's engines.

use std::time::Duration;

use clap::ValueEnum;

use ::cluster::jobs;
use diagnostic::error::{Error, Kind};
use diagnostic::layout::Layout;
use diagnostic::terminal;
use docker::{interrupted, runtime};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Plain text.
    Text,
    /// JSON report on standard output, and JSON events, one per line, on standard error.
    Json,
}

/// `None` after Ctrl-C or SIGTERM.
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

/// Work that ends by itself when it is interrupted, so that it can let go of what it holds.
pub(super) fn to_its_end<T>(work: impl Future<Output = T>) -> Result<T, Error> {
    let runtime = runtime()?;
    let result = runtime.block_on(work);
    // A credential helper that still runs must not hold envdoc.
    runtime.shutdown_background();
    Ok(result)
}

/// How a run that changes a cluster waits for another one.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Locking {
    /// How long to wait while another envdoc changes this cluster, in seconds.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "60",
        value_parser = crate::cli::values::seconds,
        hide_short_help = true
    )]
    pub lock_timeout: Duration,
}

pub(super) fn layout() -> Layout {
    Layout::of_screen(false)
}

/// Prints a report with `"event": "report"`, which distinguishes it from the events.
pub(super) fn json(report: &impl serde::Serialize) -> Result<(), Error> {
    let mut value = serde_json::to_value(report).unwrap_or_default();
    if let Some(object) = value.as_object_mut() {
        object.insert("event".into(), "report".into());
    }
    terminal::print(&format!("{value}\n"))
}

/// The error after an interruption; `left` is the number of remaining processes of each container.
pub(super) fn stopped(left: &[(String, Result<u32, jobs::Error>)]) -> Error {
    let rest: Vec<_> = left
        .iter()
        .filter_map(|(node, left)| match left {
            Ok(0) => None,
            Ok(count) => Some(format!("{node}: {count} processes remain")),
            Err(why) => Some(format!("{node}: {why}")),
        })
        .collect();
    match rest.is_empty() {
        true => Error::new(Kind::Interrupted, "interrupted; all processes on all nodes were stopped"),
        false => Error::new(
            Kind::Interrupted,
            format!("interrupted, but some processes could not be stopped: {}", rest.join("; ")),
        ),
    }
}
