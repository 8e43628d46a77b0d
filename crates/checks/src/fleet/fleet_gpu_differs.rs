//! The machines have unlike GPUs.

use super::FleetCheck;
use super::compare::{self, GPUS};
use crate::{Fix, Judged, Severity};
use facts::fleet::Fleet;

pub const CHECK: FleetCheck = FleetCheck {
    id: "fleet-gpu-differs",
    severity: Severity::Warning,
    summary: "every machine has the same GPUs, as many",
    explain: include_str!("fleet_gpu_differs.md"),
    judge,
};

fn judge(fleet: &Fleet) -> Judged {
    let fix = Fix::safe(
        "Where that is not meant, look for a GPU that is missing:",
        &["envdoc check --only gpu,pci"],
    );
    compare::same(
        fleet,
        &GPUS,
        Severity::Warning,
        "a job runs at the pace of the slowest and within the memory of the smallest",
        fix,
        "no machine has a GPU",
    )
}
