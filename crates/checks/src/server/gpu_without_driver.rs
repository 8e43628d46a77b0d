//! A GPU is on the bus and no driver has it.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use catalog::gpus;
use facts::pci::Device;
use facts::{Fact, Facts};

pub const CHECK: Check = Check {
    id: "gpu-without-driver",
    group: Group::Driver,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "the NVIDIA driver has every GPU that is on the PCI bus",
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
            Some(name) if super::nouveau_bound::NAMES.contains(&name) => nouveau += 1,
            other => without.push((*gpu, other)),
        }
    }
    if without.is_empty() {
        return Ok(match gpus.len() {
            all if all == passed => {
                Verdict::NotApplicable("every GPU is passed through to virtual machines (vfio-pci)".into())
            }
            _ if nouveau > 0 => Verdict::NotApplicable("nouveau has the GPU: see nouveau-bound".into()),
            _ => Verdict::Pass,
        });
    }
    if without.iter().all(|(_, driver)| driver.is_none()) {
        crate::yield_to(causes(facts), facts)?;
    }
    let mut verdict = verdict(facts, &without, gpus.len());
    for (gpu, driver) in without {
        let driver = driver.map_or("no driver".to_owned(), |name| format!("driver {name}"));
        verdict = verdict.evidence(format!("{} {}: {driver}", gpu.address, name(gpu)));
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
        let says = format!("{which} not the NVIDIA driver but `{other}`, and cannot be used for CUDA");
        let fix = Fix::restarts_service(
            "Find out who bound it (/etc/modprobe.d, driverctl, the kernel command line) and load the NVIDIA driver.",
            &[&format!("grep -rs {other} /etc/modprobe.d /proc/cmdline"), "sudo modprobe nvidia"],
        );
        return Verdict::error(says, fix);
    }
    if let Fact::Known(module) = &facts.driver.module {
        let says = format!(
            "{which} no driver although the NVIDIA module {} is loaded: it did not accept the GPU; the kernel's log says why",
            module.version
        );
        return Verdict::error(says, Fix::safe("", &["sudo dmesg | grep -i nvrm"]));
    }
    let installed = matches!(facts.driver.packages, Fact::Known(_))
        || matches!(&facts.modules.dkms, Fact::Known(dkms) if !dkms.is_empty());
    match (&facts.modules.nvidia_file, installed) {
        (Fact::Known(file), _) => {
            let says = format!(
                "{which} no driver: the module {} is installed for this kernel but not loaded, so nothing can use the GPU",
                file.version
            );
            Verdict::error(says, Fix::safe("", &["sudo modprobe nvidia", "nvidia-smi"]))
                .evidence(file.path.clone())
        }
        (_, true) => {
            let says = format!(
                "{which} no driver: the driver is installed, but has no module for the running kernel (see \
                 driver-module-not-built)"
            );
            Verdict::error(says, super::driver_module_not_built::build(facts))
        }
        (Fact::Absent, false) if matches!(facts.driver.packages, Fact::Absent) => {
            let says = format!("{which} no driver: none is loaded or installed, so nothing can use the GPU");
            Verdict::error(says, install(facts))
        }
        _ => {
            let says = format!(
                "{which} no driver, so nothing can use the GPU; whether one is installed could not be seen"
            );
            Verdict::error(says, Fix::safe("", &["sudo modprobe nvidia"]))
        }
    }
}

/// Drivers that keep a device for a virtual machine.
pub(super) fn is_pass_through(driver: &str) -> bool {
    driver.contains("vfio") || ["pci-stub", "xen-pciback", "pciback"].contains(&driver)
}

/// The catalog's name of a GPU, else its PCI id.
pub(super) fn name(gpu: &Device) -> String {
    gpus::by_pci(gpu.device).map_or_else(|| format!("[10de:{:04x}]", gpu.device), |gpu| gpu.name.clone())
}

/// The family of a distribution, as far as its package manager goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Ubuntu,
    Debian,
    Rhel,
    Fedora,
    Other,
}

pub(super) fn family(facts: &Facts) -> Family {
    let Fact::Known(os) = &facts.system.os else { return Family::Other };
    let is = |name: &str| os.id == name || os.id_like.iter().any(|like| like == name);
    match () {
        () if is("ubuntu") => Family::Ubuntu,
        () if is("debian") => Family::Debian,
        () if os.id == "fedora" => Family::Fedora,
        () if is("rhel") || is("centos") || os.id == "amzn" => Family::Rhel,
        () => Family::Other,
    }
}

/// How a driver that does not fit the GPU is replaced by one that does.
pub(super) fn replace(facts: &Facts) -> Fix {
    match family(facts) {
        // Debian's own nvidia-driver is one branch for the life of a release, with the proprietary module.
        Family::Debian => Fix::needs_reboot(
            "From NVIDIA's repository, which must be set up first: \
             https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/",
            &["sudo apt-get install -y nvidia-open", "sudo reboot"],
        ),
        _ => install(facts),
    }
}

/// How the driver is installed here.
pub(super) fn install(facts: &Facts) -> Fix {
    const GUIDE: &str = "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/";
    // The open modules do not drive what came before Turing.
    let older =
        facts.pci.gpus().any(|gpu| gpus::by_pci(gpu.device).and_then(|row| row.open_module) == Some(false));
    let major =
        facts.system.os.known().and_then(|os| os.version_id.as_deref()).and_then(|v| v.split('.').next());
    let repository = format!("From NVIDIA's repository, which must be set up first: {GUIDE}");
    match (family(facts), older) {
        (Family::Ubuntu, _) => Fix::needs_reboot(
            "Ubuntu's tool chooses the recommended driver for the GPU.",
            &["sudo apt-get install -y ubuntu-drivers-common", "sudo ubuntu-drivers install", "sudo reboot"],
        ),
        (Family::Debian, _) => Fix::needs_reboot(
            "Debian's own packages; the components contrib, non-free and non-free-firmware must be enabled.",
            &["sudo apt-get install -y linux-headers-$(uname -r) nvidia-driver nvidia-smi", "sudo reboot"],
        ),
        (Family::Rhel, false) if matches!(major, Some("8" | "9" | "2023")) => Fix::needs_reboot(
            repository,
            &[
                "sudo dnf module enable -y nvidia-driver:open-dkms",
                "sudo dnf install -y nvidia-open",
                "sudo reboot",
            ],
        ),
        (Family::Rhel | Family::Fedora, false) => {
            Fix::needs_reboot(repository, &["sudo dnf install -y nvidia-open", "sudo reboot"])
        }
        _ => Fix::needs_reboot(
            format!("Install the driver as NVIDIA's guide says for this system: {GUIDE}"),
            &[],
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::testing::server::{first, server};

    #[test]
    fn a_bound_gpu_passes_and_pass_through_is_left_alone() {
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
    fn the_cause_is_told_apart() {
        let bare = |change: fn(&mut Facts)| {
            server(|f| {
                first(f, |gpu| gpu.driver = Fact::Absent);
                change(f);
            })
        };
        expect(&CHECK, &bare(|_| {}), "error", "it did not accept the GPU");
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
        expect(&CHECK, &none, "error", "none is loaded or installed");
        let unseen = bare(|f| {
            f.driver.libraries = Fact::Known(Vec::new());
            f.driver.module = Fact::Absent;
            f.modules.nvidia_file = Fact::Unknown("no modinfo".into());
            f.driver.packages = Fact::Absent;
        });
        expect(&CHECK, &unseen, "error", "could not be seen");
        let other = server(|f| first(f, |gpu| gpu.driver = Fact::Known("nvidiafb".into())));
        expect(&CHECK, &other, "error", "nvidiafb");
    }

    #[test]
    fn the_driver_is_installed_with_the_tools_of_the_distribution() {
        let on = |id: &str, version: &str| {
            let mut facts = server(|_| {});
            if let Fact::Known(os) = &mut facts.system.os {
                (os.id, os.id_like, os.version_id) = (id.into(), vec![], Some(version.into()));
            }
            install(&facts).commands.join("; ")
        };
        assert!(on("ubuntu", "22.04").contains("ubuntu-drivers install"));
        assert!(on("debian", "12").contains("nvidia-driver"));
        assert!(on("rhel", "9.4").contains("dnf module enable -y nvidia-driver:open-dkms"));
        assert!(!on("rhel", "10.0").contains("module"));
        assert!(on("arch", "").is_empty());
    }
}
