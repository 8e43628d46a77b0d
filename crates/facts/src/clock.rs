//! The machine's time and whether something keeps it.

use std::time::Duration;

use super::Fact;
use crate::IntoFact;
use catalog::Catalog;
use host::{Host, Reading};

/// Time and its keeper.
#[derive(Debug, Clone)]
pub struct Clock {
    /// Seconds since 1970-01-01 UTC when the machine was looked at.
    pub now: Fact<i64>,
    /// Whether the kernel's clock is synchronised: the file `/run/systemd/timesync/synchronized` where
    /// systemd-timesyncd keeps it, else `timedatectl` (machines with an NVIDIA device only: it is a process).
    /// Absent where nothing keeps it.
    pub synchronised: Fact<bool>,
    /// The service that keeps it: `systemd-timesyncd`, `chronyd`, `ntpd`; absent when none runs. A service
    /// that runs has a directory in the control groups.
    pub keeper: Fact<String>,
}

/// Where the control groups of services stand: cgroup v2, hybrid, v1.
const SLICES: &[&str] = &[
    "/sys/fs/cgroup/system.slice",
    "/sys/fs/cgroup/unified/system.slice",
    "/sys/fs/cgroup/systemd/system.slice",
];

/// Reads these facts; one that cannot be read is unknown, with the reason.
pub fn gather(host: &dyn Host, catalog: &Catalog) -> Clock {
    let now = host.clock().text().and_then(|text| match text.trim().parse() {
        Ok(seconds) => Fact::Known(seconds),
        Err(_) => Fact::unknown(format!("the clock answered {text:?}")),
    });
    let keeper = keeper(host, catalog);
    let synchronised = synchronised(host, &keeper);
    Clock { now, synchronised, keeper }
}

/// Where no systemd runs the services, nothing is known of them.
fn keeper(host: &dyn Host, catalog: &Catalog) -> Fact<String> {
    let services = catalog.time_services().all();
    let prefixes: Vec<&str> = services.iter().map(|row| row.unit.as_str()).collect();
    for slice in SLICES {
        match host.find(slice, &prefixes) {
            Reading::Absent => {}
            reading => {
                return reading.lines().about(slice).and_then(|names| {
                    let units = || names.iter().filter(|name| name.ends_with(".service"));
                    let found = services.iter().find(|row| units().any(|name| name.starts_with(&row.unit)));
                    found.map_or(Fact::Absent, |row| Fact::Known(row.program.clone()))
                });
            }
        }
    }
    Fact::unknown("no systemd runs here, so that no list of running services is there to read")
}

fn synchronised(host: &dyn Host, keeper: &Fact<String>) -> Fact<bool> {
    match keeper {
        Fact::Known(name) if name == "systemd-timesyncd" => {
            host.stat("/run/systemd/timesync/synchronized").text().map(|_| true).absent_as(false)
        }
        Fact::Known(_) if has_nvidia_device(host) => timedatectl(host),
        Fact::Known(name) => {
            Fact::unknown(format!("{name} leaves no file that shows whether it synchronized the clock"))
        }
        Fact::Absent => Fact::Absent,
        Fact::Unknown(why) => Fact::Unknown(why.clone()),
    }
}

/// `timedatectl show -p NTPSynchronized --value` prints `yes` or `no`: the kernel's own state (`adjtimex`).
fn timedatectl(host: &dyn Host) -> Fact<bool> {
    let argv = ["timedatectl", "show", "-p", "NTPSynchronized", "--value"];
    host.run(&argv, Duration::from_millis(900))
        .stdout()
        .must_exist("timedatectl")
        .about("timedatectl")
        .and_then(|text| match text.trim() {
            "yes" => Fact::Known(true),
            "no" => Fact::Known(false),
            other => Fact::unknown(format!("timedatectl answered {other:?}")),
        })
}

/// The second column of `/proc/bus/pci/devices` is vendor and device, `10de2330`.
fn has_nvidia_device(host: &dyn Host) -> bool {
    match host.read("/proc/bus/pci/devices") {
        Reading::Text(text) => {
            text.lines().filter_map(|line| line.split_whitespace().nth(1)).any(|id| id.starts_with("10de"))
        }
        Reading::Absent => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use host::record::Replay;

    fn clock(readings: &[(&str, Reading)]) -> Clock {
        let readings: BTreeMap<String, Reading> =
            readings.iter().map(|(ask, reading)| ((*ask).to_owned(), reading.clone())).collect();
        gather(&Replay::new(readings, "not in this snapshot"), catalog::testing::catalog())
    }

    const FIND: &str =
        "find /sys/fs/cgroup/system.slice systemd-timesyncd.service chrony ntp openntpd phc2sys";
    const TIMEDATECTL: &str = "run timedatectl show -p NTPSynchronized --value";

    #[test]
    fn detects_running_time_service_and_its_sync_state() {
        let text = |text: &str| Reading::Text(text.into());
        let ran = |text: &str| Reading::Ran { status: Some(0), stdout: text.into(), stderr: String::new() };
        let timesyncd = clock(&[
            (FIND, text("systemd-timesyncd.service")),
            ("stat /run/systemd/timesync/synchronized", text("{}")),
        ]);
        assert_eq!(
            (timesyncd.keeper, timesyncd.synchronised),
            (Fact::Known("systemd-timesyncd".into()), Fact::Known(true))
        );
        let waiting = clock(&[
            (FIND, text("systemd-timesyncd.service")),
            ("stat /run/systemd/timesync/synchronized", Reading::Absent),
        ]);
        assert_eq!(waiting.synchronised, Fact::Known(false));
        let chrony = clock(&[(FIND, text("chronyd.service")), (TIMEDATECTL, ran("no\n"))]);
        assert_eq!((chrony.keeper, chrony.synchronised), (Fact::Known("chronyd".into()), Fact::Known(false)));
        let none = clock(&[(FIND, text(""))]);
        assert_eq!((none.keeper, none.synchronised), (Fact::Absent, Fact::Absent));
    }

    #[test]
    fn no_process_is_started_without_an_nvidia_device() {
        let build_host = clock(&[
            (FIND, Reading::Text("chrony.service".into())),
            ("read /proc/bus/pci/devices", Reading::Text("0000\t80861237\t0\n0008\t80867000\t0\n".into())),
            (TIMEDATECTL, Reading::failed("must not be asked")),
        ]);
        assert_eq!(
            build_host.synchronised,
            Fact::unknown("chronyd leaves no file that shows whether it synchronized the clock")
        );
    }

    #[test]
    fn unreadable_sources_are_unknown() {
        let nothing = clock(&[]);
        assert!(
            matches!(nothing.keeper, Fact::Unknown(_)) && matches!(nothing.synchronised, Fact::Unknown(_))
        );
        assert!(matches!(nothing.now, Fact::Unknown(_)));
    }
}
