//! One run at a time changes a cluster, and none while others run programs in it ([`Access`]). The lock is
//! on the first node's engine, so that it holds for every machine that envdoc runs on: a volume that is
//! never mounted, whose name has the holder's id.
//!
//! A run creates its volume, then looks: with another run's next to it, it takes its own away and waits. Two
//! runs that create theirs at once both see the other's, so that never both go on. The holder adds a new
//! volume every few seconds and removes the one before the last; a volume that is older than
//! [`EXPIRY_SECONDS`], by the engine's own clock, is of a run that was killed.

mod held;
mod holder;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub use held::{Held, Notice, Request, with};
pub use holder::{Access, Holder, run_id};

use super::plan::ClusterPlan;
use super::problem::{Problem, Step};
use diagnostic::Fix;
use docker::engine::Engine;
use docker::{swarm, volume};

/// Label of the lock's volume; its value is the cluster's name. `down` removes volumes by another label.
const LOCK_LABEL: &str = "envdoc.lock";
/// Label of the lock's volume: the [`Holder`] as JSON.
const HOLDER_LABEL: &str = "envdoc.lock.holder";
/// After this time without a sign of life a lock does not count.
const EXPIRY_SECONDS: i64 = 60;
/// How often the holder gives one.
const BEAT_INTERVAL: Duration = Duration::from_secs(15);
/// How often a waiting run looks.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The longest that removing the lock may take at the end.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(10);

impl Error {
    /// For the report.
    pub fn problem(&self) -> Problem {
        let problem = Problem::new(Step::Lock, self.to_string());
        problem.fix(self.fix())
    }

    pub fn fix(&self) -> Fix {
        match self {
            Error::Held(holder) => Fix::run(
                format!(
                    "Wait until it has ended, or stop it on {} (`kill -INT {}`); a lock whose holder was \
                        killed expires after {EXPIRY_SECONDS} s:",
                    holder.hostname, holder.process
                ),
                "envdoc cluster status",
            ),
            Error::Unreadable(lock) => Fix::run(
                format!(
                    "Wait until that run has ended: a lock without a sign of life expires after \
                        {EXPIRY_SECONDS} s. If no envdoc uses the cluster, remove the lock on the first \
                        node:"
                ),
                format!("docker volume rm {}", lock.volume),
            ),
            Error::Engine(_) => Fix::run("Check the engine of the first node:", "docker info"),
        }
    }
}

/// Why there is no lock.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another run has it.
    #[error("{0} is {verb} this cluster", verb = .0.verb())]
    Held(Holder),
    /// A lock whose holder cannot be read counts as held.
    #[error("{0} has locked this cluster")]
    Unreadable(Unreadable),
    /// The engine did not do what it should.
    #[error("cannot lock the cluster: {0}")]
    Engine(#[from] docker::Error),
}

/// A lock whose holder cannot be read: another version of envdoc made it, or it is damaged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "an unknown run (cannot read the label {label} of the volume {volume}: {reason})",
    label = HOLDER_LABEL
)]
pub struct Unreadable {
    /// The lock's volume.
    pub volume: String,
    /// In the parser's words.
    pub reason: String,
}

/// What keeps a run from its lock.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// Another run.
    #[error("{0}")]
    Run(Holder),
    /// A run of which nothing is known.
    #[error("{0}")]
    Unknown(Unreadable),
}

impl From<Obstacle> for Error {
    fn from(obstacle: Obstacle) -> Error {
        match obstacle {
            Obstacle::Run(holder) => Error::Held(holder),
            Obstacle::Unknown(lock) => Error::Unreadable(lock),
        }
    }
}

/// A lock that is held. [`Lock::release`] ends it; dropped, it expires.
pub struct Lock<'e> {
    engine: &'e Engine,
    plan: &'e ClusterPlan,
    holder: Holder,
    beats: AtomicU64,
}

/// Waits until no other run has a lock that excludes this one, and takes it.
async fn acquire<'e>(request: &Request<'e>, waiting: impl Fn(&Obstacle)) -> Result<Lock<'e>, Error> {
    let (plan, engine, access) = (request.plan, request.engine, request.access);
    let lock = Lock::new(request);
    let in_the_way = |locks: Locks| {
        let excludes = |other: &Holder| other.id != lock.holder.id && access.excludes(other.access);
        let run = locks.holders.into_iter().find(excludes).map(Obstacle::Run);
        run.or_else(|| locks.unreadable.into_iter().next().map(Obstacle::Unknown))
    };
    let started = Instant::now();
    let mut last = String::new();
    loop {
        let mut held = in_the_way(locks(plan, engine).await?);
        if held.is_none() {
            lock.create(0).await?;
            held = in_the_way(locks(plan, engine).await?);
            if held.is_none() {
                lock.sweep().await;
                return Ok(lock);
            }
            lock.release().await;
            tokio::time::sleep(lock.back_off()).await;
        }
        if let Some(obstacle) = held {
            if started.elapsed() >= request.limit {
                return Err(obstacle.into());
            }
            // Each sign of life of an unknown run has a volume of its own.
            let id = match &obstacle {
                Obstacle::Run(holder) => holder.id.clone(),
                Obstacle::Unknown(_) => "unknown".to_owned(),
            };
            if id != last {
                waiting(&obstacle);
                last = id;
            }
        }
        tokio::time::sleep(POLL_INTERVAL.min(request.limit)).await;
    }
}

impl<'e> Lock<'e> {
    fn new(request: &Request<'e>) -> Lock<'e> {
        let holder = Holder::own(request.id, request.command, request.access);
        Lock { engine: request.engine, plan: request.plan, holder, beats: AtomicU64::new(0) }
    }

    fn volume(&self, beat: u64) -> String {
        format!("{}-lock-{}-{beat}", self.plan.name, self.holder.id)
    }

    async fn create(&self, beat: u64) -> Result<(), docker::Error> {
        let holder = serde_json::to_string(&self.holder).unwrap_or_default();
        let labels = BTreeMap::from([
            (LOCK_LABEL.to_owned(), self.plan.name.clone()),
            (HOLDER_LABEL.to_owned(), holder),
        ]);
        volume::create(self.engine, &self.volume(beat), &labels, &BTreeMap::new()).await
    }

    /// Gives signs of life for ever.
    pub async fn keep(&self) -> std::convert::Infallible {
        loop {
            tokio::time::sleep(BEAT_INTERVAL).await;
            let beat = self.beats.load(Ordering::Relaxed);
            if self.create(beat + 1).await.is_ok() {
                self.beats.store(beat + 1, Ordering::Relaxed);
                // The engine lists names first and looks at labels then: of two volumes of which one is made
                // and the other removed in between, it shows neither. The last one therefore stays.
                if let Some(former) = beat.checked_sub(1) {
                    let _ = volume::remove(self.engine, &self.volume(former)).await;
                }
            }
        }
    }

    pub async fn release(&self) {
        let remove = async {
            let beat = self.beats.load(Ordering::Relaxed);
            for beat in beat.saturating_sub(2)..=beat + 1 {
                let _ = volume::remove(self.engine, &self.volume(beat)).await;
            }
        };
        let _ = tokio::time::timeout(RELEASE_TIMEOUT, remove).await;
    }

    /// Removes what is left of runs that were killed.
    async fn sweep(&self) {
        let Ok(all) = volume::list(self.engine, LOCK_LABEL, &self.plan.name).await else { return };
        let Ok(machine) = swarm::machine(self.engine).await else { return };
        let alive = alive(&all, machine.time.as_deref());
        for one in all.iter().filter(|one| !alive.has(one)) {
            let _ = volume::remove(self.engine, &one.name).await;
        }
    }

    /// Different for two runs that met.
    fn back_off(&self) -> Duration {
        let sum: u32 = self.holder.id.bytes().map(u32::from).sum();
        Duration::from_millis(u64::from(sum * 37 % 1500))
    }
}

/// Who holds locks of a cluster now; one that changes it comes first.
pub async fn holders(plan: &ClusterPlan, engine: &Engine) -> Result<Vec<Holder>, Error> {
    let locks = locks(plan, engine).await?;
    match locks.unreadable.into_iter().next() {
        Some(lock) => Err(Error::Unreadable(lock)),
        None => Ok(locks.holders),
    }
}

/// The locks of a cluster that have not expired.
#[derive(Debug, Default, PartialEq, Eq)]
struct Locks {
    /// One that changes the cluster comes first.
    holders: Vec<Holder>,
    unreadable: Vec<Unreadable>,
}

impl Locks {
    /// Whether a volume is one of these locks.
    fn has(&self, one: &volume::Listed) -> bool {
        match holder_of(one) {
            Ok(holder) => self.holders.iter().any(|known| known.id == holder.id),
            Err(_) => self.unreadable.iter().any(|lock| lock.volume == one.name),
        }
    }
}

async fn locks(plan: &ClusterPlan, engine: &Engine) -> Result<Locks, docker::Error> {
    let all = volume::list(engine, LOCK_LABEL, &plan.name).await?;
    if all.is_empty() {
        return Ok(Locks::default());
    }
    let now = swarm::machine(engine).await?.time;
    Ok(alive(&all, now.as_deref()))
}

fn holder_of(one: &volume::Listed) -> Result<Holder, Unreadable> {
    let unreadable = |reason: String| Unreadable { volume: one.name.clone(), reason };
    let text = one.labels.get(HOLDER_LABEL).ok_or_else(|| unreadable("it is missing".into()))?;
    serde_json::from_str(text).map_err(|why| unreadable(why.to_string()))
}

/// The holders of locks that have not expired at `now`, the engine's time.
fn alive(all: &[volume::Listed], now: Option<&str>) -> Locks {
    let now = now.and_then(|time| time.parse::<jiff::Timestamp>().ok()).map(|time| time.as_second());
    let mut locks = Locks::default();
    for one in all {
        let expired = now.zip(one.created).is_some_and(|(now, created)| now - created > EXPIRY_SECONDS);
        if expired {
            continue;
        }
        match holder_of(one) {
            Ok(holder) if holder.ended_here() => {}
            Ok(holder) if locks.holders.iter().any(|known| known.id == holder.id) => {}
            Ok(holder) => locks.holders.push(holder),
            Err(lock) => locks.unreadable.push(lock),
        }
    }
    locks.holders.sort_by_key(|holder| holder.access != Access::Change);
    locks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(holder: &Holder, created: &str) -> volume::Listed {
        volume::Listed {
            name: format!("lab-lock-{}-0", holder.id),
            labels: [(HOLDER_LABEL.to_owned(), serde_json::to_string(holder).unwrap())].into(),
            created: created.parse::<jiff::Timestamp>().ok().map(|time| time.as_second()),
        }
    }

    #[test]
    fn a_lock_expires_and_that_of_a_dead_process_does_not_count() {
        let own = Holder::own("one", "up", Access::Change);
        let at = "2026-11-23T10:00:00Z";
        let names = |all: Vec<volume::Listed>, now: &str| {
            alive(&all, Some(now)).holders.into_iter().map(|holder| holder.id).collect::<Vec<_>>()
        };
        let id = vec![own.id.clone()];
        assert_eq!(names(vec![listed(&own, at), listed(&own, at)], "2026-11-23T10:00:59.5Z"), id);
        assert_eq!(names(vec![listed(&own, at)], "2026-11-23T10:01:01Z"), [""; 0]);
        // The newest sign of life counts.
        let beats = vec![listed(&own, at), listed(&own, "2026-11-23T10:01:00Z")];
        assert_eq!(names(beats, "2026-11-23T10:01:30Z"), id);
        let dead = Holder { process: u32::MAX, ..own.clone() };
        assert_eq!(names(vec![listed(&dead, at)], at), [""; 0]);
        // Of another machine nobody here knows whether it runs.
        let elsewhere = Holder { started: Some(("1".into(), "other".into())), ..dead };
        assert_eq!(names(vec![listed(&elsewhere, at)], at), id);
    }

    #[test]
    fn a_lock_whose_holder_cannot_be_read_counts_as_held() {
        let own = Holder::own("one", "up", Access::Change);
        let at = "2026-11-23T10:00:00Z";
        for label in [None, Some(""), Some(r#"{"id":"x1"}"#)] {
            let mut lock = listed(&own, at);
            lock.name = "lab-lock-x1-0".into();
            lock.labels = label.map(|text| (HOLDER_LABEL.to_owned(), text.to_owned())).into_iter().collect();
            let held = alive(&[lock.clone()], Some("2026-11-23T10:00:59Z"));
            assert!(held.has(&lock), "{label:?}: {held:?}");
            let error = Error::from(Obstacle::Unknown(held.unreadable[0].clone()));
            assert!(error.to_string().starts_with("an unknown run (cannot read the label"), "{error}");
            assert_eq!(error.fix().commands, ["docker volume rm lab-lock-x1-0"]);
            // Nobody knows its age: held.
            assert!(alive(&[lock.clone()], None).has(&lock));
            assert!(!alive(&[lock.clone()], Some("2026-11-23T10:01:01Z")).has(&lock));
        }
    }

    #[test]
    fn run_locks_are_shared_and_change_locks_exclusive() {
        use Access::{Change, Measure, Run};
        for all in [Change, Run, Measure] {
            assert!(Change.excludes(all) && all.excludes(Change), "{all:?}");
        }
        assert!(!Run.excludes(Run) && !Run.excludes(Measure) && !Measure.excludes(Run));
        assert!(Measure.excludes(Measure));
        // A lock of an envdoc that knows no shared ones.
        let old =
            r#"{"id":"x1","command":"up","hostname":"ops2","process":7,"since":"2026-01-01T00:00:00Z"}"#;
        assert_eq!(serde_json::from_str::<Holder>(old).unwrap().access, Change);
        let job = Holder::own("j1", "launch", Run);
        assert!(Error::Held(job).to_string().ends_with("lock j1) is using this cluster"));
        assert!(Holder::own("s1", "smoke", Measure).to_string().starts_with("`envdoc smoke` on "));
    }
}
