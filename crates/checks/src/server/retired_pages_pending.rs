//! A page of a GPU's memory waits to be retired.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::gpu::names;

pub const CHECK: Check = Check {
    id: "retired-pages-pending",
    group: Group::Gpu,
    severity: Severity::Warning,
    applies: Applies::Gpu,
    summary: "no memory page waits to be retired",
    explain: include_str!("retired_pages_pending.md"),
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
