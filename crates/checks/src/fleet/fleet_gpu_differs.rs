//! The machines have unlike GPUs.

use super::FleetCheck;
use super::compare::{self, GPUS};
use crate::{Fix, Judged, Severity};
use facts::fleet::Fleet;

/// The check.
pub const CHECK: FleetCheck = FleetCheck {
    id: "fleet-gpu-differs",
    severity: Severity::Warning,
    summary: "every machine has the same GPUs, as many",
    explain: "\
## What it checks
Model and number of the GPUs on every machine: as nvidia-smi lists them, else as the bus shows them.

## Why it matters
A synchronous job runs at the pace of its slowest GPU and fits into the memory of its smallest. An image
needs code for every kind. Where a machine shows fewer than the others, one has often failed.

## How to fix it
Look for a GPU that is missing: `envdoc check --only gpu,pci` on that machine. Where the machines are meant
to be unlike, set `gpus` and `slots` of each node in cluster.yaml.

## Sources
- envdoc's own checks gpu-missing-from-bus and gpu-count-differs, which judge each machine by itself
",
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
