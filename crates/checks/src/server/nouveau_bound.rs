//! The open-source driver nouveau has a GPU.

use crate::distribution::{Family, family};
use crate::gpu::IN_KERNEL_DRIVERS;
use crate::gpu::name;
use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::pci::Device;

pub(super) const CHECK: Check = Check {
    id: "nouveau-bound",
    group: Group::Driver,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "no GPU is bound to nouveau, the in-kernel driver",
    explain: include_str!("nouveau_bound.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    facts.pci.devices.require("no PCI bus")?;
    let gpus: Vec<&Device> = facts.pci.gpus().collect();
    let mut bound = Vec::new();
    let mut nvidia = false;
    for gpu in &gpus {
        match gpu.driver.decided()? {
            Some(driver) if IN_KERNEL_DRIVERS.contains(&driver.as_str()) => bound.push((*gpu, driver)),
            Some(driver) => nvidia |= driver == "nvidia",
            None => {}
        }
    }
    let Some((_, driver)) = bound.first() else {
        return Ok(match gpus.is_empty() {
            true => Verdict::NotApplicable("no NVIDIA GPU on the PCI bus".into()),
            false => Verdict::Pass,
        });
    };
    let message = format!(
        "{} of {} NVIDIA GPUs are bound to the in-kernel driver {driver}; CUDA needs the NVIDIA driver",
        bound.len(),
        gpus.len()
    );
    // A display card of its own next to working GPUs is a common choice.
    let verdict =
        if nvidia { Verdict::warning(message, fix(facts)) } else { Verdict::error(message, fix(facts)) };
    Ok(bound.iter().fold(verdict, |verdict, (gpu, driver)| {
        verdict.evidence(format!("{} {}: driver {driver}", gpu.address, name(facts, gpu)))
    }))
}

fn fix(facts: &Facts) -> Fix {
    const FORBID: &str = "printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' | sudo tee \
                          /etc/modprobe.d/blacklist-nouveau.conf";
    const TEXT: &str = "Block nouveau and reboot (install the NVIDIA driver before the reboot if it is not \
                        installed):";
    match family(facts) {
        Family::Ubuntu | Family::Debian => {
            Fix::needs_reboot(TEXT, &[FORBID, "sudo update-initramfs -u", "sudo reboot"])
        }
        Family::Rhel | Family::Fedora => {
            Fix::needs_reboot(TEXT, &[FORBID, "sudo dracut --force", "sudo reboot"])
        }
        Family::Other => Fix::needs_reboot(
            "Block nouveau, rebuild the initial RAM disk, install the NVIDIA driver and reboot:",
            &[FORBID],
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::{
        pci::gpu,
        server::{first, server},
    };

    #[test]
    fn nouveau_is_an_error_unless_other_gpus_work() {
        expect(&CHECK, &server(|_| {}), "pass", "");
        let nouveau = server(|f| first(f, |gpu| gpu.driver = Fact::Known("nouveau".into())));
        expect(&CHECK, &nouveau, "error", "1 of 1");
        let mut both = nouveau.clone();
        if let Fact::Known(devices) = &mut both.pci.devices {
            devices.push(gpu("0000:43:00.0"));
        }
        expect(&CHECK, &both, "warning", "1 of 2");
        expect(&CHECK, &server(|f| first(f, |gpu| gpu.driver = Fact::Unknown("x".into()))), "unknown", "x");
    }
}
