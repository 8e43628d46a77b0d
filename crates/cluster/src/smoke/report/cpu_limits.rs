//! CPU limits in the report for machines.

use schemars::JsonSchema;
use serde::Serialize;

use crate::smoke::cpu_limit::{Limit, Reading, Throttled};

/// What the CPU limit of a container did while the ranks were measured, by the kernel's counters.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CpuLimitEntry {
    /// The container; null for the ranks of this machine.
    pub container: Option<String>,
    /// The limit in CPUs; null where there is none, or where it could not be read.
    pub cpus: Option<f64>,
    /// The file with the counters, as processes of the container see it; null where no limit is possible, or
    /// where they were not read.
    pub file: Option<String>,
    /// Periods in which a process of the container was ready to run (`nr_periods`).
    pub periods: Option<u64>,
    /// Those in which the limit throttled it (`nr_throttled`).
    pub throttled_periods: Option<u64>,
    /// Seconds for which it was throttled, the sum over CPUs.
    pub throttled_seconds: Option<f64>,
    /// Seconds between the two readings.
    pub seconds: Option<f64>,
    /// Why the counters could not be read; null where they were read.
    pub unread: Option<String>,
}

pub(super) fn entry(reading: &Reading) -> CpuLimitEntry {
    let found = reading.found.as_ref().ok().and_then(Option::as_ref);
    let cpus = |found: &Throttled| match found.group.limit {
        Limit::Cpus(cpus) => Some(cpus),
        Limit::Unlimited | Limit::Unknown => None,
    };
    CpuLimitEntry {
        container: reading.container.clone(),
        cpus: found.and_then(cpus),
        file: found.map(|found| found.group.file.clone()),
        periods: found.map(|found| found.periods),
        throttled_periods: found.map(|found| found.throttled_periods),
        throttled_seconds: found.map(|found| found.throttled_seconds),
        seconds: found.map(|found| found.seconds),
        unread: reading.found.as_ref().err().map(ToString::to_string),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smoke::cpu_limit::{Unread, tests::throttled};

    #[test]
    fn unread_counters_are_null_not_zero() {
        let entry_of = |found| entry(&Reading { container: Some("node2".into()), found });
        let read = entry_of(Ok(Some(throttled(60))));
        assert_eq!((read.cpus, read.throttled_periods, read.unread), (Some(0.1), Some(60), None));
        let unread = entry_of(Err(Unread::NoAnswer));
        assert_eq!((unread.throttled_periods, unread.throttled_seconds), (None, None));
        assert_eq!(unread.unread.as_deref(), Some("its worker did not answer"));
    }
}
