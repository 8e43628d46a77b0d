//! A GPU is on the bus and no driver has it.

use crate::driver::install;
use crate::gpu::{is_pass_through, name};
use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use diagnostic::shell;
use facts::pci::Device;
use facts::{Fact, Facts};

pub(super) const CHECK: Check = Check {
    id: "gpu-without-driver",
    group: Group::Driver,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "every GPU on the PCI bus is bound to the NVIDIA driver",
    explain: include_str!("gpu_without_driver.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    facts.pci.devices.require("no PCI bus")?;
    let gpus: Vec<&Device> = facts.pci.gpus().collect();
    if gpus.is_empty() {
        return Ok(Verdict::NotApplicable("no NVIDIA GPU on the PCI bus".into()));
    }
    let mut without = Vec::new();
    let (mut passed, mut nouveau) = (0, 0);
    for gpu in &gpus {
        match gpu.driver.decided()?.map(String::as_str) {
            Some("nvidia") => {}
            Some(name) if is_pass_through(name) => passed += 1,
            Some(name) if crate::gpu::IN_KERNEL_DRIVERS.contains(&name) => nouveau += 1,
            other => without.push((*gpu, other)),
        }
    }
    if without.is_empty() {
        return Ok(match gpus.len() {
            all if all == passed => {
                Verdict::NotApplicable("every GPU is passed through to virtual machines (vfio-pci)".into())
            }
            _ if nouveau > 0 => Verdict::NotApplicable("see nouveau-bound".into()),
            _ => Verdict::Pass,
        });
    }
    if without.iter().all(|(_, driver)| driver.is_none()) {
        crate::yield_to(causes(facts), facts)?;
    }
    let mut verdict = verdict(facts, &without, gpus.len());
    for (gpu, driver) in without {
        let driver = driver.map_or("no driver".to_owned(), |name| format!("driver {name}"));
        verdict = verdict.evidence(format!("{} {}: {driver}", gpu.address, name(facts, gpu)));
    }
    Ok(verdict)
}

/// The checks that name the cause, where they find it.
fn causes(facts: &Facts) -> &'static [&'static Check] {
    use super::{
        closed_module_on_open_only_gpu, driver_module_not_built, driver_too_new_for_gpu,
        driver_too_old_for_gpu, open_module_on_older_gpu, secure_boot_blocks_driver,
    };
    match facts.driver.module {
        Fact::Known(_) => &[
            &driver_too_old_for_gpu::CHECK,
            &driver_too_new_for_gpu::CHECK,
            &closed_module_on_open_only_gpu::CHECK,
            &open_module_on_older_gpu::CHECK,
        ],
        _ => &[&driver_module_not_built::CHECK, &secure_boot_blocks_driver::CHECK],
    }
}

fn verdict(facts: &Facts, without: &[(&Device, Option<&str>)], all: usize) -> Verdict {
    let which = match (without.len(), all) {
        (1, 1) => "the NVIDIA GPU on the PCI bus has".to_owned(),
        (some, all) if some == all => format!("all {all} NVIDIA GPUs on the PCI bus have"),
        (some, all) => format!("{some} of {all} NVIDIA GPUs on the PCI bus have"),
    };
    if let Some(other) = without.iter().find_map(|(_, driver)| *driver) {
        let message = format!("{which} driver `{other}` instead of the NVIDIA driver; CUDA cannot use it");
        let fix = Fix::restarts_service(
            "Find what bound the GPU (/etc/modprobe.d, driverctl, kernel command line), then load the NVIDIA \
             driver:",
            &[
                &format!("grep -rs {} /etc/modprobe.d /proc/cmdline", shell::word(other)),
                "sudo modprobe nvidia",
            ],
        );
        return Verdict::error(message, fix);
    }
    if let Fact::Known(module) = &facts.driver.module {
        let message = format!(
            "{which} no driver although the NVIDIA module {} is loaded: the module rejected the GPU (see the \
             kernel log)",
            module.version
        );
        return Verdict::error(
            message,
            Fix::safe("Find the reason in the kernel log:", &["sudo dmesg | grep -i nvrm"]),
        );
    }
    let installed = matches!(facts.driver.packages, Fact::Known(_))
        || matches!(&facts.modules.dkms, Fact::Known(dkms) if !dkms.is_empty());
    match (&facts.modules.nvidia_file, installed) {
        (Fact::Known(file), _) => {
            let message = format!(
                "{which} no driver: module {} is installed for this kernel but not loaded; nothing can use \
                 the GPU",
                file.version
            );
            Verdict::error(message, Fix::safe("Load the driver:", &["sudo modprobe nvidia", "nvidia-smi"]))
                .evidence(file.path.clone())
        }
        (_, true) => {
            let message = format!(
                "{which} no driver: the installed driver has no module for the running kernel (see \
                 driver-module-not-built)"
            );
            Verdict::error(message, crate::driver::build(facts))
        }
        (Fact::Absent, false) if matches!(facts.driver.packages, Fact::Absent) => {
            let message = format!("{which} no driver: none is installed or loaded; nothing can use the GPU");
            Verdict::error(message, install(facts))
        }
        _ => {
            let message = format!(
                "{which} no driver; nothing can use the GPU (could not check whether a driver is installed)"
            );
            Verdict::error(message, Fix::safe("Load the driver:", &["sudo modprobe nvidia"]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::testing::server::{first, server};

    #[test]
    fn bound_gpu_passes_and_vfio_is_not_applicable() {
        expect(&CHECK, &server(|_| {}), "pass", "");
        let vfio = server(|f| first(f, |gpu| gpu.driver = Fact::Known("vfio-pci".into())));
        expect(&CHECK, &vfio, "not-applicable", "virtual machines");
        let nouveau = server(|f| first(f, |gpu| gpu.driver = Fact::Known("nouveau".into())));
        expect(&CHECK, &nouveau, "not-applicable", "nouveau-bound");
        let unread = server(|f| first(f, |gpu| gpu.driver = Fact::Unknown("no rights".into())));
        expect(&CHECK, &unread, "unknown", "no rights");
        expect(&CHECK, &server(|f| f.pci.devices = Fact::Unknown("no /sys".into())), "unknown", "no /sys");
    }

    #[test]
    fn distinguishes_causes_of_an_unbound_gpu() {
        let bare = |change: fn(&mut Facts)| {
            server(|f| {
                first(f, |gpu| gpu.driver = Fact::Absent);
                change(f);
            })
        };
        expect(&CHECK, &bare(|_| {}), "error", "the module rejected the GPU");
        let unloaded: fn(&mut Facts) = |f| f.driver.module = Fact::Absent;
        expect(&CHECK, &bare(unloaded), "error", "installed for this kernel but not loaded");
        let unbuilt = bare(|f| {
            f.driver.module = Fact::Absent;
            f.modules.nvidia_file = Fact::Absent;
        });
        expect(&CHECK, &unbuilt, "not-applicable", "see driver-module-not-built");
        let none = bare(|f| {
            f.driver.libraries = Fact::Known(Vec::new());
            f.driver.module = Fact::Absent;
            f.modules.nvidia_file = Fact::Absent;
            f.driver.packages = Fact::Absent;
        });
        expect(&CHECK, &none, "error", "none is installed or loaded");
        let unseen = bare(|f| {
            f.driver.libraries = Fact::Known(Vec::new());
            f.driver.module = Fact::Absent;
            f.modules.nvidia_file = Fact::Unknown("no modinfo".into());
            f.driver.packages = Fact::Absent;
        });
        expect(&CHECK, &unseen, "error", "could not check whether a driver is installed");
        let other = server(|f| first(f, |gpu| gpu.driver = Fact::Known("nvidiafb".into())));
        expect(&CHECK, &other, "error", "nvidiafb");
    }
}
