//! What the kernel counts of CPU limits, on cgroup v1 and v2.

use serde::{Deserialize, Serialize};

use super::Unread;
use facts::limits::{OwnCgroup, cgroup_counter, own_cgroup};

/// A control group that may have a CPU limit, with the counts since it was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// `cpu.stat` of the group, as its processes see it.
    pub file: String,
    /// Where the limit is: `cpu.max`, on cgroup v1 `cpu.cfs_quota_us`.
    pub limit_file: String,
    pub limit: Limit,
    /// Length of a period of the limit, in seconds.
    pub period: f64,
    /// Periods in which a process of the group was ready to run (`nr_periods`).
    pub periods: u64,
    /// Those in which the limit throttled it (`nr_throttled`).
    pub throttled_periods: u64,
    /// Seconds for which it was throttled, of all processors together (`throttled_usec`, on cgroup v1
    /// `throttled_time`): more than have passed where several of its threads are ready.
    pub throttled_seconds: f64,
}

/// How much processor time a group may take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// So many processors, `docker run --cpus`.
    Cpus(f64),
    Unlimited,
    Unknown,
}

/// The kernel's default: 100 ms.
const PERIOD_SECONDS: f64 = 0.1;

/// Where the CPU controller is mounted, and the files that differ by version.
struct Controller<'o> {
    base: &'static str,
    is_v1: bool,
    path: &'o str,
}

/// By the text of `/proc/self/cgroup`.
fn controller(own: &str) -> Option<Controller<'_>> {
    let OwnCgroup { is_v1, path } = own_cgroup(own, "cpu")?;
    Some(Controller { base: if is_v1 { "/sys/fs/cgroup/cpu" } else { "/sys/fs/cgroup" }, is_v1, path })
}

impl Controller<'_> {
    /// The directories of the group and of those above it. A container sees its own group as the root; on v1
    /// its path is the machine's, which does not exist inside.
    fn directories(&self) -> Vec<String> {
        // Outside the cgroup namespace there is nothing to be seen.
        let mut path = if self.path.contains("..") { "" } else { self.path.trim_end_matches('/') };
        let mut directories = vec![format!("{}{path}", self.base)];
        while let Some((above, _)) = path.rsplit_once('/') {
            path = above;
            directories.push(format!("{}{path}", self.base));
        }
        directories
    }
}

/// The groups of a process that a CPU limit can throttle; none where no limit is possible. `own`: the text of
/// `/proc/self/cgroup`; `read` gives a file's text, `None` where there is no such file.
pub(super) fn groups(
    own: &str,
    read: impl Fn(&str) -> Result<Option<String>, Unread>,
) -> Result<Vec<Group>, Unread> {
    let controller = controller(own).ok_or(Unread::NoCounter)?;
    let (mut found, mut is_counted) = (Vec::new(), false);
    for directory in controller.directories() {
        let file = format!("{directory}/cpu.stat");
        let Some(text) = read(&file)? else { continue };
        is_counted = true;
        // On v2 the root has no limit, nor has a group without the CPU controller: neither counts periods.
        if let Some(group) = group(&controller, &directory, file, &text, &read)? {
            found.push(group);
        }
    }
    if is_counted { Ok(found) } else { Err(Unread::NoCounter) }
}

fn group(
    controller: &Controller<'_>,
    directory: &str,
    file: String,
    text: &str,
    read: impl Fn(&str) -> Result<Option<String>, Unread>,
) -> Result<Option<Group>, Unread> {
    let throttled_seconds = cgroup_counter(text, "throttled_usec")
        .map(|micros| micros as f64 / 1e6)
        .or_else(|| cgroup_counter(text, "throttled_time").map(|nanos| nanos as f64 / 1e9));
    let counts =
        cgroup_counter(text, "nr_periods").zip(cgroup_counter(text, "nr_throttled")).zip(throttled_seconds);
    let Some(((periods, throttled_periods), throttled_seconds)) = counts else { return Ok(None) };
    let limit_file = format!("{directory}/{}", if controller.is_v1 { "cpu.cfs_quota_us" } else { "cpu.max" });
    let quota = read(&limit_file)?.unwrap_or_default();
    let length = match controller.is_v1 {
        true => read(&format!("{directory}/cpu.cfs_period_us"))?.unwrap_or_default(),
        false => quota.split_whitespace().nth(1).unwrap_or_default().to_owned(),
    };
    let quota = quota.split_whitespace().next().unwrap_or_default();
    let period = length.trim().parse::<f64>().ok().filter(|micros| *micros > 0.0);
    let limit = match (quota, quota.parse::<f64>(), period) {
        ("max" | "-1", ..) => Limit::Unlimited,
        (_, Ok(quota), Some(period)) if quota > 0.0 => Limit::Cpus(quota / period),
        _ => Limit::Unknown,
    };
    let period = period.map_or(PERIOD_SECONDS, |micros| micros / 1e6);
    Ok(Some(Group { file, limit_file, limit, period, periods, throttled_periods, throttled_seconds }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(own: &str, files: &[(&str, &str)]) -> Result<Vec<Group>, Unread> {
        groups(own, |path| {
            Ok(files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned()))
        })
    }

    #[test]
    fn a_container_of_cgroup_v2() {
        let stat = "usage_usec 815204\nuser_usec 600000\nsystem_usec 215204\nnr_periods 80\nnr_throttled 77\n\
            throttled_usec 6912345\nnr_bursts 0\nburst_usec 0\n";
        let files = [("/sys/fs/cgroup/cpu.stat", stat), ("/sys/fs/cgroup/cpu.max", "10000 100000\n")];
        let groups = found("0::/\n", &files).unwrap();
        let [Group { limit, period, periods, throttled_periods, throttled_seconds, .. }] = groups[..] else {
            panic!("{groups:?}")
        };
        assert_eq!((limit, period, periods, throttled_periods), (Limit::Cpus(0.1), 0.1, 80, 77));
        assert!((throttled_seconds - 6.912_345).abs() < 1e-9);
    }

    #[test]
    fn a_container_of_cgroup_v1_sees_itself_at_the_root() {
        let files = [
            ("/sys/fs/cgroup/cpu/cpu.stat", "nr_periods 5\nnr_throttled 3\nthrottled_time 2500000000\n"),
            ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "75000\n"),
            ("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000\n"),
        ];
        let own = "9:name=systemd:/docker/4c0e\n3:cpuacct,cpu:/docker/4c0e\n2:cpuset:/\n0::/\n";
        let groups = found(own, &files).unwrap();
        assert_eq!(groups.len(), 1);
        assert_eq!((groups[0].limit, groups[0].period), (Limit::Cpus(1.5), 0.05));
        assert_eq!((groups[0].throttled_periods, groups[0].throttled_seconds), (3, 2.5));
        assert_eq!(groups[0].limit_file, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
    }

    #[test]
    fn reads_limits_of_parent_cgroups() {
        let limited = "usage_usec 5\nnr_periods 9\nnr_throttled 4\nthrottled_usec 7000000\n";
        let files = [
            ("/sys/fs/cgroup/cpu.stat", "usage_usec 5\nuser_usec 3\nsystem_usec 2\n"),
            ("/sys/fs/cgroup/user.slice/cpu.stat", limited),
            ("/sys/fs/cgroup/user.slice/cpu.max", "50000 100000\n"),
            ("/sys/fs/cgroup/user.slice/s.scope/cpu.stat", "usage_usec 1\nuser_usec 1\nsystem_usec 0\n"),
        ];
        let groups = found("0::/user.slice/s.scope\n", &files).unwrap();
        let files: Vec<_> = groups.iter().map(|group| group.file.as_str()).collect();
        assert_eq!(files, ["/sys/fs/cgroup/user.slice/cpu.stat"]);
        assert_eq!(groups[0].limit, Limit::Cpus(0.5));
        // No controller anywhere: there can be no limit, which is not the same as a counter that is not read.
        let root = [("/sys/fs/cgroup/cpu.stat", "usage_usec 5\nuser_usec 3\nsystem_usec 2\n")];
        assert_eq!(found("0::/\n", &root), Ok(Vec::new()));
    }

    #[test]
    fn a_counter_that_cannot_be_read_is_no_zero() {
        assert_eq!(found("0::/\n", &[]), Err(Unread::NoCounter));
        assert_eq!(found("", &[]), Err(Unread::NoCounter));
        let denied = || Unread::File("cannot read /sys/fs/cgroup/cpu.stat: Permission denied".into());
        assert_eq!(groups("0::/\n", |_| Err(denied())), Err(denied()));
        let unlimited = [
            ("/sys/fs/cgroup/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n"),
            ("/sys/fs/cgroup/cpu.max", "max 100000\n"),
        ];
        assert_eq!(found("0::/\n", &unlimited).unwrap()[0].limit, Limit::Unlimited);
        assert_eq!(found("0::/\n", &unlimited[..1]).unwrap()[0].limit, Limit::Unknown);
    }
}
