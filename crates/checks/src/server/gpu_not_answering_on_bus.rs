//! A GPU is listed on the bus and does not answer any more.

use crate::gpu::name;
use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "gpu-not-answering-on-bus",
    group: Group::Pci,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "every GPU on the PCI bus responds",
    explain: include_str!("gpu_not_answering_on_bus.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    facts.pci.devices.require("no PCI bus")?;
    let mut gone = Vec::new();
    let mut examined = 0;
    for gpu in facts.pci.gpus() {
        match gpu.answers.decided()? {
            Some(false) => gone.push(gpu),
            Some(true) => {}
            None => continue,
        }
        examined += 1;
    }
    if gone.is_empty() {
        return Ok(match examined {
            0 => Verdict::NotApplicable("the configuration space of the GPUs is not readable here".into()),
            _ => Verdict::Pass,
        });
    }
    crate::yield_to(&[&super::gpu_fallen_off_bus::CHECK], facts)?;
    let message = format!(
        "{} of {examined} GPUs on the PCI bus do not respond (fallen off the bus); they are unusable until \
         the machine is rebooted or power-cycled",
        gone.len()
    );
    let fix = Fix::needs_reboot(
        "Drain the machine and power-cycle it; if the fault returns, reseat or replace the board:",
        &["sudo dmesg | grep -i -E 'xid|fallen off'", "sudo poweroff"],
    );
    Ok(gone.iter().fold(Verdict::error(message, fix), |verdict, gpu| {
        verdict.evidence(format!("{} {}: configuration space reads ff", gpu.address, name(facts, gpu)))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::server::{first, server};

    #[test]
    fn gpu_that_does_not_respond_on_the_bus_is_an_error() {
        expect(&CHECK, &server(|_| {}), "pass", "");
        let answers = |fact: Fact<bool>| server(|f| first(f, |gpu| gpu.answers = fact));
        expect(&CHECK, &answers(Fact::Known(false)), "error", "1 of 1");
        expect(&CHECK, &answers(Fact::Unknown("x".into())), "unknown", "x");
        expect(&CHECK, &answers(Fact::Absent), "not-applicable", "");
    }
}
