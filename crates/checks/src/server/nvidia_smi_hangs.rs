//! `nvidia-smi` does not come back.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::gpu::Failure;
use facts::{Facts, Missing, MissingKind};

pub(super) const CHECK: Check = Check {
    id: "nvidia-smi-hangs",
    group: Group::Gpu,
    severity: Severity::Error,
    applies: Applies::Gpu,
    summary: "nvidia-smi responds in time",
    explain: include_str!("nvidia_smi_hangs.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    match (&facts.gpu.failure, &facts.gpu.list) {
        (Some(Failure::Hung(why)), _) => match cause(facts) {
            Some(check) => Ok(Verdict::NotApplicable(format!("see {}", check.id))),
            None => Ok(hung(facts, why)),
        },
        (Some(Failure::Ended { .. }), _) => Ok(Verdict::Pass),
        (None, list) => {
            list.require("nvidia-smi not found")?;
            Ok(Verdict::Pass)
        }
    }
}

/// The check that finds why it hangs.
pub(super) fn cause(facts: &Facts) -> Option<&'static Check> {
    crate::root(&[&super::gpu_not_answering_on_bus::CHECK], facts)
}

/// Seconds after which slow GPUs are no explanation any more: `gpu::gather` itself waits 20.
const LONG: f32 = 15.0;

fn hung(facts: &Facts, why: &Missing) -> Verdict {
    let lost =
        facts.kernel_log.xids.known().into_iter().flatten().find(|xid| [79, 119, 120].contains(&xid.number));
    let waited = match why.kind {
        MissingKind::TimedOut { milliseconds } => milliseconds.map(|ms| ms as f32 / 1000.0),
        _ => None,
    };
    if lost.is_none() && waited.is_none_or(|waited| waited < LONG) {
        let waited = waited.map_or_else(String::new, |waited| format!(" within {waited:.1} s"));
        let message = format!(
            "nvidia-smi did not respond{waited}; either the driver is still initializing the GPUs (slow \
             without persistence mode), or a GPU does not respond"
        );
        let fix = Fix::safe("Check again with a longer timeout:", &["envdoc check --timeout 30"]);
        return Verdict::warning(message, fix).evidence(why.to_string());
    }
    let message = "nvidia-smi hangs because the driver waits for a GPU that does not respond; programs that \
                   open a GPU now hang too";
    let fix = Fix::needs_reboot(
        "Find the GPU that does not respond in the kernel log (Xid 79, 119, 120), then reboot to end the \
         hang:",
        &["sudo dmesg | grep -e NVRM -e Xid | tail -n 50", "sudo reboot"],
    );
    let verdict = Verdict::error(message, fix).evidence(why.to_string());
    lost.map_or(verdict.clone(), |xid| verdict.evidence(xid.line.as_str()))
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
    fn hang_is_distinguished_from_failure() {
        let after = |milliseconds| {
            let kind = MissingKind::TimedOut { milliseconds: Some(milliseconds) };
            said(Reading::Failed(Missing::new(kind, "`nvidia-smi` was stopped")))
        };
        let hung = after(20_000);
        assert_eq!(kind(&CHECK, &hung), "error");
        let slow = after(1_900);
        assert_eq!(kind(&CHECK, &slow), "warning");
        let failed = said(Reading::Ran {
            status: Some(9),
            stdout: "NVIDIA-SMI has failed".into(),
            stderr: String::new(),
        });
        assert_eq!(kind(&CHECK, &failed), "pass");
        assert_eq!(kind(&CHECK, &machine(&[""])), "pass");
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
    }
}
