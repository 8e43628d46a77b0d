//! A bad row of a GPU's memory waits for its replacement.

use super::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::gpu::{Gpu, names};

/// The check.
pub const CHECK: Check = Check {
    id: "row-remap-pending",
    group: Group::Gpu,
    severity: Severity::Warning,
    applies: Applies::Gpu,
    summary: "no row remap waits for a reset",
    explain: "\
## What it checks
`Remapped Rows: Pending` of `nvidia-smi -q` (Ampere and newer).

## Why it matters
After an uncorrectable error the driver keeps programs off the bad page and swaps the row for a spare one at
the next reset. Work can go on; the memory is whole again only after the reset.

## How to fix it
When the GPU is free, reset it (on NVSwitch systems it is simpler to boot).

## Sources
- https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/error-recovery-and-response-flags.html (pending and
  failure flags, recovery action)
- tests/servers/outputs/nvidia_smi_q/a10-535.129.03-remap-pending-4-uncorrectable.txt
",
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let pending = |gpu: &Gpu| gpu.remapped_rows.as_ref().map(|rows| rows.pending);
    let found = facts.gpu.found("no GPU here reports row remapping", pending)?;
    if found.is_empty() {
        return Ok(Verdict::Pass);
    }
    let resets: Vec<String> =
        found.iter().map(|gpu| format!("sudo nvidia-smi --gpu-reset -i {}", gpu.index)).collect();
    let resets: Vec<&str> = resets.iter().map(String::as_str).collect();
    let says = format!(
        "{}: a bad memory row is replaced at the next reset; until then its page is not used",
        names(&found)
    );
    let fix = Fix::restarts_service("When nothing runs on it, reset the GPU, or boot.", &resets);
    let verdict = found.iter().fold(Verdict::warning(says, fix), |verdict, gpu| {
        let rows = gpu.remapped_rows.known();
        let (correctable, uncorrectable) = rows.map_or((0, 0), |rows| (rows.correctable, rows.uncorrectable));
        verdict.evidence(format!(
            "{}: remap pending; remapped rows: {correctable} after correctable, {uncorrectable} after uncorrectable errors",
            gpu.label()
        ))
    });
    Ok(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kind;
    use facts::testing::{smi::machine, unknown};

    fn rows(pending: &str) -> Facts {
        machine(&[&format!(
            "<remapped_rows><remapped_row_corr>0</remapped_row_corr><remapped_row_unc>4</remapped_row_unc>\
             <remapped_row_pending>{pending}</remapped_row_pending><remapped_row_failure>No</remapped_row_failure></remapped_rows>"
        )])
    }

    #[test]
    fn a_pending_remap_is_a_warning() {
        assert_eq!(kind(&CHECK, &rows("Yes")), "warning");
        assert_eq!(kind(&CHECK, &rows("No")), "pass");
        assert_eq!(kind(&CHECK, &rows("Unknown Error")), "unknown");
        assert_eq!(kind(&CHECK, &machine(&[""])), "not-applicable");
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
    }
}
