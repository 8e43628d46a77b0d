//! A GPU that works has a PCIe link of a lower generation than it could have.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "pcie-link-slow",
    group: Group::Pci,
    severity: Severity::Warning,
    applies: Applies::GpuHost,
    summary: "busy GPUs have their PCIe link at full speed",
    explain: include_str!("pcie_link_slow.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    if facts.system.virtualisation.decided()?.is_some() {
        return Ok(Verdict::NotApplicable("a virtual machine does not show the real PCIe port".into()));
    }
    super::nvidia_smi_fails::answered(facts)?;
    let gpus = facts.gpu.list.require("nvidia-smi not found")?;
    let mut busy = 0;
    let mut slow = Vec::new();
    for gpu in gpus {
        let working = gpu.utilization.decided()?.is_some_and(|percent| *percent > 0);
        let state = gpu.performance_state.decided()?.map_or("", String::as_str);
        let Some((now, most)) = gpu.pcie_generation.decided()? else { continue };
        if !working || !["P0", "P1", "P2"].contains(&state) {
            continue;
        }
        busy += 1;
        if now < most {
            slow.push((gpu, now, most));
        }
    }
    if busy == 0 {
        return Ok(Verdict::NotApplicable("the GPUs are idle; idle GPUs slow down their links".into()));
    }
    let Some((gpu, now, most)) = slow.first() else { return Ok(Verdict::Pass) };
    let message = format!(
        "{} {} runs its PCIe link at generation {now} instead of {most} under load ({} of {busy} busy GPUs); \
         transfers take longer",
        gpu.address,
        gpu.name,
        slow.len()
    );
    let fix = Fix::needs_reboot(
        "Look for PCIe errors, reseat the board, riser or cable, and check that the firmware does not limit \
         the slot:",
        &["sudo dmesg | grep -i -E 'aer|pcie bus error'"],
    );
    Ok(slow.iter().fold(
        Verdict::warning(message, fix).about(Subject::name(gpu.address.clone())),
        |verdict, (gpu, now, most)| {
            verdict.evidence(format!("{} {}: generation {now} of {most}", gpu.address, gpu.name))
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::files;
    use facts::testing::server::server;

    fn running(percent: u32, state: &str, generation: (u32, u32)) -> Facts {
        let mut gpu = files::gpu("NVIDIA H100 80GB HBM3 9.0");
        gpu.utilization = Fact::Known(percent);
        gpu.performance_state = Fact::Known(state.into());
        gpu.pcie_generation = Fact::Known(generation);
        server(|f| f.gpu.list = Fact::Known(vec![gpu]))
    }

    #[test]
    fn only_the_links_of_working_gpus_are_judged() {
        expect(&CHECK, &running(97, "P0", (5, 5)), "pass", "");
        expect(&CHECK, &running(97, "P0", (3, 5)), "warning", "generation 3 instead of 5");
        expect(&CHECK, &running(0, "P8", (1, 4)), "not-applicable", "idle");
        expect(&CHECK, &running(0, "P0", (1, 4)), "not-applicable", "idle");
        expect(&CHECK, &server(|f| f.gpu.list = Fact::Unknown("hangs".into())), "unknown", "hangs");
        expect(&CHECK, &server(|f| f.gpu.list = Fact::Absent), "not-applicable", "nvidia-smi not found");
    }
}
