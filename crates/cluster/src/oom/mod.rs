//! Whether the kernel's OOM killer killed a process of a container or of this machine's session, by the
//! kernel's own counter, read before and after, and by the state of the engine. An exit status alone is no
//! evidence: anybody may send SIGKILL.

mod counter;
mod message;
mod watch;

pub(crate) use counter::{Counter, Limit};
pub(crate) use message::{inspect, reported, unread};
pub use watch::{Local, Watch};

use docker::container::Found;

/// Why it is unknown whether there was an OOM kill.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Unread {
    /// The counter's files could not be asked for in the container.
    #[error("{0}")]
    Exec(#[from] docker::Error),
    /// The file that names the cgroup cannot be read.
    #[error("/proc/self/cgroup is not readable: {0}")]
    OwnCgroup(String),
    /// No file has the counter.
    #[error("no memory cgroup with an `oom_kill` counter in /sys/fs/cgroup")]
    NoCounter,
    /// The counter started from zero.
    #[error("the container was restarted meanwhile")]
    Restarted,
}

/// What the kernel and the engine have of a container, or the kernel of a session, at one time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Snapshot {
    /// The kernel's counter.
    counter: Result<Counter, Unread>,
    /// The engine's state of the container; `None` for this machine, and where the engine has no answer.
    engine: Option<Found>,
}

/// What two snapshots show of the time between them.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    /// The OOM killer killed a process.
    Killed(Kill),
    /// It killed none.
    Nothing,
    /// Unknown: a counter could not be read.
    Unread(Unread),
}

/// What the OOM killer did.
#[derive(Debug, Clone, PartialEq)]
pub struct Kill {
    pub(crate) evidence: Evidence,
    pub(crate) limit: Limit,
    /// Whether the limit of the cgroup itself was reached; `None` where that is not known.
    pub(crate) own_limit: Option<bool>,
}

/// Where a kill is recorded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Evidence {
    /// The kernel's counter in this file.
    Counter { file: String, before: u64, after: u64 },
    /// The engine's `State.OOMKilled`.
    Engine,
}

/// Compares two snapshots of one container, or of this machine.
fn compare(before: &Snapshot, after: &Snapshot) -> Finding {
    let same = match (&before.engine, &after.engine) {
        (Some(before), Some(after)) => before.id == after.id && before.since == after.since,
        _ => true,
    };
    let limit = limit_of(after).or_else(|| after.engine.as_ref().map(engine_limit));
    let limit = limit.or_else(|| limit_of(before)).unwrap_or(Limit::Unknown);
    let counted = match (&before.counter, &after.counter) {
        (Ok(before), Ok(after)) if same && before.file == after.file => Some((before, after)),
        _ => None,
    };
    if let Some((before, after)) = counted.filter(|(before, after)| after.kills > before.kills) {
        let file = after.file.clone();
        let evidence = Evidence::Counter { file, before: before.kills, after: after.kills };
        return Finding::Killed(Kill {
            evidence,
            limit,
            own_limit: after.limit_reached.since(before.limit_reached),
        });
    }
    // The cgroup of a container that was started again counts from zero.
    if let Some(after) = after.counter.as_ref().ok().filter(|after| !same && after.kills > 0) {
        let evidence = Evidence::Counter { file: after.file.clone(), before: 0, after: after.kills };
        return Finding::Killed(Kill { evidence, limit, own_limit: None });
    }
    let reported = |snapshot: &Snapshot| snapshot.engine.as_ref().is_some_and(|found| found.out_of_memory);
    if reported(after) && !(same && reported(before)) {
        return Finding::Killed(Kill { evidence: Evidence::Engine, limit, own_limit: None });
    }
    match (&before.counter, &after.counter) {
        _ if counted.is_some() => Finding::Nothing,
        (_, Err(why)) | (Err(why), _) if same => Finding::Unread(why.clone()),
        _ => Finding::Unread(Unread::Restarted),
    }
}

fn limit_of(snapshot: &Snapshot) -> Option<Limit> {
    snapshot.counter.as_ref().ok().map(|counter| counter.limit).filter(|limit| *limit != Limit::Unknown)
}

fn engine_limit(found: &Found) -> Limit {
    found.memory_limit.map_or(Limit::Unlimited, Limit::Bytes)
}

#[cfg(test)]
mod tests {
    use super::counter::Reached;
    use super::*;

    pub(super) fn snapshot(kills: u64, reached: u64, limit: Limit) -> Snapshot {
        let file = "/sys/fs/cgroup/memory.events".to_owned();
        Snapshot {
            counter: Ok(Counter { file, kills, limit_reached: Reached::Times(reached), limit }),
            engine: Some(Found { since: "2026-01-01T00:00:00Z".into(), running: true, ..Found::default() }),
        }
    }

    #[test]
    fn reports_only_kills_between_the_two_readings() {
        let limit = Limit::Bytes(64 << 20);
        let (before, after) = (snapshot(3, 5, limit), snapshot(4, 6, limit));
        let Finding::Killed(kill) = compare(&before, &after) else { panic!("{after:?}") };
        assert_eq!(kill.own_limit, Some(true));
        assert_eq!(kill.limit, limit);
        assert_eq!(compare(&after, &after), Finding::Nothing);
        // What was killed without the container's own limit being reached.
        let Finding::Killed(kill) = compare(&before, &snapshot(4, 5, limit)) else { panic!() };
        assert_eq!(kill.own_limit, Some(false));
    }

    #[test]
    fn engine_oom_flag_counts_and_unread_counter_is_not_a_pass() {
        let before = snapshot(0, 0, Limit::Unlimited);
        let unread = Snapshot { counter: Err(Unread::NoCounter), ..before.clone() };
        assert_eq!(compare(&unread, &unread), Finding::Unread(Unread::NoCounter));
        assert_eq!(compare(&before, &unread), Finding::Unread(Unread::NoCounter));
        // A container that ended with status 137 alone.
        let ended = |out_of_memory| Snapshot {
            counter: Err(Unread::NoCounter),
            engine: before.engine.clone().map(|found| Found {
                running: false,
                exit: Some(137),
                out_of_memory,
                memory_limit: Some(64 << 20),
                ..found
            }),
        };
        assert_eq!(compare(&before, &ended(false)), Finding::Unread(Unread::NoCounter));
        let Finding::Killed(kill) = compare(&before, &ended(true)) else { panic!() };
        assert_eq!((kill.evidence, kill.limit), (Evidence::Engine, Limit::Bytes(64 << 20)));
        // An older kill that the engine still reports.
        assert_eq!(compare(&ended(true), &ended(true)), Finding::Unread(Unread::NoCounter));
        let mut restarted = snapshot(0, 0, Limit::Unlimited);
        restarted.engine = Some(Found { since: "2026-01-02T00:00:00Z".into(), ..Found::default() });
        assert_eq!(compare(&before, &restarted), Finding::Unread(Unread::Restarted));
        restarted.counter = snapshot(1, 1, Limit::Unlimited).counter;
        assert!(matches!(compare(&before, &restarted), Finding::Killed(_)));
    }
}
