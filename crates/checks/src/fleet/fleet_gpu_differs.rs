//! The machines have unlike GPUs.

use super::FleetCheck;
use super::compare;
use crate::{Fix, Judged, Severity};
use facts::fleet::Fleet;
use facts::fleet::traits::GPUS;

pub(super) const CHECK: FleetCheck = FleetCheck {
    id: "fleet-gpu-differs",
    severity: Severity::Warning,
    summary: "every machine has the same number and model of GPUs",
    explain: include_str!("fleet_gpu_differs.md"),
    judge,
};

fn judge(fleet: &Fleet) -> Judged {
    let fix = Fix::safe("If this is not intended, look for a missing GPU:", &["envdoc check --only gpu,pci"]);
    compare::same(
        fleet,
        &GPUS,
        Severity::Warning,
        "a job runs at the speed of the slowest GPU and within the memory of the smallest",
        fix,
        "no machine has a GPU",
    )
}
