//! A page of a GPU's memory waits to be retired.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;
use facts::gpu::names;

pub(super) const CHECK: Check = Check {
    id: "retired-pages-pending",
    group: Group::Gpu,
    severity: Severity::Warning,
    applies: Applies::Gpu,
    summary: "no memory page is pending retirement",
    explain: include_str!("retired_pages_pending.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    super::nvidia_smi_fails::answered(facts)?;
    let found = facts.gpu.found("no GPU reports page retirement", |gpu| gpu.retired_pages_pending.clone())?;
    if found.is_empty() {
        return Ok(Verdict::Pass);
    }
    let verb = if found.len() == 1 { "has" } else { "have" };
    let message =
        format!("{} {verb} a bad memory page that stays in use until the driver is reloaded", names(&found));
    let fix = Fix::needs_reboot("Reboot, or reload the driver while nothing uses a GPU:", &["sudo reboot"]);
    let verdict = Verdict::warning(message, fix).about(Subject::name(names(&found)));
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
