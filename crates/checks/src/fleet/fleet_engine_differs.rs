//! The machines have unlike engines.

use super::FleetCheck;
use super::compare::{self, ENGINE};
use crate::{Fix, Judged, Severity};
use facts::fleet::Fleet;

/// The check.
pub const CHECK: FleetCheck = FleetCheck {
    id: "fleet-engine-differs",
    severity: Severity::Warning,
    summary: "every machine runs the same container engine",
    explain: "\
## What it checks
Kind and version of the container engine on every machine.

## Why it matters
A swarm of unlike engines works within limits: it has the abilities of its oldest member, and a manager
that is older than its workers refuses what they ask for. Podman cannot be in a swarm.

## How to fix it
Bring all machines to one version; managers last, so that the swarm never loses its majority.

## Sources
- moby/moby#37855 and moby/moby#24906 (options of overlay networks that older engines lack)
",
    judge,
};

fn judge(fleet: &Fleet) -> Judged {
    let fix = Fix::restarts_service("Install one version of Docker everywhere, then restart it.", &[]);
    compare::same(
        fleet,
        &ENGINE,
        Severity::Warning,
        "a swarm has the abilities of its oldest engine",
        fix,
        "no machine has an engine",
    )
}
