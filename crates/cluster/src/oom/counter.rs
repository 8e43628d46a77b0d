//! The OOM killer's counter of a memory cgroup, on cgroup v1 and v2.

use facts::limits::{self, cgroup_counter, memory_controller, parse_cgroup_limit};

/// What the kernel counts of a memory cgroup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Counter {
    /// The file that has the counter, as processes of the cgroup see it.
    pub(crate) file: String,
    /// Processes of the cgroup that the OOM killer killed (`oom_kill`), whatever ran out: the cgroup, one
    /// above it or the machine.
    pub(crate) kills: u64,
    /// How often the cgroup's own limit was reached.
    pub(crate) limit_reached: Reached,
    /// The cgroup's own limit.
    pub(crate) limit: Limit,
}

/// How often a cgroup's own limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reached {
    /// `oom` of `memory.events`: one more for every allocation that the limit made fail.
    Times(u64),
    /// Failure counters of cgroup v1, of memory and of memory with swap together: there are limits that they
    /// do not count, such as that of kernel memory.
    AtLeast(u64),
    Unknown,
}

impl Reached {
    /// Whether it was reached between two readings; `None` where that is not known.
    pub(super) fn since(self, before: Reached) -> Option<bool> {
        match (before, self) {
            (Reached::Times(before), Reached::Times(after)) => Some(after > before),
            (Reached::AtLeast(before), Reached::AtLeast(after)) => (after > before).then_some(true),
            _ => None,
        }
    }
}

/// The memory limit of a cgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    /// In bytes.
    Bytes(u64),
    Unlimited,
    Unknown,
}

/// The files of one directory that may be the cgroup's.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Files {
    /// Has `oom_kill`.
    events: String,
    limit: String,
    /// Of cgroup v1 only.
    failures: Vec<String>,
}

impl Files {
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        [&self.events, &self.limit].into_iter().chain(&self.failures).map(String::as_str)
    }
}

/// Where the counter may be, by `/proc/self/cgroup`. A container sees its own cgroup as the root; on v1 its
/// path is the machine's, which does not exist inside.
pub(super) fn candidates(own: &str) -> Vec<Files> {
    let Some((base, limit, path)) = memory_controller(own) else { return Vec::new() };
    let path = path.trim_end_matches('/');
    // Outside the cgroup namespace there is nothing to be seen of it.
    let below = (!path.is_empty() && !path.contains("..")).then(|| format!("{base}{path}"));
    let v1 = limit == "memory.limit_in_bytes";
    // Where the limit of memory with swap is the same one, only the second counts.
    let failures: &[&str] = if v1 { &["memory.failcnt", "memory.memsw.failcnt"] } else { &[] };
    let files = |directory: String| Files {
        events: format!("{directory}/{}", if v1 { "memory.oom_control" } else { "memory.events" }),
        limit: format!("{directory}/{limit}"),
        failures: failures.iter().map(|file| format!("{directory}/{file}")).collect(),
    };
    below.into_iter().chain([base.to_owned()]).map(files).collect()
}

/// The counter of the first candidate that has one; `read` gives a file's text.
pub(super) fn counter(candidates: &[Files], read: impl Fn(&str) -> Option<String>) -> Option<Counter> {
    candidates.iter().find_map(|files| {
        let events = read(&files.events)?;
        let kills = cgroup_counter(&events, "oom_kill")?;
        let failures = || files.failures.iter().filter_map(|file| read(file)?.trim().parse::<u64>().ok());
        let limit_reached = match files.failures.is_empty() {
            true => cgroup_counter(&events, "oom").map_or(Reached::Unknown, Reached::Times),
            false => failures().reduce(u64::saturating_add).map_or(Reached::Unknown, Reached::AtLeast),
        };
        let limit = read(&files.limit).map_or(Limit::Unknown, |text| limit(&text));
        Some(Counter { file: files.events.clone(), kills, limit_reached, limit })
    })
}

fn limit(text: &str) -> Limit {
    match parse_cgroup_limit(text) {
        Some(limits::Limit::At(bytes)) => Limit::Bytes(bytes),
        Some(limits::Limit::Unlimited) => Limit::Unlimited,
        None => Limit::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(own: &str, files: &[(&str, &str)]) -> Option<Counter> {
        let read =
            |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
        counter(&candidates(own), read)
    }

    #[test]
    fn reads_oom_counters_of_cgroup_v1_and_v2() {
        let events = "low 0\nhigh 0\nmax 31\noom 2\noom_kill 1\noom_group_kill 0\n";
        let cgroup_files =
            [("/sys/fs/cgroup/memory.events", events), ("/sys/fs/cgroup/memory.max", "67108864\n")];
        let v2 = found("0::/\n", &cgroup_files).unwrap();
        assert_eq!((v2.kills, v2.limit_reached, v2.limit), (1, Reached::Times(2), Limit::Bytes(64 << 20)));
        let scope = "/sys/fs/cgroup/user.slice/session-2.scope/memory.events";
        let session = found("0::/user.slice/session-2.scope\n", &[(scope, events)]).unwrap();
        assert_eq!((session.file.as_str(), session.limit), (scope, Limit::Unknown));
        let v1 = [
            ("/sys/fs/cgroup/memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("/sys/fs/cgroup/memory/memory.failcnt", "0\n"),
            ("/sys/fs/cgroup/memory/memory.memsw.failcnt", "7\n"),
        ];
        let own = "9:memory:/docker/4c0e\n1:name=systemd:/docker/4c0e\n0::/\n";
        let v1 = found(own, &v1).unwrap();
        assert_eq!((v1.kills, v1.limit_reached, v1.limit), (4, Reached::AtLeast(7), Limit::Unlimited));
        assert_eq!(v1.limit_reached.since(Reached::AtLeast(7)), None);
        assert_eq!(v1.limit_reached.since(Reached::AtLeast(6)), Some(true));
    }

    #[test]
    fn kernel_without_oom_counter_gives_no_reading() {
        // Before Linux 4.13.
        let old = [("/sys/fs/cgroup/memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n")];
        assert_eq!(found("4:memory:/docker/4c0e\n", &old), None);
        assert_eq!(found("0::/\n", &[]), None);
        assert_eq!(found("", &[]), None);
    }
}
