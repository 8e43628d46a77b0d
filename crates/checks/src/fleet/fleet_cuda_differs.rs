//! The machines have unlike CUDA toolkits.

use super::FleetCheck;
use super::compare::{self, CUDA};
use crate::{Fix, Judged, Severity};
use facts::fleet::Fleet;

pub const CHECK: FleetCheck = FleetCheck {
    id: "fleet-cuda-differs",
    severity: Severity::Warning,
    summary: "every machine has the same CUDA toolkit, or none",
    explain: include_str!("fleet_cuda_differs.md"),
    judge,
};

fn judge(fleet: &Fleet) -> Judged {
    let fix = Fix::safe("Install one toolkit everywhere, or use the one inside the image.", &[]);
    compare::same(
        fleet,
        &CUDA,
        Severity::Warning,
        "what is compiled on the machines differs; containers have their own",
        fix,
        "no machine has a CUDA toolkit",
    )
}
