//! The machines have unlike container toolkits.

use super::FleetCheck;
use super::compare::{self, TOOLKIT};
use crate::{Fix, Judged, Severity};
use facts::fleet::Fleet;

/// The check.
pub const CHECK: FleetCheck = FleetCheck {
    id: "fleet-toolkit-differs",
    severity: Severity::Warning,
    summary: "every machine has the same NVIDIA Container Toolkit",
    explain: "\
## What it checks
The version of the NVIDIA Container Toolkit on every machine.

## Why it matters
The toolkit decides which devices, libraries and variables a container gets. With unlike versions the same
compose file gives unlike containers, and what works on one machine fails on another.

## How to fix it
Install one version everywhere.

## Sources
- envdoc's own checks toolkit-too-old and toolkit-vulnerable, which judge each version by itself
",
    judge,
};

fn judge(fleet: &Fleet) -> Judged {
    let fix = Fix::restarts_service(
        "Install one version of nvidia-container-toolkit everywhere, then restart Docker.",
        &[],
    );
    compare::same(
        fleet,
        &TOOLKIT,
        Severity::Warning,
        "the same compose file gives unlike containers",
        fix,
        "no machine has the toolkit",
    )
}
