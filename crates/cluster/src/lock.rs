//! One run at a time changes a cluster. The lock is on the first node's engine, so that it holds for every
//! machine that envdoc runs on: a volume that is never mounted, whose name has the holder's id.
//!
//! A run creates its volume, then looks: with another run's next to it, it takes its own away and waits. Two
//! runs that create theirs at once both see the other's, so that never both go on. The holder adds a new
//! volume every few seconds and removes the one before the last; a volume that is older than
//! [`EXPIRY_SECONDS`], by the engine's own clock, is of a run that was killed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::plan::ClusterPlan;
use super::problem::Problem;
use docker::engine::Engine;
use docker::{swarm, volume};
use host::file;

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

/// Who holds the lock of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Holder {
    /// Different for every run.
    pub id: String,
    /// The command: `up`, `down`.
    pub command: String,
    /// The machine that it runs on.
    pub hostname: String,
    /// Its process id there.
    pub process: u32,
    /// When it took the lock, as RFC 3339, by that machine's clock.
    pub since: String,
    /// When the process was started, in ticks, and what distinguishes its machine and container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    started: Option<(String, String)>,
}

impl Error {
    /// For the report.
    pub fn problem(&self) -> Problem {
        let problem = Problem::new("lock", self.to_string());
        match self {
            Error::Held(_) => problem.fix(format!(
                "Wait until it has ended; a lock whose holder was killed expires after {EXPIRY_SECONDS} s: \
                `envdoc cluster status`"
            )),
            Error::Engine(_) => problem.fix("Check the engine of the first node: `docker info`"),
        }
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let since = self.since.split('.').next().unwrap_or_default();
        write!(
            f,
            "`envdoc cluster {}` on {} (process {}, since {since}, lock {})",
            self.command, self.hostname, self.process, self.id
        )
    }
}

/// Why there is no lock.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another run has it.
    #[error("{0} is changing this cluster")]
    Held(Holder),
    /// The engine did not do what it should.
    #[error("cannot lock the cluster: {0}")]
    Engine(#[from] docker::Error),
}

/// A lock that is held. [`Lock::release`] ends it; dropped, it expires.
pub struct Lock<'e> {
    engine: &'e Engine,
    plan: &'e ClusterPlan,
    holder: Holder,
    beats: AtomicU64,
}

/// Does something while holding the lock; `None` after an interruption. Waits for another run's lock at most
/// `limit`; `waiting` is called for each run that it waits for.
pub async fn with<T>(
    (plan, engine): (&ClusterPlan, &Engine),
    command: &str,
    limit: Duration,
    waiting: impl Fn(&Holder),
    work: impl Future<Output = T>,
    interrupted: impl Future<Output = ()>,
) -> Result<Option<T>, Error> {
    let mut interrupted = std::pin::pin!(interrupted);
    let lock = tokio::select! {
        lock = acquire(plan, engine, command, limit, waiting) => lock?,
        () = &mut interrupted => return Ok(None),
    };
    let done = tokio::select! {
        done = work => Some(done),
        never = lock.keep() => match never {},
        () = &mut interrupted => None,
    };
    lock.release().await;
    Ok(done)
}

/// Waits until no other run has the lock, and takes it.
pub async fn acquire<'e>(
    plan: &'e ClusterPlan,
    engine: &'e Engine,
    command: &str,
    limit: Duration,
    waiting: impl Fn(&Holder),
) -> Result<Lock<'e>, Error> {
    let lock = Lock { engine, plan, holder: Holder::own(command), beats: AtomicU64::new(0) };
    let started = Instant::now();
    let mut last = String::new();
    loop {
        let others = holders(plan, engine).await?;
        let mut held = others.into_iter().find(|other| other.id != lock.holder.id);
        if held.is_none() {
            lock.create(0).await?;
            held = holders(plan, engine).await?.into_iter().find(|other| other.id != lock.holder.id);
            if held.is_none() {
                lock.sweep().await;
                return Ok(lock);
            }
            lock.release().await;
            tokio::time::sleep(lock.back_off()).await;
        }
        if let Some(holder) = held {
            if started.elapsed() >= limit {
                return Err(Error::Held(holder));
            }
            if holder.id != last {
                waiting(&holder);
                last = holder.id;
            }
        }
        tokio::time::sleep(POLL_INTERVAL.min(limit)).await;
    }
}

impl Lock<'_> {
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

    /// Removes it.
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
        let own = format!("{}-lock-{}-", self.plan.name, self.holder.id);
        for one in all.into_iter().filter(|one| !one.name.starts_with(&own)) {
            let _ = volume::remove(self.engine, &one.name).await;
        }
    }

    /// Different for two runs that met.
    fn back_off(&self) -> Duration {
        let sum: u32 = self.holder.id.bytes().map(u32::from).sum();
        Duration::from_millis(u64::from(sum * 37 % 1500))
    }
}

impl Holder {
    fn own(command: &str) -> Holder {
        let now = jiff::Timestamp::now();
        let process = std::process::id();
        let hostname = text("/proc/sys/kernel/hostname").unwrap_or_else(|| "unknown".into());
        Holder {
            id: format!("{:x}-{process:x}", now.as_millisecond()),
            command: command.to_owned(),
            hostname,
            process,
            since: now.to_string(),
            started: started("self").zip(machine()),
        }
    }

    /// Whether it ran on this machine and has ended.
    fn ended_here(&self) -> bool {
        let Some((ticks, machine_of)) = &self.started else { return false };
        machine().as_ref() == Some(machine_of) && started(&self.process.to_string()).as_ref() != Some(ticks)
    }
}

fn text(path: &str) -> Option<String> {
    file::read(Path::new(path)).ok().flatten().map(|text| text.trim().to_owned())
}

/// When a process was started, in ticks since boot: field 22 of its `stat`.
fn started(process: &str) -> Option<String> {
    let stat = text(&format!("/proc/{process}/stat"))?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19).map(str::to_owned)
}

/// This boot of this machine, and within it this container: its first process has a start of its own.
fn machine() -> Option<String> {
    Some(format!("{} {}", text("/proc/sys/kernel/random/boot_id")?, started("1")?))
}

/// Who holds the lock of a cluster now; usually one at most.
pub async fn holders(plan: &ClusterPlan, engine: &Engine) -> Result<Vec<Holder>, docker::Error> {
    let all = volume::list(engine, LOCK_LABEL, &plan.name).await?;
    if all.is_empty() {
        return Ok(Vec::new());
    }
    let now = swarm::machine(engine).await?.time;
    Ok(alive(all, now.as_deref()))
}

/// The holders of locks that have not expired at `now`, the engine's time.
fn alive(all: Vec<volume::Listed>, now: Option<&str>) -> Vec<Holder> {
    let now = now.and_then(|time| time.parse::<jiff::Timestamp>().ok()).map(|time| time.as_second());
    let mut holders: Vec<Holder> = Vec::new();
    for one in all {
        let holder = one.labels.get(HOLDER_LABEL).and_then(|text| serde_json::from_str::<Holder>(text).ok());
        let expired = now.zip(one.created).is_some_and(|(now, created)| now - created > EXPIRY_SECONDS);
        if let Some(holder) = holder.filter(|holder| !expired && !holder.ended_here())
            && holders.iter().all(|known| known.id != holder.id)
        {
            holders.push(holder);
        }
    }
    holders
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
        let own = Holder::own("up");
        let at = "2026-11-23T10:00:00Z";
        let names = |all: Vec<volume::Listed>, now: &str| {
            alive(all, Some(now)).into_iter().map(|holder| holder.id).collect::<Vec<_>>()
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
}
