//! Who holds a lock, and whether that run is still there.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use host::file;
use host::process_stat::ProcessStat;

/// What a run does with a cluster, and so which other runs it excludes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// It changes the cluster (`up`, `down`): no other run at the same time.
    #[default]
    Change,
    /// It runs programs in the containers (`launch`, `exec`): several at once, but none that changes it.
    Run,
    /// It measures (`smoke`): like `Run`, but one at a time. Two would measure each other, and each removes
    /// the worker of the other.
    Measure,
}

impl Access {
    /// Whether two runs exclude each other.
    pub(super) fn excludes(self, other: Access) -> bool {
        match (self, other) {
            (Access::Change, _) | (_, Access::Change) => true,
            (Access::Measure, Access::Measure) => true,
            (Access::Run, _) | (_, Access::Run) => false,
        }
    }
}

/// Who holds the lock of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Holder {
    /// Random text that no other run has.
    pub id: String,
    /// The command: `up`, `down`, `launch`, `exec`, `smoke`.
    pub command: String,
    /// What it does with the cluster.
    #[serde(default)]
    pub access: Access,
    /// The machine that it runs on.
    pub hostname: String,
    /// Process id of envdoc on that machine.
    pub process: u32,
    /// When it took the lock, as RFC 3339, by that machine's clock.
    pub since: String,
    /// When the process was started, in ticks, and what distinguishes its machine and container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub(super) started: Option<(String, String)>,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let since = self.since.split('.').next().unwrap_or_default();
        let above = if self.access == Access::Measure { "" } else { "cluster " };
        write!(
            f,
            "`envdoc {above}{}` on {} (process {}, since {since}, lock {})",
            self.command, self.hostname, self.process, self.id
        )
    }
}

/// A name for a run, which no other has; also for the processes that it starts together.
pub fn run_id() -> String {
    let now = jiff::Timestamp::now().as_nanosecond();
    format!("{now:x}-{:x}", std::process::id())
}

impl Holder {
    /// What it does, for a sentence about it.
    pub fn verb(&self) -> &'static str {
        if self.access == Access::Change { "changing" } else { "using" }
    }

    pub(super) fn own(id: &str, command: &str, access: Access) -> Holder {
        let now = jiff::Timestamp::now();
        let process = std::process::id();
        let hostname = text("/proc/sys/kernel/hostname").unwrap_or_else(|| "unknown".into());
        Holder {
            id: id.to_owned(),
            command: command.to_owned(),
            access,
            hostname,
            process,
            since: now.to_string(),
            started: started("self").zip(machine()),
        }
    }

    /// Whether it ran on this machine and has ended.
    pub(super) fn ended_here(&self) -> bool {
        let Some((ticks, machine_of)) = &self.started else { return false };
        machine().as_ref() == Some(machine_of) && started(&self.process.to_string()).as_ref() != Some(ticks)
    }
}

fn text(path: &str) -> Option<String> {
    file::read(Path::new(path)).ok().flatten().map(|text| text.trim().to_owned())
}

/// When a process was started, in ticks since boot.
fn started(process: &str) -> Option<String> {
    let stat = text(&format!("/proc/{process}/stat"))?;
    ProcessStat::parse(&stat)?.started().map(|ticks| ticks.to_string())
}

/// This boot of this machine, and within it this container: its first process has a start of its own.
fn machine() -> Option<String> {
    Some(format!("{} {}", text("/proc/sys/kernel/random/boot_id")?, started("1")?))
}
