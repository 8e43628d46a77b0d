//! Nothing keeps the clock, or it has not been set by it yet.

use crate::distribution::{Family, family};
use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "clock-not-synchronised",
    group: Group::System,
    severity: Severity::Warning,
    applies: Applies::GpuHost,
    summary: "a time service synchronizes the clock",
    explain: include_str!("clock_not_synchronised.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    // WSL's clock is that of Windows; some hypervisors set their guests' clocks from outside.
    if facts.system.wsl.decided()?.is_some() {
        return Err(Verdict::NotApplicable("Windows sets the clock of WSL".into()));
    }
    let services = facts.catalog.time_services();
    let Some(keeper) = facts.clock.keeper.decided()? else {
        let message = "no time service is running; the clock drifts away from the clocks of other nodes";
        let install = |package| facts.system.os.known().and_then(|os| os.install(package));
        let (package, start) = match family(facts) {
            Family::Ubuntu | Family::Debian => ("systemd-timesyncd", "sudo timedatectl set-ntp true"),
            _ => ("chrony", "sudo systemctl enable --now chronyd"),
        };
        let install = install(package);
        let commands: Vec<&str> = install.as_deref().into_iter().chain([start]).collect();
        let fix = Fix::safe("Install and start a time service:", &commands);
        let known: Vec<&str> = services.all().iter().map(|row| row.program.as_str()).collect();
        return Ok(
            Verdict::warning(message, fix).evidence(format!("no running service among {}", known.join(", ")))
        );
    };
    let service = services.program(keeper);
    match facts.clock.synchronised.decided()? {
        Some(true) => Ok(Verdict::Pass),
        _ if service.is_some_and(|row| !row.reports_to_kernel) => Ok(Verdict::NotApplicable(format!(
            "{keeper} is running but does not report its state to the kernel"
        ))),
        _ => {
            let message = format!(
                "{keeper} is running but the clock is not synchronized; it may differ from the clocks of \
                 other nodes"
            );
            let command = service.and_then(|row| row.status.as_deref());
            let text = match keeper.as_str() {
                "chronyd" => {
                    "Check that chronyd reaches its servers; if it does, add `rtcsync` to its configuration \
                     so that it reports to the kernel:"
                }
                _ => "Check that it reaches its servers; if not, configure reachable ones:",
            };
            let fix = Fix::safe(text, command.as_slice()).punctuated();
            Ok(Verdict::warning(message, fix).evidence(format!("{keeper}: not synchronized")))
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
    fn reports_missing_or_unsynchronised_time_service() {
        let mut facts = gpu_node();
        facts.clock.keeper = Fact::Absent;
        facts.clock.synchronised = Fact::Absent;
        expect(&CHECK, &facts, "warning", "no time service");
        facts.clock.keeper = Fact::Known("chronyd".into());
        facts.clock.synchronised = Fact::Known(false);
        expect(&CHECK, &facts, "warning", "chronyd is running");
        facts.clock.synchronised = Fact::Known(true);
        expect(&CHECK, &facts, "pass", "");
        facts.clock.synchronised = Fact::Unknown("no answer".into());
        expect(&CHECK, &facts, "unknown", "");
        expect(&CHECK, &build_host(), "not-applicable", "");
    }
}
