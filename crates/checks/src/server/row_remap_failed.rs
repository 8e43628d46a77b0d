//! A GPU could not replace a bad row of its memory.

use crate::{Applies, Check, Fix, FixClass, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;
use facts::gpu::{Gpu, names};

pub(super) const CHECK: Check = Check {
    id: "row-remap-failed",
    group: Group::Gpu,
    severity: Severity::Error,
    applies: Applies::Gpu,
    summary: "no row remap has failed",
    explain: include_str!("row_remap_failed.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let failed = |gpu: &Gpu| gpu.remapped_rows.as_ref().map(|rows| rows.failure);
    super::nvidia_smi_fails::answered(facts)?;
    let found = facts.gpu.found("no GPU reports row remapping", failed)?;
    if found.is_empty() {
        return Ok(Verdict::Pass);
    }
    let message = format!(
        "row remapping failed on {}; bad memory stays in use until the board is replaced",
        names(&found)
    );
    let fix = Fix {
        class: FixClass::Manual,
        ..Fix::safe(
            "Take the GPU out of service and replace the board; check its state with:",
            &["nvidia-smi -q -d ROW_REMAPPER"],
        )
    };
    let verdict = found.iter().fold(
        Verdict::error(message, fix).about(Subject::name(names(&found))),
        |verdict, gpu| {
            let rows = gpu.remapped_rows.known();
            let (correctable, uncorrectable) =
                rows.map_or((0, 0), |rows| (rows.correctable, rows.uncorrectable));
            verdict.evidence(format!(
            "{}: remapping failure; remapped rows: {correctable} after correctable, {uncorrectable} after \
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

    fn rows(failure: &str) -> Facts {
        machine(&[&format!(
            "<remapped_rows><remapped_row_corr>0</remapped_row_corr>\
             <remapped_row_unc>1</remapped_row_unc><remapped_row_pending>No</remapped_row_pending>\
             <remapped_row_failure>{failure}</remapped_row_failure></remapped_rows>"
        )])
    }

    #[test]
    fn a_failed_remap_is_an_error() {
        assert_eq!(kind(&CHECK, &rows("Yes")), "error");
        assert_eq!(kind(&CHECK, &rows("No")), "pass");
        assert_eq!(kind(&CHECK, &rows("Unknown Error")), "unknown");
        assert_eq!(kind(&CHECK, &machine(&["<remapped_rows>N/A</remapped_rows>"])), "not-applicable");
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
    }
}
