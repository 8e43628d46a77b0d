//! Nothing keeps the clock, or it has not been set by it yet.

use super::gpu_without_driver::{Family, family};
use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

pub const CHECK: Check = Check {
    id: "clock-not-synchronised",
    group: Group::System,
    severity: Severity::Warning,
    applies: Applies::GpuHost,
    summary: "a time service keeps the clock",
    explain: include_str!("clock_not_synchronised.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    // WSL's clock is that of Windows; some hypervisors set their guests' clocks from outside.
    if facts.system.wsl.decided()?.is_some() {
        return Err(Verdict::NotApplicable("Windows keeps the clock of WSL".into()));
    }
    let Some(keeper) = facts.clock.keeper.decided()? else {
        let says = "no time service runs: the clock drifts away from those of other nodes";
        let install = |package| facts.system.os.known().and_then(|os| os.install(package));
        let (package, start) = match family(facts) {
            Family::Ubuntu | Family::Debian => ("systemd-timesyncd", "sudo timedatectl set-ntp true"),
            _ => ("chrony", "sudo systemctl enable --now chronyd"),
        };
        let install = install(package);
        let commands: Vec<&str> = install.as_deref().into_iter().chain([start]).collect();
        let fix = Fix::safe("Any one of the distribution's time services will do.", &commands);
        return Ok(Verdict::warning(says, fix)
            .evidence("no running service among systemd-timesyncd, chronyd, ntpd, openntpd, phc2sys"));
    };
    match facts.clock.synchronised.decided()? {
        Some(true) => Ok(Verdict::Pass),
        _ if ["openntpd", "phc2sys"].contains(&keeper.as_str()) => {
            Ok(Verdict::NotApplicable(format!("{keeper} runs, and does not tell the kernel how it goes")))
        }
        _ => {
            let says = format!(
                "{keeper} runs, but the clock does not count as synchronised: it may stand apart from those of other nodes"
            );
            let command = match keeper.as_str() {
                "chronyd" => "chronyc sources",
                "systemd-timesyncd" => "timedatectl timesync-status",
                _ => "ntpq -p",
            };
            let text = match keeper.as_str() {
                "chronyd" => {
                    "See whether it reaches its servers. If it does, add `rtcsync` to its configuration: without that chronyd does \
                     not tell the kernel."
                }
                _ => "See whether it reaches its servers, and name reachable ones in its configuration.",
            };
            let fix = Fix::safe(text, &[command]);
            Ok(Verdict::warning(says, fix).evidence(format!("{keeper}: not synchronised")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::roles::*;

    #[test]
    fn a_clock_that_nothing_keeps_is_found() {
        let mut facts = gpu_node();
        facts.clock.keeper = Fact::Absent;
        facts.clock.synchronised = Fact::Absent;
        expect(&CHECK, &facts, "warning", "no time service");
        facts.clock.keeper = Fact::Known("chronyd".into());
        facts.clock.synchronised = Fact::Known(false);
        expect(&CHECK, &facts, "warning", "chronyd runs");
        facts.clock.synchronised = Fact::Known(true);
        expect(&CHECK, &facts, "pass", "");
        facts.clock.synchronised = Fact::Unknown("no answer".into());
        expect(&CHECK, &facts, "unknown", "");
        expect(&CHECK, &build_host(), "not-applicable", "");
    }
}
