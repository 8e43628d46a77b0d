//! NVIDIA_VISIBLE_DEVICES keeps GPUs out of this container.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "nvidia-visible-devices-void",
    group: Group::Environment,
    severity: Severity::Error,
    applies: Applies::Container,
    summary: "NVIDIA_VISIBLE_DEVICES does not hide GPUs from a container that needs them",
    explain: include_str!("nvidia_visible_devices_void.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let settings = facts.environment.settings();
    let settings = settings.require("no environment")?;
    let setting = settings.iter().find(|setting| setting.name == "NVIDIA_VISIBLE_DEVICES");
    let Some(setting) = setting.filter(|setting| matches!(setting.value, "void" | "none" | "")) else {
        return Err(Verdict::NotApplicable("NVIDIA_VISIBLE_DEVICES hides no GPU".into()));
    };
    // Kubernetes sets void where GPUs come by another way (CDI, volume mounts).
    if facts.driver.device_nodes.decided()?.is_some_and(|nodes| !nodes.gpus.is_empty()) {
        return Ok(Verdict::Pass);
    }
    if facts.expected.gpus.is_none_or(|count| count == 0) {
        return Err(Verdict::NotApplicable("no GPU is expected here (--expect gpus=N)".into()));
    }
    let message = format!("NVIDIA_VISIBLE_DEVICES={} hides every GPU from this container", setting.value);
    let fix = Fix::restarts_service("Restart the container with GPUs:", &["docker run --gpus all …"]);
    Ok(Verdict::error(message, fix).about(Subject::name(setting.name)).evidence("no /dev/nvidiaN"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::roles::*;

    use facts::driver::DeviceNodes;

    #[test]
    fn void_is_found_where_a_gpu_is_expected() {
        let mut facts = with_variables(gpu_container(), &[("NVIDIA_VISIBLE_DEVICES", "void")]);
        facts.driver.device_nodes = Fact::Absent;
        expect(&CHECK, &facts, "error", "void");
        facts.driver.device_nodes = Fact::Known(DeviceNodes { gpus: vec![0], ..Default::default() });
        expect(&CHECK, &facts, "pass", "");
        facts.driver.device_nodes = Fact::Unknown("permission denied".into());
        expect(&CHECK, &facts, "unknown", "");
        expect(
            &CHECK,
            &with_variables(gpu_container(), &[("NVIDIA_VISIBLE_DEVICES", "all")]),
            "not-applicable",
            "",
        );
    }
}
