//! A variable has a value that its reader does not take.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "variable-out-of-range",
    group: Group::Environment,
    severity: Severity::Warning,
    applies: Applies::Anywhere,
    summary: "environment variables have valid values",
    explain: include_str!("variable_out_of_range.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let settings = facts.environment.settings();
    let settings = settings.require("no environment")?;
    let mut any = false;
    for setting in settings.iter().filter(|setting| !setting.value.is_empty()) {
        let Some(row) = facts.catalog.variable(setting.name) else { continue };
        let Some(takes) = row.takes(setting.value) else { continue };
        any = true;
        if takes {
            continue;
        }
        let allowed = row.allowed_text().unwrap_or_default();
        let message =
            format!("{}={} is not a valid value; valid values: {allowed}", setting.name, setting.value);
        let default =
            row.default.as_ref().map(|default| format!(" (default: {default})")).unwrap_or_default();
        let unset = format!("unset {}", setting.name);
        let fix = Fix::safe(format!("Unset the variable, or set a valid value{default}:"), &[&unset]);
        return Ok(Verdict::warning(message, fix)
            .about(Subject::name(setting.name))
            .evidence(format!("set in {}", setting.source)));
    }
    if any {
        Ok(Verdict::Pass)
    } else {
        Err(Verdict::NotApplicable("no variable with a restricted value is set".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{expect, verdict_line};
    use facts::Fact;
    use facts::testing::roles::*;

    fn node(name: &str, value: &str) -> Facts {
        with_variables(gpu_node(), &[(name, value)])
    }

    #[test]
    fn values_out_of_bounds_are_found() {
        expect(&CHECK, &node("NCCL_IB_RETRY_CNT", "13"), "warning", "0..7");
        expect(&CHECK, &node("NCCL_P2P_DISABLE", "yes"), "warning", "0|1");
        expect(&CHECK, &node("NCCL_P2P_LEVEL", "NVLINK"), "warning", "NVL");
        expect(&CHECK, &node("NCCL_DEBUG", "DEBUG"), "warning", "VERSION");
    }

    #[test]
    fn values_within_range_pass() {
        for (name, value) in [
            ("NCCL_IB_RETRY_CNT", "7"),
            ("NCCL_IB_TIMEOUT", "22"),
            ("NCCL_IB_TIMEOUT", "32"),
            ("NCCL_DEBUG", "info"),
            ("NCCL_P2P_LEVEL", "2"),
            ("NCCL_IB_TC", "106"),
        ] {
            assert_eq!(verdict_line(&CHECK, &node(name, value)), "pass", "{name}={value}");
        }
        expect(&CHECK, &node("NCCL_SOCKET_IFNAME", "eth0"), "not-applicable", "");
        expect(&CHECK, &node("NVIDIA_DRIVER_CAPABILITIES", "compute,utility"), "not-applicable", "");
        let mut unread = gpu_node();
        unread.environment.variables = Fact::Unknown("--root".into());
        expect(&CHECK, &unread, "unknown", "");
    }
}
