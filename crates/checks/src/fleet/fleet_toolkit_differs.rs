//! The machines have unlike container toolkits.

use super::FleetCheck;
use super::compare;
use crate::{Fix, Judged, Severity};
use facts::fleet::Fleet;
use facts::fleet::traits::TOOLKIT;

pub(super) const CHECK: FleetCheck = FleetCheck {
    id: "fleet-toolkit-differs",
    severity: Severity::Warning,
    summary: "every machine has the same NVIDIA Container Toolkit",
    explain: include_str!("fleet_toolkit_differs.md"),
    judge,
};

fn judge(fleet: &Fleet) -> Judged {
    let fix = Fix::restarts_service(
        "Install the same version of nvidia-container-toolkit on every machine, then restart Docker.",
        &[],
    );
    compare::same(
        fleet,
        &TOOLKIT,
        Severity::Warning,
        "the same compose file produces different containers",
        fix,
        "no machine has the toolkit",
    )
}
