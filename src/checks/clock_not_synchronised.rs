//! Nothing keeps the clock, or it has not been set by it yet.

use super::{Applies, Check, Fix, Group, Judged, Verdict};
use crate::facts::Facts;

/// The check.
pub const CHECK: Check = Check {
    id: "clock-not-synchronised",
    group: Group::System,
    applies: Applies::GpuHost,
    summary: "a time service keeps the clock",
    explain: "\
## What it checks
Looks for a time service that runs (systemd-timesyncd, chronyd, ntpd) and whether it has synchronised the
clock.

## Why it matters
Nodes that work together need one time: certificates are valid from one moment to another, and the logs of
a job that hung can only be laid side by side when their clocks agree.

## How to fix it
Start the time service of the distribution. Where one runs and has not synchronised, its servers cannot be
reached: name those of your network in its configuration.

## Sources
- systemd-timesyncd.service(8)
",
    judge,
};

fn judge(facts: &Facts) -> Judged {
    // WSL's clock is that of Windows; some hypervisors set their guests' clocks from outside.
    if facts.system.wsl.decided()?.is_some() {
        return Err(Verdict::NotApplicable("Windows keeps the clock of WSL".into()));
    }
    let Some(keeper) = facts.clock.keeper.decided()? else {
        let says = "no time service runs: the clock drifts away from those of other nodes";
        let fix = Fix::safe(
            "Any one of the distribution's time services will do.",
            &["sudo timedatectl set-ntp true"],
        );
        return Ok(
            Verdict::warning(says, fix).because("no running service among systemd-timesyncd, chronyd, ntpd")
        );
    };
    match facts.clock.synchronised.decided()? {
        Some(true) => Ok(Verdict::Pass),
        _ => {
            let says = format!("{keeper} runs but has not synchronised the clock: it reaches no time server");
            let command = match keeper.as_str() {
                "chronyd" => "chronyc sources",
                "systemd-timesyncd" => "timedatectl timesync-status",
                _ => "ntpq -p",
            };
            let fix = Fix::safe(
                "See which servers it asks, and name reachable ones in its configuration.",
                &[command],
            );
            Ok(Verdict::warning(says, fix).because(format!("{keeper}: not synchronised")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Fact, testing::*};

    use super::super::Severity;

    #[test]
    fn a_clock_that_nothing_keeps_is_found() {
        let mut facts = gpu_node();
        facts.clock.keeper = Fact::Absent;
        facts.clock.synchronised = Fact::Absent;
        assert!(finds(&CHECK, &facts, Severity::Warning, "no time service"));
        facts.clock.keeper = Fact::Known("chronyd".into());
        facts.clock.synchronised = Fact::Known(false);
        assert!(finds(&CHECK, &facts, Severity::Warning, "chronyd runs"));
        facts.clock.synchronised = Fact::Known(true);
        assert!(passes(&CHECK, &facts));
        facts.clock.synchronised = Fact::Unknown("no answer".into());
        assert!(is_unknown(&CHECK, &facts));
        assert!(means_nothing(&CHECK, &build_host()));
    }
}
