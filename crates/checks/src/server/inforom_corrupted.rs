//! A GPU's own configuration memory is damaged.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "inforom-corrupted",
    group: Group::Gpu,
    severity: Severity::Warning,
    applies: Applies::Gpu,
    summary: "no GPU has a corrupted infoROM",
    explain: include_str!("inforom_corrupted.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    super::nvidia_smi_fails::answered(facts)?;
    facts.gpu.list.require("nvidia-smi not found")?;
    let warnings: Vec<&String> = facts.gpu.inforom_warnings().collect();
    if warnings.is_empty() {
        return Ok(Verdict::Pass);
    }
    let message = "the infoROM of a GPU is corrupted: its error counters are unreliable, and nvidia-smi \
                   exits with status 14, which other programs treat as a failure";
    let fix = Fix::needs_reboot("Reboot; if the warning remains, replace the board:", &["sudo reboot"]);
    Ok(warnings.into_iter().fold(Verdict::warning(message, fix), Verdict::evidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kind;
    use facts::testing::{
        smi::{machine, said},
        unknown,
    };
    use host::Reading;

    #[test]
    fn detects_inforom_warning_after_the_xml() {
        let stdout = "<nvidia_smi_log></nvidia_smi_log>\nWARNING: infoROM is corrupted at gpu 0000:0B:00.0\n";
        let corrupted = said(Reading::Ran { status: Some(14), stdout: stdout.into(), stderr: String::new() });
        assert_eq!(kind(&CHECK, &corrupted), "warning");
        assert_eq!(kind(&CHECK, &machine(&[""])), "pass");
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
    }
}
