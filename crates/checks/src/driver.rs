//! The NVIDIA driver: which one is in use, and how another is installed or built.
use diagnostic::shell;
use facts::driver::DriverVersion;
use facts::{Fact, Facts};

use crate::distribution::{Family, family};
use crate::{Fix, Verdict};

/// Whether the module that is loaded, else the one on disk, is the open one.
pub(crate) fn is_open(facts: &Facts) -> Result<bool, Verdict> {
    if let Some(module) = facts.driver.module.decided()? {
        return Ok(module.open);
    }
    let file = facts.modules.nvidia_file.require("no driver is installed")?;
    Ok(*file.open.require("the module does not report its license")?)
}

/// The driver that is loaded, else the one whose module would be loaded.
pub(crate) fn installed(facts: &Facts) -> Fact<DriverVersion> {
    facts.driver.module.clone().map(|module| module.version).or_else(|| {
        facts.modules.nvidia_on_disk.clone().and_then(|text| match text.parse::<DriverVersion>() {
            Ok(version) => Fact::Known(version),
            Err(error) => Fact::unknown(error.to_string()),
        })
    })
}

/// The driver that is in use: the loaded module, on WSL2 that of Windows as `nvidia-smi` tells it.
pub(crate) fn loaded(facts: &Facts) -> Fact<DriverVersion> {
    let module = facts.driver.module.clone().map(|module| module.version);
    module.or_else(|| facts.system.wsl.clone().and_then(|_| facts.gpu.driver.clone()))
}

/// How the module comes to be built for the running kernel.
pub(crate) fn build(facts: &Facts) -> Fix {
    let kernel = facts.system.kernel.known().map_or("$(uname -r)".into(), |kernel| shell::word(kernel));
    if let Some(package) = prebuilt(facts) {
        let command = format!("sudo apt-get install -y {package}-{kernel}");
        return Fix::safe(
            "Install Ubuntu's prebuilt module for this kernel:",
            &[&command, "sudo modprobe nvidia"],
        );
    }
    let headers = match family(facts) {
        Family::Ubuntu | Family::Debian => format!("sudo apt-get install -y linux-headers-{kernel}"),
        Family::Rhel | Family::Fedora => format!("sudo dnf install -y kernel-devel-{kernel}"),
        Family::Other => {
            return Fix::safe(
                "Install the headers of the running kernel, then build the module:",
                &["sudo dkms autoinstall", "sudo modprobe nvidia"],
            );
        }
    };
    if matches!(&facts.modules.dkms, Fact::Known(dkms) if dkms.is_empty()) {
        return Fix::safe(
            "Install the kernel headers, then reinstall the driver (it is not registered with DKMS):",
            &[&headers],
        );
    }
    Fix::safe(
        "Install the kernel headers and build the module (build log: \
         /var/lib/dkms/nvidia*/*/build/make.log):",
        &[&headers, "sudo dkms autoinstall", "sudo modprobe nvidia"],
    )
}

/// `linux-modules-nvidia-580-server-open` out of `linux-modules-nvidia-580-server-open-6.8.0-45-generic`.
fn prebuilt(facts: &Facts) -> Option<String> {
    const BEGIN: &str = "linux-modules-nvidia-";
    let packages = facts.driver.packages.known()?;
    let rest = packages.iter().find_map(|(name, _)| name.strip_prefix(BEGIN))?;
    let mut words = rest.split('-');
    let mut name = format!("{BEGIN}{}", words.next()?);
    for word in words.take_while(|word| ["server", "open"].contains(word)) {
        name = format!("{name}-{word}");
    }
    Some(name)
}

/// How a driver that does not fit the GPU is replaced by one that does.
pub(crate) fn replace(facts: &Facts) -> Fix {
    match family(facts) {
        // Debian's own nvidia-driver is one branch for the life of a release, with the proprietary module.
        Family::Debian => Fix::needs_reboot(
            "Set up NVIDIA's repository as \
             https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/ describes, then install the \
             driver:",
            &["sudo apt-get install -y nvidia-open", "sudo reboot"],
        ),
        _ => install(facts),
    }
}

/// How the driver is installed here.
pub(crate) fn install(facts: &Facts) -> Fix {
    const GUIDE: &str = "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/";
    // The open modules do not drive what came before Turing.
    let older = facts
        .pci
        .gpus()
        .any(|gpu| facts.catalog.gpus().by_pci(gpu.device).and_then(|row| row.open_module) == Some(false));
    let major =
        facts.system.os.known().and_then(|os| os.version_id.as_deref()).and_then(|v| v.split('.').next());
    let repository = format!("Set up NVIDIA's repository as {GUIDE} describes, then install the driver:");
    match (family(facts), older) {
        (Family::Ubuntu, _) => Fix::needs_reboot(
            "Install the driver that Ubuntu recommends for the GPU:",
            &["sudo apt-get install -y ubuntu-drivers-common", "sudo ubuntu-drivers install", "sudo reboot"],
        ),
        (Family::Debian, _) => Fix::needs_reboot(
            "Enable the components contrib, non-free and non-free-firmware, then install Debian's driver:",
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
        _ => Fix::needs_reboot(format!("Install the driver: {GUIDE}"), &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::testing::server::server;

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
