//! The machines have unlike processors.

use super::FleetCheck;
use super::compare;
use crate::{Fix, Judged, Severity};
use facts::fleet::Fleet;
use facts::fleet::traits::ARCHITECTURE;

pub(super) const CHECK: FleetCheck = FleetCheck {
    id: "fleet-architecture-differs",
    severity: Severity::Error,
    summary: "every machine has the same processor architecture",
    explain: include_str!("fleet_architecture_differs.md"),
    judge,
};

fn judge(fleet: &Fleet) -> Judged {
    let fix = Fix::manual("Build the image for each architecture, or use separate clusters.");
    compare::same(
        fleet,
        &ARCHITECTURE,
        Severity::Error,
        "one image runs on all of them only if it was built for each architecture",
        fix,
        "the architecture is unknown",
    )
}
