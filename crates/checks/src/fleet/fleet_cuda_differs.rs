//! The machines have unlike CUDA toolkits.

use super::FleetCheck;
use super::compare::{self, CUDA};
use crate::{Fix, Judged, Severity};
use facts::fleet::Fleet;

/// The check.
pub const CHECK: FleetCheck = FleetCheck {
    id: "fleet-cuda-differs",
    severity: Severity::Warning,
    summary: "every machine has the same CUDA toolkit, or none",
    explain: "\
## What it checks
The CUDA toolkit on every machine: that of nvcc on PATH, else the one that /usr/local/cuda is.

## Why it matters
Extensions that are compiled when a job starts (DeepSpeed's operators) are compiled on each machine by its
own nvcc. Jobs in containers use the image's and are not touched.

## How to fix it
Install one toolkit everywhere, or compile inside the image.

## Sources
- envdoc's own check nvcc-torch-cuda-mismatch, which judges each toolkit beside its torch
",
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
