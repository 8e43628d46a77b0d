//! Shared by the subcommands that connect to a cluster's engines.

use std::time::Duration;

use clap::ValueEnum;

use ::cluster::jobs;
use ::cluster::lock::{self, Access, Notice, Request};
use ::cluster::plan::ClusterPlan;
use ::cluster::problem::{Problem, Step};
use ::cluster::progress::Progress;
use diagnostic::error::{Error, Kind};
use diagnostic::layout::Layout;
use diagnostic::terminal;
use docker::engine::Engine;
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
    Ok(result)
}

/// Work that ends by itself when it is interrupted, so that it can let go of what it holds.
pub(super) fn to_its_end<T>(work: impl Future<Output = T>) -> Result<T, Error> {
    let runtime = runtime()?;
    let result = runtime.block_on(work);
    Ok(result)
}

/// How a run waits for others on the same cluster.
#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct Locking {
    /// How long to wait for other runs of envdoc on this cluster, in seconds.
    ///
    /// `up` and `down` wait for all other runs; `launch`, `exec` and `smoke` wait for runs that change the
    /// cluster.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "300",
        value_parser = crate::cli::values::seconds,
        hide_short_help = true
    )]
    pub lock_timeout: Duration,
}

impl Locking {
    /// The lock of a run that changes the cluster; none without an engine.
    pub(super) fn change<'a>(
        &self,
        plan: &'a ClusterPlan,
        engine: Option<&'a Engine>,
        (id, command): (&'a str, &'a str),
    ) -> Option<Request<'a>> {
        let (limit, access, optional) = (self.lock_timeout, Access::Change, false);
        engine.map(|engine| Request { plan, engine, id, command, access, limit, optional })
    }

    /// The lock of a run that uses the cluster.
    pub(in crate::cli) fn using<'a>(
        &self,
        plan: &'a ClusterPlan,
        engine: Option<&'a Engine>,
        (id, command): (&'a str, &'a str),
        access: Access,
    ) -> Option<Request<'a>> {
        let (limit, optional) = (self.lock_timeout, true);
        engine.map(|engine| Request { plan, engine, id, command, access, limit, optional })
    }
}

/// Carries out what changes a cluster, under its lock and with progress; `None` after an interruption.
pub(super) async fn locked<T>(
    request: Option<Request<'_>>,
    progress: &Progress,
    work: impl Future<Output = T>,
    interrupted: impl Future<Output = ()>,
) -> Result<Option<T>, Problem> {
    let name = request.as_ref().map(|request| request.plan.name.clone()).unwrap_or_default();
    let notice = |notice: Notice<'_>| {
        if let Notice::Waiting(holder) = notice {
            progress.doing(Step::Lock, &name, &format!("waiting for {holder}"));
        }
    };
    lock::with(request, notice, work, interrupted).await.map_err(|why| why.problem())
}

/// Prints what happens while a run asks for its lock.
pub(in crate::cli) fn lock_notice(notice: Notice<'_>) {
    match notice {
        Notice::Waiting(holder) => terminal::note(&format!("waiting for {holder}")),
        Notice::Unlocked(why) => terminal::note(&format!(
            "warning: cannot lock the cluster: {why}; an `up` or `down` at the same time would not wait"
        )),
    }
}

/// The error of a run that another one keeps from starting.
pub(in crate::cli) fn lock_refused(why: &lock::Error) -> Error {
    Error::new(Kind::Engine, why.to_string()).hint(why.fix().to_string())
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
