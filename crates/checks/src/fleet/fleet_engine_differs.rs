//! The machines have unlike engines.

use super::FleetCheck;
use super::compare;
use crate::{Fix, Judged, Severity};
use facts::fleet::Fleet;
use facts::fleet::traits::ENGINE;

pub(super) const CHECK: FleetCheck = FleetCheck {
    id: "fleet-engine-differs",
    severity: Severity::Warning,
    summary: "every machine runs the same container engine",
    explain: include_str!("fleet_engine_differs.md"),
    judge,
};

fn judge(fleet: &Fleet) -> Judged {
    let fix =
        Fix::restarts_service("Install the same Docker version on every machine, then restart it.", &[]);
    compare::same(
        fleet,
        &ENGINE,
        Severity::Warning,
        "a swarm supports only the features of its oldest engine",
        fix,
        "no machine has an engine",
    )
}
