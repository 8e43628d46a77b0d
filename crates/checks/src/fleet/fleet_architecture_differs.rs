//! The machines have unlike processors.

use super::FleetCheck;
use super::compare::{self, ARCHITECTURE};
use crate::{Fix, Judged, Severity};
use facts::fleet::Fleet;

/// The check.
pub const CHECK: FleetCheck = FleetCheck {
    id: "fleet-architecture-differs",
    severity: Severity::Error,
    summary: "every machine has the same processor architecture",
    explain: "\
## What it checks
The processor architecture of every machine: x86_64, aarch64.

## Why it matters
An image is made for one architecture. One that was built for two is needed, or containers do not start on
the others: exec format error. Wheels differ, too.

## How to fix it
Build the image for both (`--platform linux/amd64,linux/arm64`) and push it to a registry, or keep such
machines apart.

## Sources
- envdoc's own check image-architecture-mismatch of `envdoc inspect`
",
    judge,
};

fn judge(fleet: &Fleet) -> Judged {
    let fix = Fix::safe("Build the image for each architecture, or keep such machines apart.", &[]);
    compare::same(
        fleet,
        &ARCHITECTURE,
        Severity::Error,
        "one image does not run on all of them unless it was built for each",
        fix,
        "the architecture is not known",
    )
}
