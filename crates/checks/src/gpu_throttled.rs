//! A GPU slows itself down because of heat or power supply.

use super::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Fact;
use facts::Facts;
use facts::gpu::{Gpu, names};

/// The check.
pub const CHECK: Check = Check {
    id: "gpu-throttled",
    group: Group::Gpu,
    severity: Severity::Warning,
    applies: Applies::Gpu,
    summary: "no GPU is slowed down by heat or its power supply",
    explain: "\
## What it checks
The reasons for lower clocks that are active at this moment. \"SW power cap\" alone is how a loaded GPU keeps
to its power limit and no finding; neither is idleness.

## Why it matters
A hardware slowdown halves the clocks or worse. In a job over many GPUs all wait for the slowest, so that
one throttled GPU slows the whole job.

## How to fix it
Thermal: look at fans, airflow, inlet temperature, and at the seat of the heat sink. Power brake: the power
supplies or the board management asked for it; look at their state and cables. If it stays after that, have
the board checked.

## Sources
- https://docs.nvidia.com/deploy/nvml-api/api/group__nvmlClocksEventReasons.html
- https://docs.nvidia.com/datacenter/dcgm/2.4/dcgm-api/dcgm-api-field-constants.html (reasons for lower
  clocks)
- tests/servers/outputs/nvidia_smi_q/h100-sxm-x8-535.161.08-all-hw-power-brake.txt
",
    judge,
};

/// Reasons that a healthy GPU does not show, and what they mean. `hw_slowdown` goes with each of the others of the hardware.
const REASONS: &[(&str, &str)] = &[
    ("hw_thermal_slowdown", "too hot: clocks are cut by half or more"),
    ("hw_power_brake_slowdown", "the power supply asked for less: clocks are cut by half or more"),
    ("sw_thermal_slowdown", "too hot: the driver lowers the clocks"),
    ("hw_slowdown", "the hardware cut the clocks by half or more"),
];

fn reasons(gpu: &Gpu) -> Fact<Vec<&'static (&'static str, &'static str)>> {
    gpu.throttling
        .as_ref()
        .map(|active| REASONS.iter().filter(|(name, _)| active.iter().any(|a| a == name)).collect())
}

fn judge(facts: &Facts) -> Judged {
    let found = facts.gpu.found("no GPU here reports why its clocks are low", |gpu| {
        reasons(gpu).map(|active| !active.is_empty())
    })?;
    if found.is_empty() {
        return Ok(Verdict::Pass);
    }
    let heat = found
        .iter()
        .any(|gpu| gpu.throttling.known().is_some_and(|active| active.iter().any(|a| a.contains("thermal"))));
    let text = if heat {
        "Check fans, airflow and inlet temperature."
    } else {
        "Check the power supplies and their cables."
    };
    let fix = Fix::safe(text, &["nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER"]);
    let verb = if found.len() == 1 { "is" } else { "are" };
    let says = format!(
        "{} {verb} slowed down now; a job over several GPUs runs at the speed of the slowest",
        names(&found)
    );
    let verdict = found.iter().fold(Verdict::warning(says, fix), |verdict, gpu| {
        let active = reasons(gpu).known().cloned().unwrap_or_default();
        let first = active.first().map_or(String::new(), |(name, meaning)| format!("{name} ({meaning})"));
        let degrees = gpu.temperature.known().map_or(String::new(), |degrees| format!(", {degrees} C"));
        verdict.evidence(format!("{}: {first}{degrees}", gpu.label()))
    });
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
