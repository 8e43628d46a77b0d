//! A GPU slows itself down because of heat or power supply.

use catalog::throttle_reasons::{Kind, ThrottleReason};

use crate::{Applies, Check, Fix, FixClass, Group, Judged, Severity, Subject, Verdict};
use facts::Fact;
use facts::Facts;
use facts::gpu::{Gpu, names};

pub(super) const CHECK: Check = Check {
    id: "gpu-throttled",
    group: Group::Gpu,
    severity: Severity::Warning,
    applies: Applies::Gpu,
    summary: "no GPU is throttled because of heat or power supply",
    explain: include_str!("gpu_throttled.md"),
    judge,
};

/// The faults that are active, the one to show first at the start.
fn faults<'a>(facts: &'a Facts, gpu: &Gpu) -> Fact<Vec<&'a ThrottleReason>> {
    let rows = facts.catalog.throttle_reasons();
    gpu.throttling.as_ref().map(|active| rows.faults().filter(|row| active.contains(&row.name)).collect())
}

fn judge(facts: &Facts) -> Judged {
    super::nvidia_smi_fails::answered(facts)?;
    let found = facts.gpu.found("no GPU reports throttling reasons", |gpu| {
        faults(facts, gpu).map(|active| !active.is_empty())
    })?;
    if found.is_empty() {
        return Ok(Verdict::Pass);
    }
    let heat = found.iter().any(|gpu| {
        faults(facts, gpu).known().is_some_and(|active| active.iter().any(|row| row.kind == Kind::Heat))
    });
    let text = if heat {
        "Check fans, airflow and inlet temperature:"
    } else {
        "Check the power supplies and their cables:"
    };
    let fix = Fix {
        class: FixClass::Manual,
        ..Fix::safe(text, &["nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER"])
    };
    let verb = if found.len() == 1 { "is" } else { "are" };
    let message = format!(
        "{} {verb} throttled now; a multi-GPU job runs at the speed of the slowest GPU",
        names(&found)
    );
    let verdict = found.iter().fold(
        Verdict::warning(message, fix).about(Subject::name(names(&found))),
        |verdict, gpu| {
            let active = faults(facts, gpu).known().cloned().unwrap_or_default();
            let shown = |row: &&ThrottleReason| match &row.meaning {
                Some(meaning) => format!("{} ({meaning})", row.name),
                None => row.name.clone(),
            };
            let first = active.first().map_or(String::new(), shown);
            let degrees = gpu.temperature.known().map_or(String::new(), |degrees| format!(", {degrees} C"));
            verdict.evidence(format!("{}: {first}{degrees}", gpu.label()))
        },
    );
    Ok(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kind;
    use facts::testing::{smi::machine, unknown};

    #[test]
    fn a_power_cap_is_normal_and_a_brake_is_not() {
        let active = |names: &[&str]| {
            let reasons: String =
                ["gpu_idle", "sw_power_cap", "hw_slowdown", "hw_power_brake_slowdown", "hw_thermal_slowdown"]
                    .iter()
                    .map(|name| {
                        let state = if names.contains(name) { "Active" } else { "Not Active" };
                        format!("<clocks_event_reason_{name}>{state}</clocks_event_reason_{name}>")
                    })
                    .collect();
            machine(&[&format!("<clocks_event_reasons>{reasons}</clocks_event_reasons>")])
        };
        assert_eq!(kind(&CHECK, &active(&["sw_power_cap", "gpu_idle"])), "pass");
        assert_eq!(kind(&CHECK, &active(&["hw_slowdown", "hw_power_brake_slowdown"])), "warning");
        assert_eq!(kind(&CHECK, &active(&["hw_thermal_slowdown"])), "warning");
        assert_eq!(kind(&CHECK, &machine(&[""])), "not-applicable");
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
    }
}
