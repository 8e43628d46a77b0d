//! CUDA_VISIBLE_DEVICES names GPUs that do not exist, and hides others by it.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::{Fact, Facts};

pub(super) const CHECK: Check = Check {
    id: "cuda-visible-devices-hides-gpus",
    group: Group::Environment,
    severity: Severity::Error,
    applies: Applies::Gpu,
    summary: "CUDA_VISIBLE_DEVICES names GPUs that exist",
    explain: include_str!("cuda_visible_devices_hides_gpus.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let settings = facts.environment.settings();
    let settings = settings.require("no environment")?;
    // Set to nothing is not the same as not set.
    let Some(setting) = settings.iter().find(|setting| setting.name == "CUDA_VISIBLE_DEVICES") else {
        return Err(Verdict::NotApplicable("CUDA_VISIBLE_DEVICES is not set".into()));
    };
    let assignment = format!("CUDA_VISIBLE_DEVICES={} in {}", setting.value, setting.source);
    let fix = || Fix::safe("Remove CUDA_VISIBLE_DEVICES where it is set:", &["unset CUDA_VISIBLE_DEVICES"]);
    let entries: Vec<&str> = setting.value.split(',').map(str::trim).collect();
    let first = entries.first().copied().unwrap_or_default();
    if first.is_empty() || first.starts_with('-') || first == "NoDevFiles" {
        let message = format!("CUDA_VISIBLE_DEVICES={:?} hides every GPU", setting.value);
        return Ok(Verdict::error(message, fix()).about(Subject::name(setting.name)).evidence(assignment));
    }
    let numbers: Vec<u64> = entries.iter().map_while(|entry| entry.parse().ok()).collect();
    if numbers.is_empty() {
        return Err(Verdict::NotApplicable("CUDA_VISIBLE_DEVICES names GPUs by UUID".into()));
    }
    let count = match &facts.gpu.list {
        Fact::Known(gpus) => gpus.len() as u64,
        _ => facts.driver.proc_gpus.require("the driver is not loaded")?.len() as u64,
    };
    let Some(at) = numbers.iter().position(|number| *number >= count) else { return Ok(Verdict::Pass) };
    let hidden = entries.len() - at;
    let message = format!(
        "CUDA_VISIBLE_DEVICES names GPU {}, but this machine has {count} (numbered from 0); CUDA ignores \
         that entry and all after it ({hidden})",
        numbers[at]
    );
    let verdict = if at == 0 {
        Verdict::error(message, fix()).about(Subject::name(setting.name))
    } else {
        Verdict::warning(message, fix()).about(Subject::name(setting.name))
    };
    Ok(verdict.evidence(assignment))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::roles::*;

    fn node(value: &str, gpus: usize) -> Facts {
        let mut facts = with_variables(gpu_node(), &[("CUDA_VISIBLE_DEVICES", value)]);
        facts.gpu.list = Fact::Absent;
        facts.driver.proc_gpus = Fact::Known((0..gpus).map(|at| format!("0000:{at:02x}:00.0")).collect());
        facts
    }

    #[test]
    fn lists_that_hide_gpus_are_found() {
        expect(&CHECK, &node("", 8), "error", "hides every GPU");
        expect(&CHECK, &node("-1", 8), "error", "hides every GPU");
        expect(&CHECK, &node("8", 8), "error", "GPU 8");
        expect(&CHECK, &node("0,1,2,3", 2), "warning", "GPU 2");
        expect(&CHECK, &node("3,1", 8), "pass", "");
        expect(&CHECK, &node("GPU-8932f937", 8), "not-applicable", "");
        expect(&CHECK, &gpu_node(), "not-applicable", "");
        let mut unread = node("0", 1);
        unread.driver.proc_gpus = Fact::Unknown("permission denied".into());
        expect(&CHECK, &unread, "unknown", "");
    }
}
