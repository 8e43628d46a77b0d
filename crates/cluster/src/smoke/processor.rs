//! What the threads of a rank got of the processors. A time limit that passes while they wait for a processor
//! says nothing of the network.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::cpu_limit::{self, THROTTLED_PART};

/// How often the kernel's counts are read.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(200);
/// Samples that are kept: two minutes.
const SAMPLES_MAX: usize = 600;
/// The part of a stall for which a thread that waited for a processor may have been its cause.
const STALL_PART: f64 = 0.5;
/// The part of a while from which on a wait for processors counts.
const STARVED_PART: f64 = 0.2;

/// What the threads of a rank got in a while.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// How long the while is, in seconds.
    pub seconds: f64,
    /// Seconds that its threads ran, together.
    pub ran: f64,
    /// Seconds that its threads were ready to run and waited for a processor, together
    /// (/proc/self/task/*/schedstat).
    pub waited: f64,
    /// Seconds for which its container was held back by its CPU limit; `None` where the kernel does not tell.
    pub throttled: Option<f64>,
}

impl Usage {
    /// Whether the wait for a processor may have been the cause of a connection that stalled for so long. A
    /// thread that its CPU limit throttles waits too, which kernels from 6.18 on no longer count as waiting.
    pub fn explains(&self, stall: Duration) -> bool {
        self.waited.max(self.throttled.unwrap_or_default()) >= stall.as_secs_f64() * STALL_PART
    }

    /// Whether its threads waited for a processor for a part of the time that counts.
    pub fn is_starved(&self) -> bool {
        self.waited >= self.seconds * STARVED_PART
    }

    /// Whether the CPU limit of its container held it back.
    pub fn is_limited(&self) -> bool {
        self.throttled.is_some_and(|throttled| throttled >= self.seconds * THROTTLED_PART)
    }
}

/// Counts since the start of the process, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Counts {
    ran: f64,
    waited: f64,
    throttled: Option<f64>,
}

/// The counts of the threads that were seen, those that have ended too.
#[derive(Default)]
struct Watched {
    threads: BTreeMap<PathBuf, (f64, f64)>,
    ended: (f64, f64),
    samples: VecDeque<(Instant, Counts)>,
}

static WATCHED: Mutex<Option<Watched>> = Mutex::new(None);

/// Starts to watch, once in a process.
pub(super) fn watch() {
    let mut watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    if watched.is_some() {
        return;
    }
    *watched = Some(Watched::default());
    std::thread::spawn(|| {
        loop {
            if let Some(watched) = WATCHED.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                watched.sample(read());
            }
            std::thread::sleep(SAMPLE_INTERVAL);
        }
    });
}

/// The last so many seconds, or less where it was watched for less.
pub(super) fn lately(seconds: f64) -> Option<Usage> {
    let mut watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    let watched = watched.as_mut()?;
    watched.sample(read());
    watched.usage(seconds)
}

impl Watched {
    fn sample(&mut self, threads: BTreeMap<PathBuf, (f64, f64)>) {
        for (thread, (ran, waited)) in &self.threads {
            if !threads.contains_key(thread) {
                self.ended = (self.ended.0 + ran, self.ended.1 + waited);
            }
        }
        self.threads = threads;
        let sum = |(all_ran, all_waited), (ran, waited): &(f64, f64)| (all_ran + ran, all_waited + waited);
        let (ran, waited) = self.threads.values().fold(self.ended, sum);
        self.samples.push_back((Instant::now(), Counts { ran, waited, throttled: throttled() }));
        while self.samples.len() > SAMPLES_MAX {
            self.samples.pop_front();
        }
    }

    fn usage(&self, seconds: f64) -> Option<Usage> {
        let (now, last) = self.samples.back().filter(|_| !self.threads.is_empty())?;
        let far = |(at, _): &&(Instant, Counts)| (*now - *at).as_secs_f64() <= seconds;
        let (then, first) = self.samples.iter().find(far)?;
        Some(Usage {
            seconds: (*now - *then).as_secs_f64(),
            ran: last.ran - first.ran,
            waited: last.waited - first.waited,
            throttled: last.throttled.zip(first.throttled).map(|(last, first)| last - first),
        })
    }
}

/// Seconds that each thread has run, and was ready and waited (CONFIG_SCHED_INFO).
fn read() -> BTreeMap<PathBuf, (f64, f64)> {
    let of = |thread: PathBuf| {
        let text = host::file::read(&thread.join("schedstat")).ok()??;
        let mut numbers = text.split_whitespace().map(str::parse::<u64>);
        let (ran, waited) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
        Some((thread, (ran as f64 / 1e9, waited as f64 / 1e9)))
    };
    host::file::entries(Path::new("/proc/self/task")).into_iter().filter_map(of).collect()
}

/// Seconds for which CPU limits have throttled this process's control groups.
fn throttled() -> Option<f64> {
    let groups = cpu_limit::own_groups().ok()?;
    Some(groups.iter().map(|group| group.throttled_seconds).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(waited: f64, throttled: Option<f64>) -> Usage {
        Usage { seconds: 8.0, ran: 0.8, waited, throttled }
    }

    #[test]
    fn waiting_for_a_cpu_explains_a_stall_but_sleeping_does_not() {
        let stall = Duration::from_secs(5);
        assert!(usage(7.0, None).explains(stall));
        assert!(!usage(0.3, None).explains(stall));
        assert!(usage(2.0, None).is_starved() && !usage(0.3, None).is_starved());
        assert!(usage(0.3, Some(6.5)).explains(stall) && !usage(0.3, Some(0.5)).explains(stall));
        assert!(usage(7.0, Some(6.5)).is_limited());
        assert!(!usage(7.0, Some(0.1)).is_limited() && !usage(7.0, None).is_limited());
    }

    #[test]
    fn threads_that_ended_still_count() {
        let mut watched = Watched::default();
        let of = |rows: &[(&str, f64, f64)]| {
            rows.iter().map(|(name, ran, waited)| (PathBuf::from(name), (*ran, *waited))).collect()
        };
        watched.sample(of(&[("1", 1.0, 0.5), ("2", 2.0, 4.0)]));
        watched.sample(of(&[("1", 1.5, 0.5), ("2", 3.0, 6.0)]));
        watched.sample(of(&[("1", 2.0, 1.0)]));
        let usage = watched.usage(60.0).unwrap();
        assert_eq!((usage.ran, usage.waited), (2.0, 2.5));
    }

    #[test]
    fn missing_scheduler_statistics_are_unknown() {
        let mut watched = Watched::default();
        watched.sample(BTreeMap::new());
        assert_eq!(watched.usage(60.0), None);
    }
}
