//! A page of a GPU's memory waits to be retired.

use super::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::gpu::names;

/// The check.
pub const CHECK: Check = Check {
    id: "retired-pages-pending",
    group: Group::Gpu,
    severity: Severity::Warning,
    applies: Applies::Gpu,
    summary: "no memory page waits to be retired",
    explain: "\
## What it checks
`Pending Page Blacklist` of `nvidia-smi -q` (boards before Ampere).

## Why it matters
After a double-bit error, or several single-bit errors at one place, the page is taken out of use when the
driver starts anew. Until then programs can still be given the bad page.

## How to fix it
Reload the driver when nothing uses the GPU, or boot.

## Sources
- https://docs.nvidia.com/deploy/dynamic-page-retirement/visibility.html
- tests/servers/outputs/nvidia_smi_q/retired-pages-x8-535.86.10-bad.txt
",
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let found = facts.gpu.found("no GPU here retires pages", |gpu| gpu.retired_pages_pending.clone())?;
    if found.is_empty() {
        return Ok(Verdict::Pass);
    }
    let says = format!(
        "{}: a bad memory page is taken out of use only when the driver is loaded anew",
        names(&found)
    );
    let fix =
        Fix::needs_reboot("Boot, or unload and load the driver while nothing uses a GPU.", &["sudo reboot"]);
    let verdict = Verdict::warning(says, fix);
    Ok(found
        .iter()
        .fold(verdict, |verdict, gpu| verdict.evidence(format!("{}: page retirement pending", gpu.label()))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kind;
    use facts::testing::{smi::machine, unknown};

    #[test]
    fn a_pending_retirement_is_a_warning() {
        let pages = |pending: &str| {
            machine(&[&format!(
                "<retired_pages><pending_retirement>{pending}</pending_retirement></retired_pages>"
            )])
        };
        assert_eq!(kind(&CHECK, &pages("Yes")), "warning");
        assert_eq!(kind(&CHECK, &pages("No")), "pass");
        assert_eq!(kind(&CHECK, &pages("N/A")), "not-applicable");
        assert_eq!(kind(&CHECK, &pages("ERR!")), "unknown");
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
    }
}
