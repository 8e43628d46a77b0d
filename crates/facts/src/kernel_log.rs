//! What the kernel logged about GPUs, links and memory.

use std::time::Duration;

use super::{Fact, gpu};
use crate::IntoFact;
use host::{Host, Missing, Reading};

/// Events since boot, oldest first: `/dev/kmsg`, else `journalctl -k -b`.
///
/// `/dev/kmsg` is a ring: on a machine that logs much the oldest records are gone.
#[derive(Debug, Clone)]
pub struct KernelLog {
    /// Xid and SXid events.
    pub xids: Fact<Vec<Xid>>,
    /// Processes killed by the OOM killer (names).
    pub oom_kills: Fact<Vec<String>>,
    /// Other lines of the NVIDIA driver that say something failed (`NVRM: API mismatch`, `RmInitAdapter
    /// failed`, …), each text once.
    pub driver_errors: Fact<Vec<String>>,
    /// How many OOM kills since boot: `oom_kill` of `/proc/vmstat`, which
    /// needs no rights.
    pub oom_count: Fact<u64>,
}

/// One Xid (GPU) or SXid (NVSwitch) event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Xid {
    /// 79, 20034.
    pub number: u32,
    /// Whether it is an SXid.
    pub switch: bool,
    /// PCI address, `0000:41:00`, lower case.
    pub address: String,
    /// The whole line without its time stamp.
    pub line: String,
}

impl Xid {
    /// Name of the process that the driver blames, where it names one.
    pub fn process(&self) -> Option<&str> {
        let name = self.line.split_once("name=")?.1.split(',').next()?.trim();
        (!name.is_empty() && name != "<unknown>").then_some(name)
    }

    /// Whether an SXid calls itself fatal (`24007, Fatal, Link 46 sourcetrack timeout error`).
    pub fn fatal(&self) -> bool {
        self.switch && self.line.contains(", Fatal,")
    }
}

/// Reads these facts; one that cannot be read is unknown, with the reason.
pub fn gather(host: &dyn Host) -> KernelLog {
    let oom_count = oom_count(host);
    // The kernel gives its log record by record, a thousand calls on a quiet machine.
    let log = if oom_count == Fact::Known(0) && !gpu::nvidia_present(host) {
        Fact::unknown("kernel log not read (no GPU present, no OOM kills)")
    } else {
        log(host)
    };
    KernelLog {
        xids: log.as_ref().map(|log| xids(log)),
        oom_kills: log.as_ref().map(|log| oom_kills(log)),
        driver_errors: log.as_ref().map(|log| driver_errors(log)),
        oom_count,
    }
}

/// `oom_kill 3` of `/proc/vmstat`.
fn oom_count(host: &dyn Host) -> Fact<u64> {
    host.read("/proc/vmstat").text().and_then(|text| {
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok());
        count.map_or(Fact::Absent, Fact::Known)
    })
}

/// The text of the kernel's log.
fn log(host: &dyn Host) -> Fact<String> {
    let why = match host.read("/dev/kmsg").text() {
        Fact::Known(log) => return Fact::Known(log),
        Fact::Absent => Missing::from("/dev/kmsg does not exist here"),
        Fact::Unknown(why) => why.about("/dev/kmsg"),
    };
    // Starting a program is only worth it where the log can say something of GPUs.
    if !gpu::nvidia_present(host) {
        return Fact::Unknown(why);
    }
    from_journal(host, why)
}

/// The whole log, for somebody who asks for it; [`Fact::Unknown`] says which right is missing.
pub fn text(host: &dyn Host) -> Fact<String> {
    match host.read("/dev/kmsg").text() {
        Fact::Known(log) => Fact::Known(log),
        Fact::Absent => from_journal(host, "/dev/kmsg does not exist here".into()),
        Fact::Unknown(why) => from_journal(host, why.about("/dev/kmsg")),
    }
}

/// Every line of the log as dmesg shows it, where dmesg may; else [`text`], which keeps the records that
/// checks look at.
pub fn whole(host: &dyn Host) -> Fact<String> {
    match host.run(&["dmesg"], Duration::from_secs(10)) {
        Reading::Ran { status: Some(0), stdout, .. } if !stdout.trim().is_empty() => Fact::Known(stdout),
        _ => text(host),
    }
}

/// The log from the journal; else why it could not be read before.
fn from_journal(host: &dyn Host, why: Missing) -> Fact<String> {
    let argv = ["journalctl", "-k", "-b", "-o", "short-iso", "--no-pager"];
    match journal(host.run(&argv, Duration::from_secs(10))) {
        Fact::Known(log) => Fact::Known(log),
        _ => Fact::Unknown(why),
    }
}

/// What `journalctl -k` printed. An ordinary user sees no kernel messages and gets a hint on the error
/// output; that is not an empty log.
fn journal(reading: Reading) -> Fact<String> {
    match reading {
        Reading::Ran { status: Some(0), stdout, .. } if stdout.contains(" kernel: ") => Fact::Known(stdout),
        Reading::Ran { stderr, .. } => {
            Fact::unknown(format!("journalctl shows no kernel messages: {}", stderr.trim()))
        }
        other => other.text(),
    }
}

/// Every Xid and SXid.
///
/// ```text
/// NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
/// NVRM: Xid (0000:01:00): 3, C 00000005 SC 00000007 M 00001ffc Data ffffffff
/// nvidia-nvswitch3: SXid (PCI:0000:08:00.0): 65438, Non-fatal, Link 60 Minion Link DLREQ interrupt
/// nvidia-nvswitch3: SXid (PCI:0000:08:00.0): 65438, Severity 0 Engine instance 60 Sub-engine instance 00
/// ```
///
/// Details of an SXid (`Severity …`, `Data {…}`) repeat its number and are not events.
pub fn xids(log: &str) -> Vec<Xid> {
    log.lines().filter_map(xid).collect()
}

fn xid(line: &str) -> Option<Xid> {
    let (start, switch) = match line.find("NVRM: Xid (") {
        Some(start) => (start, false),
        None => (line.find("nvidia-nvswitch").filter(|_| line.contains(": SXid ("))?, true),
    };
    let line = line[start..].trim_end();
    let (address, rest) = line.split_once("Xid (")?.1.split_once("):")?;
    let rest = rest.trim_start();
    let number = rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
    let detail = rest.split_once(',').map_or("", |(_, detail)| detail.trim_start());
    if switch && (detail.starts_with("Severity") || detail.starts_with("Data")) {
        return None;
    }
    let address = address.strip_prefix("PCI:").unwrap_or(address);
    let address = address.split('.').next().unwrap_or(address).to_ascii_lowercase();
    Some(Xid { number, switch, address, line: line.to_owned() })
}

/// Names of the processes that were killed.
///
/// ```text
/// Out of memory: Killed process 1440763 (python) total-vm:87033376kB, anon-rss:60356340kB
/// Memory cgroup out of memory: Killed process 4567 (python3) total-vm:123456kB
/// Out of memory: Kill process 456 (python) score 50 or sacrifice child
/// Out of memory: Killed process 123, UID 48, (httpd).
/// ```
pub fn oom_kills(log: &str) -> Vec<String> {
    let mut killed: Vec<String> = Vec::new();
    let mut announced: Option<String> = None;
    for line in log.lines() {
        let Some(at) = line.find("ut of memory: Kill") else { continue };
        let rest = &line[at..];
        let Some(name) = rest.split_once('(').and_then(|(_, rest)| rest.split(')').next()) else { continue };
        // Kernels before 5.4 announce "Kill process" and then report "Killed process" of the same.
        let announcement = rest.contains("Kill process");
        if !announcement && announced.as_deref() == Some(name) {
            announced = None;
            continue;
        }
        announced = announcement.then(|| name.to_owned());
        killed.push(name.to_owned());
    }
    killed
}

/// Words with which the driver says that something failed.
const FAILURES: &[&str] = &[
    "API mismatch",
    "RmInitAdapter failed",
    "rm_init_adapter failed",
    "probe routine was not called",
    "probe routine failed",
    "has fallen off the bus",
    "None of the NVIDIA",
    "No NVIDIA",
    "is not supported by",
    "requires use of the NVIDIA open kernel modules",
    "requires the use of the NVIDIA open kernel modules",
    "not supported by open nvidia.ko",
    "BAR1 is 0M",
    "Can't find an IRQ",
    "request_mem_region failed",
];

/// Lines of the driver that say that something failed, each text once. Messages over several lines are put
/// together up to the end of their sentence: `API mismatch: the client has the version 440.33.01, but this
/// kernel module has the version 440.26.`
pub fn driver_errors(log: &str) -> Vec<String> {
    let mut errors: Vec<String> = Vec::new();
    let mut lines =
        log.lines().filter_map(|line| line.find("NVRM: ").map(|at| line[at + 6..].trim())).peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("Xid (") || !FAILURES.iter().any(|words| line.contains(words)) {
            continue;
        }
        let mut error = line.to_owned();
        if line.contains("API mismatch")
            && let Some(next) = lines.peek().filter(|next| next.starts_with("this kernel module has"))
        {
            let version = next.split(".  ").next().unwrap_or(next);
            error = format!("{error} {version}");
        }
        if !errors.contains(&error) {
            errors.push(error);
        }
    }
    errors
}

/// Whether an error of the driver is `GPU 0000:3b:00.0: GPU has fallen off the bus.`.
pub fn is_off_bus(error: &str) -> bool {
    error.contains("fallen off the bus")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use host::record::Replay;

    const DIR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/servers/outputs/kernel_log");

    #[expect(clippy::disallowed_methods, reason = "the test reads the corpus")]
    fn corpus(file: &str) -> String {
        String::from_utf8_lossy(&std::fs::read(format!("{DIR}/{file}")).unwrap()).into_owned()
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test reads the corpus")]
    fn every_log_of_the_corpus_gives_its_events() {
        let mut files: Vec<String> = std::fs::read_dir(DIR)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort_unstable();
        let mut lines = Vec::new();
        for file in files {
            let log = corpus(&file);
            let mut counts: BTreeMap<String, usize> = BTreeMap::new();
            for xid in xids(&log) {
                let kind = if xid.switch { "SXid" } else { "Xid" };
                *counts
                    .entry(format!("{kind} {} {} {:?}", xid.number, xid.address, xid.process()))
                    .or_default() += 1;
            }
            lines.push(format!("{file}: {counts:?} killed {:?}", oom_kills(&log)));
            lines.extend(driver_errors(&log).iter().map(|error| format!("    {error}")));
        }
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn old_formats_are_read_and_other_lines_are_not() {
        let log = "\
6,1234,5012345,-;NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
Jan 18 11:38:05 localhost kernel: [ 269.517027] NVRM: Xid (0000:01:00): 3, C 00000005 SC 00000007 M 00001ffc
[1] nvidia-nvswitch0: SXid (PCI:0000:C1:00.0): 24007, Fatal, Link 46 sourcetrack timeout error (First)
[1] nvidia-nvswitch0: SXid (PCI:0000:C1:00.0): 24007, Severity 1 Engine instance 46 Sub-engine instance 00
[2] NVRM: Xid (PCI:0000:9b:00): 119, pid=2024380, name=nvidia-smi, Timeout after 6s of waiting for RPC \
response
NVRM: GPU at PCI:0000:9b:00: GPU-3aca57ba-6256-ebce-df79-15afe061a96c
NVRM: Xid (PCI:0000:41:00): none
someone: Xid (PCI:0000:41:00): 13
";
        let found = xids(log);
        let found: Vec<_> =
            found.iter().map(|x| (x.number, x.switch, x.address.as_str(), x.process(), x.fatal())).collect();
        assert_eq!(
            found,
            [
                (79, false, "0000:41:00", None, false),
                (3, false, "0000:01:00", None, false),
                (24007, true, "0000:c1:00", None, true),
                (119, false, "0000:9b:00", Some("nvidia-smi"), false),
            ]
        );
    }

    #[test]
    fn one_kill_counts_once_in_old_kernels_too() {
        let log = "\
Out of memory: Kill process 456 (python) score 50 or sacrifice child
Killed process 456 (python) total-vm:123kB, anon-rss:12kB, file-rss:0kB
Memory cgroup out of memory: Killed process 4567 (pt_main_thread) total-vm:123456kB
";
        assert_eq!(oom_kills(log), ["python", "pt_main_thread"]);
    }

    #[test]
    fn a_log_that_may_not_be_read_is_unknown() {
        let facts = |readings: &[(&str, Reading)]| {
            let readings =
                readings.iter().map(|(key, reading)| ((*key).to_owned(), reading.clone())).collect();
            gather(&Replay::new(readings, "not in this snapshot"))
        };
        let denied = facts(&[("read /dev/kmsg", Reading::Failed(Missing::denied()))]);
        assert!(matches!(&denied.xids, Fact::Unknown(why) if why.is_denied()), "{denied:?}");
        assert!(matches!(denied.oom_count, Fact::Unknown(_)));
        let empty = facts(&[
            ("read /dev/kmsg", Reading::Text(String::new())),
            ("read /proc/vmstat", Reading::Text("nr_free_pages 1\noom_kill 2\n".into())),
        ]);
        assert_eq!(empty.xids, Fact::Known(vec![]));
        assert_eq!(empty.oom_count, Fact::Known(2));
        let hint = "Hint: You are currently not seeing messages from other users and the system.";
        let ran = |stdout: &str, stderr: &str| Reading::Ran {
            status: Some(0),
            stdout: stdout.into(),
            stderr: stderr.into(),
        };
        assert!(matches!(journal(ran("-- No entries \
                --\n", hint)), Fact::Unknown(why) if why.detail.contains("Hint")));
        assert!(matches!(journal(ran("2025-01-17T17:39:30+0000 node kernel: x\n", "")), Fact::Known(_)));
    }
}
