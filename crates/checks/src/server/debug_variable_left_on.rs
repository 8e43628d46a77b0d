//! A variable for finding faults is still set.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;
use judge::debug_variables::effect;

/// `debug-variable-left-on`.
pub(super) const CHECK: Check = Check {
    id: "debug-variable-left-on",
    group: Group::Environment,
    severity: Severity::Warning,
    applies: Applies::Gpu,
    summary: "no debugging variable is set",
    explain: include_str!("debug_variable_left_on.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let settings = facts.environment.settings();
    let settings = settings.require("no environment")?;
    let log = settings.iter().any(|setting| {
        setting.name == "NCCL_DEBUG"
            && ["INFO", "TRACE"].iter().any(|on| setting.value.eq_ignore_ascii_case(on))
    });
    let mut found = Vec::new();
    for setting in settings {
        let Some(effect) = effect(setting.name, setting.value, log) else { continue };
        found.push((setting, effect));
    }
    let Some((first, effect)) = found.first() else { return Ok(Verdict::Pass) };
    let message = format!("debugging variable {}={} is still set: {effect}", first.name, first.value);
    let unset: Vec<String> = found.iter().map(|(setting, _)| format!("unset {}", setting.name)).collect();
    let commands: Vec<&str> = unset.iter().map(String::as_str).collect();
    let verdict = Verdict::warning(message, Fix::safe("Remove it where it is set:", &commands))
        .about(Subject::name(first.name));
    Ok(found.iter().fold(verdict, |verdict, (setting, effect)| {
        verdict.evidence(format!("{}={} in {}: {effect}", setting.name, setting.value, setting.source))
    }))
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
    fn reports_enabled_debug_variables() {
        expect(&CHECK, &node("CUDA_LAUNCH_BLOCKING", "1"), "warning", "waits for every kernel");
        expect(&CHECK, &node("NCCL_DEBUG", "TRACE"), "warning", "logged");
        for (name, value) in
            [("CUDA_LAUNCH_BLOCKING", "0"), ("NCCL_DEBUG", "INFO"), ("NCCL_DEBUG_SUBSYS", "ALL")]
        {
            assert_eq!(verdict_line(&CHECK, &node(name, value)), "pass", "{name}={value}");
        }
        expect(&CHECK, &build_host(), "not-applicable", "");
        let mut unread = gpu_node();
        unread.environment.variables = Fact::Unknown("--root".into());
        expect(&CHECK, &unread, "unknown", "");
    }
}
