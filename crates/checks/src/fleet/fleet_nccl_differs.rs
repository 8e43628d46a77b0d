//! The machines have unlike NCCL.

use super::FleetCheck;
use super::compare::{self, NCCL};
use crate::{Fix, Judged, Severity};
use facts::fleet::Fleet;

/// The check.
pub const CHECK: FleetCheck = FleetCheck {
    id: "fleet-nccl-differs",
    severity: Severity::Warning,
    summary: "every machine has the same NCCL, or none",
    explain: "\
## What it checks
The NCCL library that the loader takes on every machine, outside of containers.

## Why it matters
All ranks of a job must speak one version of NCCL: with unlike ones communicators fail to start, or ranks
wait for messages of another size. Jobs in containers use the image's NCCL and are not touched, unless the
machine's library is mounted into them.

## How to fix it
Install one version everywhere, or run in containers of one image.

## Sources
- NVIDIA/nccl#1267 (machines with 2.20.5 and 2.19.3 could not communicate)
- NVIDIA/nccl#1328 (a size that differs: versions or configuration of two ranks)
",
    judge,
};

fn judge(fleet: &Fleet) -> Judged {
    let fix = Fix::safe("Install one NCCL everywhere, or run in containers of one image.", &[]);
    compare::same(
        fleet,
        &NCCL,
        Severity::Warning,
        "ranks outside of containers cannot communicate",
        fix,
        "no machine has NCCL outside of containers",
    )
}
