//! Whether the CPU limit of a rank's container throttled it while it was measured, by the kernel's own
//! counters, read before and after.

mod counter;

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use counter::{Group, Limit};

/// The part of the measured time from which on a throttled rank is the cause of what was measured.
pub(super) const THROTTLED_PART: f64 = 0.2;
/// From this part on it is worth a remark.
pub(super) const REMARK_PART: f64 = 0.01;
/// Names this process's control groups.
const OWN_CGROUP: &str = "/proc/self/cgroup";

/// Why it is unknown whether a CPU limit throttled a rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Unread {
    /// A file that cannot be read, in the system's words.
    #[error("{0}")]
    File(String),
    /// No file has the counter.
    #[error("no `cpu.stat` of its cgroup in /sys/fs/cgroup")]
    NoCounter,
    /// The worker of the rank did not tell.
    #[error("its worker did not answer")]
    NoAnswer,
}

/// What two readings show of the time between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The container, which has its node's name; `None` for the ranks of this machine.
    pub container: Option<String>,
    /// What was counted; `None` where there is no limit.
    pub found: Result<Option<Throttled>, Unread>,
}

/// What the CPU limit that throttled a rank most did.
#[derive(Debug, Clone, PartialEq)]
pub struct Throttled {
    /// The control group, as it was afterwards; its limit is the one before where it was taken away since.
    pub group: Group,
    /// Periods in which a process of the group was ready to run.
    pub periods: u64,
    /// Those in which the limit throttled it.
    pub throttled_periods: u64,
    /// Seconds for which it was throttled, of all processors together.
    pub throttled_seconds: f64,
    /// Seconds between the two readings.
    pub seconds: f64,
}

impl Throttled {
    /// Compares two readings of one rank.
    pub(super) fn between(before: &[Group], after: &[Group], seconds: f64) -> Option<Throttled> {
        let of = |after: &Group| {
            let before = before.iter().find(|before| before.file == after.file)?;
            let limit = if after.limit == Limit::Unlimited { before.limit } else { after.limit };
            Some(Throttled {
                group: Group { limit, ..after.clone() },
                periods: after.periods.checked_sub(before.periods)?,
                throttled_periods: after.throttled_periods.checked_sub(before.throttled_periods)?,
                throttled_seconds: (after.throttled_seconds - before.throttled_seconds).max(0.0),
                seconds,
            })
        };
        let found = after.iter().filter_map(of);
        found.max_by(|one, other| one.throttled_seconds.total_cmp(&other.throttled_seconds))
    }

    /// The part of the time in which it was throttled: never more than the periods that were cut short, as
    /// its seconds are those of all processors together.
    pub(super) fn part(&self) -> f64 {
        let longest = self.throttled_periods as f64 * self.group.period;
        self.throttled_seconds.min(longest) / self.seconds.max(f64::MIN_POSITIVE)
    }

    /// Whether it was throttled for so long that its rates are those of the limit.
    pub(super) fn is_cause(&self) -> bool {
        self.part() >= THROTTLED_PART
    }
}

/// The control groups of this process that have counters of a CPU limit.
pub(super) fn own_groups() -> Result<Vec<Group>, Unread> {
    let read =
        |path: &str| host::file::read(Path::new(path)).map_err(|error| Unread::File(error.to_string()));
    counter::groups(&read(OWN_CGROUP)?.ok_or(Unread::NoCounter)?, read)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A group with the limit, and so many periods, throttled ones and seconds.
    pub(crate) fn group(limit: Limit, periods: u64, throttled_periods: u64, throttled_seconds: f64) -> Group {
        Group {
            file: "/sys/fs/cgroup/cpu.stat".into(),
            limit_file: "/sys/fs/cgroup/cpu.max".into(),
            limit,
            period: 0.1,
            periods,
            throttled_periods,
            throttled_seconds,
        }
    }

    /// A tenth of a processor, in so many of the 80 periods of 8 s.
    pub(crate) fn throttled(periods: u64) -> Throttled {
        let limit = Limit::Cpus(0.1);
        let after = group(limit, 90, 3 + periods, 1.0 + periods as f64 * 0.09);
        Throttled::between(&[group(limit, 10, 3, 1.0)], &[after], 8.0).unwrap()
    }

    #[test]
    fn counts_throttling_only_between_the_two_readings() {
        let found = throttled(60);
        assert_eq!((found.periods, found.throttled_periods), (80, 60));
        assert!((found.throttled_seconds - 5.4).abs() < 1e-9 && found.is_cause(), "{found:?}");
        assert!(!throttled(0).is_cause() && !throttled(9).is_cause());
        // A group that counts less than before was created again.
        let limit = Limit::Cpus(0.1);
        assert_eq!(Throttled::between(&[group(limit, 9, 9, 9.0)], &[group(limit, 1, 1, 0.1)], 8.0), None);
        assert_eq!(Throttled::between(&[], &[], 8.0), None);
    }

    #[test]
    fn throttled_seconds_are_capped_by_throttled_periods() {
        // Eight processors that were throttled for 40 ms of each of ten periods: 1 s of 8 s at most.
        let limit = Limit::Cpus(2.0);
        let (before, after) = (group(limit, 0, 0, 0.0), group(limit, 80, 10, 3.2));
        let found = Throttled::between(&[before], &[after], 8.0).unwrap();
        assert!((found.part() - 0.125).abs() < 1e-9 && !found.is_cause(), "{found:?}");
    }

    #[test]
    fn names_a_limit_removed_during_the_run() {
        let (before, after) = (group(Limit::Cpus(0.1), 0, 0, 0.0), group(Limit::Unlimited, 80, 70, 6.0));
        let found = Throttled::between(&[before], &[after], 8.0).unwrap();
        assert_eq!(found.group.limit, Limit::Cpus(0.1));
    }

    #[test]
    fn this_process_has_counters_or_a_reason() {
        match own_groups() {
            Ok(groups) => assert!(groups.iter().all(|group| group.throttled_periods <= group.periods)),
            Err(why) => assert!(!why.to_string().is_empty()),
        }
    }
}
