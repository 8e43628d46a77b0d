//! The machines have unlike NCCL.

use super::FleetCheck;
use super::compare;
use crate::{Fix, Judged, Severity};
use facts::fleet::Fleet;
use facts::fleet::traits::NCCL;

pub(super) const CHECK: FleetCheck = FleetCheck {
    id: "fleet-nccl-differs",
    severity: Severity::Warning,
    summary: "every machine has the same NCCL, or none",
    explain: include_str!("fleet_nccl_differs.md"),
    judge,
};

fn judge(fleet: &Fleet) -> Judged {
    let fix = Fix::manual("Install the same NCCL on every machine, or run in containers of one image.");
    compare::same(
        fleet,
        &NCCL,
        Severity::Warning,
        "ranks outside containers cannot communicate",
        fix,
        "no machine has NCCL outside containers",
    )
}
