//! Before a container is restarted, recreated or removed: what that would stop.

use std::fmt;

use crate::Error;
use crate::activity::{Activity, activity};
use crate::plan::Node;
use crate::problem::{Problem, Step};
use diagnostic::Fix;
use docker::container;
use docker::engine::Engine;

/// Why a container may not be stopped without being asked.
#[derive(Debug)]
pub(crate) enum Busy {
    /// Something runs there that `up` did not start.
    Jobs(Activity),
    /// It runs, and nobody can tell what runs in it.
    Unknown(Error),
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Busy::Jobs(activity) => activity.fmt(f),
            Busy::Unknown(why) => write!(f, "unknown processes ({why})"),
        }
    }
}

/// What stopping a container of this name would stop; `None` where it does not run, or runs nothing but what
/// `up` started.
pub(crate) async fn busy(engine: &Engine, name: &str) -> Option<Busy> {
    let found = match container::inspect(engine, name).await {
        Ok(Some(found)) if found.enterable() => found,
        Ok(_) => return None,
        Err(why) => return Some(Busy::Unknown(why.into())),
    };
    match activity(engine, &found).await {
        Ok(activity) if activity.idle() => None,
        Ok(activity) => Some(Busy::Jobs(activity)),
        Err(why) => Some(Busy::Unknown(why)),
    }
}

/// The problem of a container that stays as it is. `needed`: why it should be stopped, `its settings differ`.
pub(super) fn refused(step: Step, node: &Node, needed: &str, busy: &Busy) -> Problem {
    let message = format!(
        "the container of {0} needs a restart ({needed}), which would stop processes that envdoc did not \
            start: {busy}",
        node.name
    );
    Problem::of(step, &node.name, message).fix(Fix::restarts_service(
        "Wait until they have ended, or stop them with the restart:",
        &["envdoc cluster up --restart"],
    ))
}
