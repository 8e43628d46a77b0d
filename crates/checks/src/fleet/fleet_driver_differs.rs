//! The machines have unlike drivers.

use super::FleetCheck;
use super::compare;
use crate::{Fix, Judged, Severity};
use facts::fleet::Fleet;
use facts::fleet::traits::DRIVER;

pub(super) const CHECK: FleetCheck = FleetCheck {
    id: "fleet-driver-differs",
    severity: Severity::Warning,
    summary: "every machine runs the same NVIDIA driver",
    explain: include_str!("fleet_driver_differs.md"),
    judge,
};

fn judge(fleet: &Fleet) -> Judged {
    let fix = Fix::needs_reboot(
        "Install the same driver version on every machine, then reboot those that changed.",
        &[],
    );
    compare::same(
        fleet,
        &DRIVER,
        Severity::Warning,
        "the oldest driver decides which images run",
        fix,
        "no machine has an NVIDIA driver",
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{two, verdict_line};
    use super::*;
    use facts::Fact;

    #[test]
    fn names_differing_versions_and_never_passes_unknown_ones() {
        let mut fleet = two();
        assert_eq!(verdict_line(&CHECK, &fleet), "pass");
        let module = fleet.members[1].facts.driver.module.clone();
        fleet.members[1].facts.driver.module = Fact::Unknown("permission denied".into());
        fleet.members[1].facts.gpu.driver = Fact::Unknown("permission denied".into());
        fleet.members[1].facts.driver.library = Fact::Unknown("permission denied".into());
        assert_eq!(verdict_line(&CHECK, &fleet), "unknown: node2: permission denied");
        fleet.members[1].facts.driver.module = module.map(|mut module| {
            module.version = "550.54.14".parse().unwrap();
            module
        });
        let found = verdict_line(&CHECK, &fleet);
        assert!(
            found.starts_with("warning: driver differs: 580.95.05 (node1), 550.54.14 (node2)"),
            "{found}"
        );
        fleet.members.pop();
        assert!(verdict_line(&CHECK, &fleet).starts_with("not applicable"));
    }
}
