//! The machines have unlike processors.

use super::FleetCheck;
use super::compare::{self, ARCHITECTURE};
use crate::{Fix, Judged, Severity};
use facts::fleet::Fleet;

pub const CHECK: FleetCheck = FleetCheck {
    id: "fleet-architecture-differs",
    severity: Severity::Error,
    summary: "every machine has the same processor architecture",
    explain: include_str!("fleet_architecture_differs.md"),
    judge,
};

fn judge(fleet: &Fleet) -> Judged {
    let fix = Fix::safe("Build the image for each architecture, or keep such machines apart.", &[]);
    compare::same(
        fleet,
        &ARCHITECTURE,
        Severity::Error,
        "one image does not run on all of them unless it was built for each",
        fix,
        "the architecture is not known",
    )
}
