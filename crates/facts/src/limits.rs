//! Limits of processes, shared memory, swap and huge pages.

use super::Fact;
use super::system::meminfo;
use crate::IntoFact;
use host::{Host, Reading, Space};

/// A limit: a number of bytes or files, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// At most this many.
    At(u64),
    /// `unlimited`.
    Unlimited,
}

/// The limits that envdoc's own process has, which are those of the shell that started it.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Locked memory in bytes, soft and hard: `/proc/self/limits`.
    pub memlock: Fact<(Limit, Limit)>,
    /// Whether this process has CAP_IPC_LOCK, which frees it from `memlock`: bit 14 of `CapEff` in
    /// `/proc/self/status`.
    pub ipc_lock: Fact<bool>,
    /// Open files, soft and hard.
    pub nofile: Fact<(Limit, Limit)>,
    /// Processors that the kernel shows: `/proc/cpuinfo`.
    pub cpus: Fact<usize>,
    /// `/dev/shm`; absent when it is not mounted.
    pub shared_memory: Fact<Space>,
    /// Swap in use and in all, bytes: `/proc/meminfo`.
    pub swap: Fact<(u64, u64)>,
    /// Huge pages: total, free, size in bytes: `/proc/meminfo`.
    pub huge_pages: Fact<(u64, u64, u64)>,
    /// Memory that the control group and those above it allow, in bytes (`memory.max`; on cgroup v1
    /// `memory.limit_in_bytes`); absent when none sets a limit.
    pub cgroup_memory: Fact<u64>,
}

/// Reads these facts; one that cannot be read is unknown, with the reason.
pub fn gather(host: &dyn Host) -> Limits {
    let limits = host.read("/proc/self/limits").text().must_exist("/proc/self/limits");
    let limit = |name: &str| {
        limits.as_ref().and_then(|text| match parse_limit(text, name) {
            Some(limit) => Fact::Known(limit),
            None => Fact::unknown(format!("/proc/self/limits has no line \"{name}\"")),
        })
    };
    let memory = host.read("/proc/meminfo").text().must_exist("/proc/meminfo");
    Limits {
        memlock: limit("Max locked memory"),
        ipc_lock: host.read("/proc/self/status").text().must_exist("/proc/self/status").and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("CapEff:"));
            match line.and_then(|line| u64::from_str_radix(line.trim(), 16).ok()) {
                Some(capabilities) => Fact::Known(capabilities >> 14 & 1 == 1),
                None => Fact::unknown("/proc/self/status names no capabilities"),
            }
        }),
        nofile: limit("Max open files"),
        cpus: host
            .read("/proc/cpuinfo")
            .text()
            .map(|text| text.lines().filter(|line| line.starts_with("processor")).count()),
        shared_memory: host.space("/dev/shm").json::<Space>().about("/dev/shm"),
        swap: memory.as_ref().and_then(|text| {
            match (meminfo(text, "SwapTotal"), meminfo(text, "SwapFree")) {
                (Some(total), Some(free)) => Fact::Known((total.saturating_sub(free), total)),
                _ => Fact::unknown("/proc/meminfo has no SwapTotal or no SwapFree"),
            }
        }),
        huge_pages: memory.as_ref().and_then(|text| {
            let (total, free) = (meminfo(text, "HugePages_Total"), meminfo(text, "HugePages_Free"));
            match (total, free, meminfo(text, "Hugepagesize")) {
                (Some(total), Some(free), Some(size)) => Fact::Known((total, free, size)),
                // A kernel without huge pages has none of the lines.
                (None, None, None) => Fact::Absent,
                _ => Fact::unknown("/proc/meminfo has only some of the HugePages fields"),
            }
        }),
        cgroup_memory: cgroup_memory(host),
    }
}

/// A line of `/proc/self/limits`: name, soft limit, hard limit, unit.
///
/// ```text
/// Limit                     Soft Limit           Hard Limit           Units
/// Max open files            1024                 4096                 files
/// Max locked memory         unlimited            unlimited            bytes
/// ```
pub(crate) fn parse_limit(text: &str, name: &str) -> Option<(Limit, Limit)> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    let mut words = rest.split_whitespace().map(|word| match word {
        "unlimited" => Some(Limit::Unlimited),
        number => number.parse().ok().map(Limit::At),
    });
    Some((words.next()??, words.next()??))
}

/// On cgroup v1 a limit at or above this is none: the kernel rounds the largest number down to a page, of 64
/// KiB at most.
const V1_NONE: u64 = i64::MAX as u64 - 65_535;

/// The memory limit in a control group's file; `None` where the text is no limit.
pub fn parse_cgroup_limit(text: &str) -> Option<Limit> {
    match text.trim() {
        "max" => Some(Limit::Unlimited),
        number => match number.parse().ok()? {
            V1_NONE.. => Some(Limit::Unlimited),
            bytes => Some(Limit::At(bytes)),
        },
    }
}

/// The lowest limit between this process's control group and the root. A container sees its own group as the
/// root on cgroup v2; on v1 it sees the machine's path, which does not exist inside it.
fn cgroup_memory(host: &dyn Host) -> Fact<u64> {
    host.read("/proc/self/cgroup").text().must_exist("/proc/self/cgroup").and_then(|text| {
        let Some((base, file, path)) = memory_controller(&text) else {
            return Fact::unknown("/proc/self/cgroup names no control group");
        };
        let mut lowest: Option<u64> = None;
        let mut path = path.trim_end_matches('/');
        loop {
            let at = format!("{base}{path}/{file}");
            match host.read(&at) {
                Reading::Text(text) => match parse_cgroup_limit(&text) {
                    Some(Limit::At(limit)) => {
                        lowest = Some(lowest.map_or(limit, |lowest| lowest.min(limit)));
                    }
                    Some(Limit::Unlimited) => {}
                    None => {
                        return Fact::unknown(format!("{at}: {:?} is not a number of bytes", text.trim()));
                    }
                },
                Reading::Failed(why) => return Fact::Unknown(why.clone().about(at.to_string())),
                _ => {}
            }
            match path.rsplit_once('/') {
                Some((above, _)) => path = above,
                None => break,
            }
        }
        lowest.map_or(Fact::Absent, Fact::Known)
    })
}

/// Where the memory controller is, by the text of `/proc/self/cgroup`: the directory, the file with the
/// limit, this process's group.
///
/// ```text
/// 4:memory:/docker/4c0e0c7f1f7c
/// 0::/user.slice/user-1000.slice/session-3.scope
/// ```
pub fn memory_controller(text: &str) -> Option<(&'static str, &'static str, &str)> {
    Some(match own_cgroup(text, "memory")? {
        OwnCgroup { is_v1: true, path } => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", path),
        OwnCgroup { is_v1: false, path } => ("/sys/fs/cgroup", "memory.max", path),
    })
}

/// This process's group of a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnCgroup<'t> {
    /// Whether the controller has a hierarchy of its own (cgroup v1).
    pub is_v1: bool,
    /// The group below the controller's mount point: `/docker/4c0e0c7f1f7c`.
    pub path: &'t str,
}

/// By the text of `/proc/self/cgroup`; `None` where it names no group of the controller.
pub fn own_cgroup<'t>(text: &'t str, controller: &str) -> Option<OwnCgroup<'t>> {
    let groups = || {
        text.lines().filter_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            Some((fields.next()?, fields.next()?))
        })
    };
    let v1 = groups().find(|(controllers, _)| controllers.split(',').any(|name| name == controller));
    let (is_v1, (_, path)) = match v1 {
        Some(group) => (true, group),
        None => (false, groups().find(|(controllers, _)| controllers.is_empty())?),
    };
    Some(OwnCgroup { is_v1, path })
}

/// `oom_kill 3` among lines of a name and a number, as files of counters of a control group have.
pub fn cgroup_counter(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::testing::Sparse;

    const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/servers/outputs/system");

    fn limits(readings: &[(&str, &str)]) -> Limits {
        gather(&Sparse::new(readings))
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test reads the corpus")]
    fn the_corpus_is_read() {
        let read = |name: &str| std::fs::read_to_string(format!("{CORPUS}/{name}")).unwrap();
        let proc_limits = read("proc-limits.txt");
        let found = limits(&[("read /proc/self/limits", &proc_limits)]);
        assert_eq!(found.memlock, Fact::Known((Limit::At(65_536), Limit::At(65_536))));
        assert_eq!(found.nofile, Fact::Known((Limit::At(1024), Limit::At(4096))));
        assert_eq!(parse_limit(&proc_limits, "Max cpu time"), Some((Limit::Unlimited, Limit::Unlimited)));
        for name in ["gtx1080ti-430.40", "lambda-a6000-x2", "precision7530-p3200-mixed-drivers"] {
            let text = read(&format!("proc-meminfo-{name}.txt"));
            let found = limits(&[("read /proc/meminfo", &text)]);
            let kilobytes = |key: &str| -> u64 {
                let line = text.lines().find(|line| line.starts_with(key)).unwrap();
                line.split_whitespace().nth(1).unwrap().parse().unwrap()
            };
            let (total, free) = (kilobytes("SwapTotal:") * 1024, kilobytes("SwapFree:") * 1024);
            assert_eq!(found.swap, Fact::Known((total - free, total)), "{name}");
            assert_eq!(found.huge_pages, Fact::Known((0, 0, 2 << 20)), "{name}");
        }
    }

    #[test]
    fn the_lowest_limit_of_the_groups_counts() {
        let v2 = limits(&[
            ("read /proc/self/cgroup", "0::/a.slice/b.scope\n"),
            ("read /sys/fs/cgroup/a.slice/b.scope/memory.max", "max\n"),
            ("read /sys/fs/cgroup/a.slice/memory.max", "8589934592\n"),
        ]);
        assert_eq!(v2.cgroup_memory, Fact::Known(8 << 30));
        let container = limits(&[
            ("read /proc/self/cgroup", "0::/\n"),
            ("read /sys/fs/cgroup/memory.max", "4294967296\n"),
        ]);
        assert_eq!(container.cgroup_memory, Fact::Known(4 << 30));
        let v1 = limits(&[
            ("read /proc/self/cgroup", "4:memory:/docker/4c0e\n0::/\n"),
            ("read /sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ]);
        assert_eq!(v1.cgroup_memory, Fact::Absent);
        assert!(matches!(limits(&[]).cgroup_memory, Fact::Unknown(_)));
    }

    #[test]
    fn shared_memory_that_is_not_there_is_absent() {
        assert_eq!(limits(&[]).shared_memory, Fact::Absent);
        let found = limits(&[("space /dev/shm", "{\"total\":67108864,\"available\":67108864}")]);
        assert_eq!(found.shared_memory.known().map(|space| space.total), Some(64 << 20));
    }
}
