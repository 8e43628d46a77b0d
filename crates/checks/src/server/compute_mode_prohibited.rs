//! A GPU refuses every CUDA program.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;
use facts::gpu::{ComputeMode, names};

pub(super) const CHECK: Check = Check {
    id: "compute-mode-prohibited",
    group: Group::Gpu,
    severity: Severity::Error,
    applies: Applies::Gpu,
    summary: "every GPU accepts CUDA programs",
    explain: include_str!("compute_mode_prohibited.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    super::nvidia_smi_fails::answered(facts)?;
    let found = facts.gpu.found("no GPU reports a compute mode", |gpu| {
        gpu.compute_mode.as_ref().map(|mode| *mode == ComputeMode::Prohibited)
    })?;
    if found.is_empty() {
        return Ok(Verdict::Pass);
    }
    let commands: Vec<String> =
        found.iter().map(|gpu| format!("sudo nvidia-smi -i {} -c DEFAULT", gpu.index)).collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let verb = if found.len() == 1 { "is" } else { "are" };
    let message = format!("{} {verb} in compute mode Prohibited; no CUDA program can use it", names(&found));
    let verdict = Verdict::error(message, Fix::safe("Set the compute mode to Default:", &commands))
        .about(Subject::name(names(&found)));
    Ok(found
        .iter()
        .fold(verdict, |verdict, gpu| verdict.evidence(format!("{}: compute_mode Prohibited", gpu.label()))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kind;
    use facts::testing::{smi::machine, unknown};

    #[test]
    fn only_prohibited_is_a_finding() {
        let mode = |mode: &str| machine(&[&format!("<compute_mode>{mode}</compute_mode>")]);
        assert_eq!(kind(&CHECK, &mode("Prohibited")), "error");
        assert_eq!(kind(&CHECK, &mode("Exclusive_Process")), "pass");
        assert_eq!(kind(&CHECK, &mode("Default")), "pass");
        assert_eq!(kind(&CHECK, &mode("Unknown Error")), "unknown");
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
    }
}
