//! A bad row of a GPU's memory waits for its replacement.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;
use facts::gpu::{Gpu, names};

pub(super) const CHECK: Check = Check {
    id: "row-remap-pending",
    group: Group::Gpu,
    severity: Severity::Warning,
    applies: Applies::Gpu,
    summary: "no row remap is pending",
    explain: include_str!("row_remap_pending.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let pending = |gpu: &Gpu| gpu.remapped_rows.as_ref().map(|rows| rows.pending);
    super::nvidia_smi_fails::answered(facts)?;
    let found = facts.gpu.found("no GPU reports row remapping", pending)?;
    if found.is_empty() {
        return Ok(Verdict::Pass);
    }
    let resets: Vec<String> =
        found.iter().map(|gpu| format!("sudo nvidia-smi --gpu-reset -i {}", gpu.index)).collect();
    let resets: Vec<&str> = resets.iter().map(String::as_str).collect();
    let message = format!(
        "{}: a bad memory row is remapped at the next reset; until then its page is not used",
        names(&found)
    );
    let fix = Fix::restarts_service("Reset the GPU while nothing uses it (or reboot):", &resets);
    let verdict = found.iter().fold(
        Verdict::warning(message, fix).about(Subject::name(names(&found))),
        |verdict, gpu| {
            let rows = gpu.remapped_rows.known();
            let (correctable, uncorrectable) =
                rows.map_or((0, 0), |rows| (rows.correctable, rows.uncorrectable));
            verdict.evidence(format!(
                "{}: remap pending; remapped rows: {correctable} after correctable, {uncorrectable} after \
                 uncorrectable errors",
                gpu.label()
            ))
        },
    );
    Ok(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kind;
    use facts::testing::{smi::machine, unknown};

    fn rows(pending: &str) -> Facts {
        machine(&[&format!(
            "<remapped_rows><remapped_row_corr>0</remapped_row_corr>\
             <remapped_row_unc>4</remapped_row_unc>\
             <remapped_row_pending>{pending}</remapped_row_pending>\
             <remapped_row_failure>No</remapped_row_failure></remapped_rows>"
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
