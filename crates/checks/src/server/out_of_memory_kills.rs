//! The OOM killer ended processes.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use std::collections::BTreeMap;

use facts::Fact;

pub(super) const CHECK: Check = Check {
    id: "out-of-memory-kills",
    group: Group::System,
    severity: Severity::Warning,
    applies: Applies::Host,
    summary: "the OOM killer killed no process since boot",
    explain: include_str!("out_of_memory_kills.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let log = &facts.kernel_log;
    match (&log.oom_kills, &log.oom_count) {
        (Fact::Known(killed), _) if !killed.is_empty() => Ok(finding(killed)),
        // The counter needs no rights and forgets nothing.
        (_, Fact::Known(0)) => Ok(Verdict::Pass),
        (Fact::Known(_), Fact::Known(_)) => Ok(Verdict::NotApplicable(
            "OOM kills since boot, but too long ago to be in the kernel log".into(),
        )),
        (Fact::Known(_), _) => Ok(Verdict::Pass),
        (Fact::Unknown(why), Fact::Known(count)) => Ok(Verdict::unknown(format!(
            "{count} OOM kills since boot, but the kernel log that names the processes is not readable: {why}"
        ))),
        (Fact::Unknown(why), _) => Ok(Verdict::Unknown(why.clone())),
        (Fact::Absent, _) => Ok(Verdict::Unknown("no kernel log".into())),
    }
}

fn finding(killed: &[String]) -> Verdict {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in killed {
        *counts.entry(name).or_default() += 1;
    }
    let names: Vec<String> = counts.iter().map(|(name, count)| format!("{name} ({count})")).collect();
    let processes = if killed.len() == 1 { "process" } else { "processes" };
    let message = format!(
        "the OOM killer killed {} {processes}: {}; a killed job ends with exit code 137 or -9 and no error \
         message",
        killed.len(),
        names.join(", ")
    );
    let text = "Check whether a container limit (\"Memory cgroup\" in the log) or the machine itself ran out \
                of memory:";
    Verdict::warning(
        message,
        Fix::safe(text, &["sudo dmesg | grep -i -e 'out of memory' -e oom-kill", "free -h"]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kind;
    use facts::testing::unknown;

    #[test]
    fn kills_are_named_and_counted() {
        let mut facts = unknown();
        assert_eq!(kind(&CHECK, &facts), "unknown");
        facts.kernel_log.oom_count = Fact::Known(0);
        assert_eq!(kind(&CHECK, &facts), "pass");
        facts.kernel_log.oom_count = Fact::Known(3);
        assert_eq!(kind(&CHECK, &facts), "unknown");
        facts.kernel_log.oom_kills = Fact::Known(vec!["python".into(), "python".into(), "redis".into()]);
        let Ok(Verdict::Found(found)) = judge(&facts) else { panic!() };
        let message = &found.message;
        assert!(
            message.contains("killed 3 processes") && message.contains("python (2), redis (1)"),
            "{message}"
        );
        facts.kernel_log.oom_kills = Fact::Known(vec![]);
        assert_eq!(kind(&CHECK, &facts), "not-applicable");
    }
}
