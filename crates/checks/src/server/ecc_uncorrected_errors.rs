//! Memory of a GPU returned data that ECC could not correct.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Fact;
use facts::Facts;
use facts::gpu::{Gpu, names};

pub(super) const CHECK: Check = Check {
    id: "ecc-uncorrected-errors",
    group: Group::Gpu,
    severity: Severity::Error,
    applies: Applies::Gpu,
    summary: "no uncorrectable memory error since the driver was loaded",
    explain: include_str!("ecc_uncorrected_errors.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let erred = |gpu: &Gpu| {
        let counted = gpu.ecc_uncorrected.as_ref().map(|&(volatile, _)| volatile > 0);
        match (counted, &gpu.sram_threshold_exceeded) {
            (_, Fact::Known(true)) => Fact::Known(true),
            (counted, _) => counted,
        }
    };
    super::nvidia_smi_fails::answered(facts)?;
    let found = facts.gpu.found("no GPU here counts ECC errors", erred)?;
    if found.is_empty() {
        return Ok(Verdict::Pass);
    }
    let resets: Vec<String> =
        found.iter().map(|gpu| format!("sudo nvidia-smi --gpu-reset -i {}", gpu.index)).collect();
    let resets: Vec<&str> = resets.iter().map(String::as_str).collect();
    let fix = Fix::restarts_service(
        "Stop every program on the GPU and reset it (if errors return, replace the board):",
        &resets,
    );
    let worn = found.iter().any(|gpu| gpu.sram_threshold_exceeded == Fact::Known(true));
    let more =
        if worn { "; a board exceeded NVIDIA's threshold for SRAM errors and must be replaced" } else { "" };
    let message = format!(
        "uncorrectable memory errors on {}; programs that read the memory were terminated{more}",
        names(&found)
    );
    let verdict = found.iter().fold(
        Verdict::error(message, fix).about(Subject::name(names(&found))),
        |verdict, gpu| {
            let (volatile, aggregate) = gpu.ecc_uncorrected.known().copied().unwrap_or_default();
            verdict.evidence(format!(
                "{}: {volatile} since the driver was loaded, {aggregate} lifetime",
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

    fn counted(volatile: &str, exceeded: &str) -> Facts {
        machine(&[&format!(
            "<ecc_errors><volatile><sram_uncorrectable_parity>0</sram_uncorrectable_parity>\
             <dram_uncorrectable>{volatile}</dram_uncorrectable></volatile><aggregate>\
             <dram_uncorrectable>7</dram_uncorrectable>\
             <sram_threshold_exceeded>{exceeded}</sram_threshold_exceeded></aggregate></ecc_errors>"
        )])
    }

    #[test]
    fn reports_only_current_uncorrected_errors() {
        assert_eq!(kind(&CHECK, &counted("0", "No")), "pass");
        assert_eq!(kind(&CHECK, &counted("2", "No")), "error");
        assert_eq!(kind(&CHECK, &counted("0", "Yes")), "error");
        assert_eq!(kind(&CHECK, &counted("Unknown Error", "No")), "unknown");
        assert_eq!(kind(&CHECK, &machine(&[""])), "not-applicable");
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
    }
}
