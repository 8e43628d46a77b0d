//! The machines have unlike CUDA toolkits.

use super::FleetCheck;
use super::compare;
use crate::{Fix, Judged, Severity};
use facts::fleet::Fleet;
use facts::fleet::traits::CUDA;

pub(super) const CHECK: FleetCheck = FleetCheck {
    id: "fleet-cuda-differs",
    severity: Severity::Warning,
    summary: "every machine has the same CUDA toolkit, or none",
    explain: include_str!("fleet_cuda_differs.md"),
    judge,
};

fn judge(fleet: &Fleet) -> Judged {
    let fix = Fix::manual("Install the same toolkit on every machine, or use the one in the image.");
    compare::same(
        fleet,
        &CUDA,
        Severity::Warning,
        "extensions compiled on the machines differ (containers use their own toolkit)",
        fix,
        "no machine has a CUDA toolkit",
    )
}
