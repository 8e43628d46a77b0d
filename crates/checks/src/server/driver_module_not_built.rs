//! The driver is installed and has no kernel module for the running kernel.

use super::gpu_without_driver::{Family, family};
use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::{Fact, Facts};

pub const CHECK: Check = Check {
    id: "driver-module-not-built",
    group: Group::Driver,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "the installed driver has a kernel module for the running kernel",
    explain: include_str!("driver_module_not_built.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    if facts.system.wsl.decided()?.is_some() {
        return Ok(Verdict::NotApplicable("WSL2 uses the driver of Windows".into()));
    }
    let packages = facts.driver.packages.decided()?;
    let dkms = facts.modules.dkms.decided()?.is_some_and(|dkms| !dkms.is_empty());
    let file = facts.modules.nvidia_file.decided()?;
    if file.is_some() {
        return Ok(Verdict::Pass);
    }
    let loaded = facts.driver.module.decided()?;
    let library = facts.driver.libraries.decided()?.is_some_and(|found| !found.is_empty());
    // A module that is loaded and lies nowhere came from a driver container.
    if packages.is_none() && !dkms && (loaded.is_some() || !library) {
        return Ok(Verdict::NotApplicable("no driver is installed on this system itself".into()));
    }
    let kernel = facts.system.kernel.known().map_or("the running kernel", String::as_str);
    let now = if loaded.is_some() { "after the next boot" } else { "now" };
    let says = format!(
        "the NVIDIA driver is installed, but there is no module for kernel {kernel}: the GPU cannot be used {now}"
    );
    let mut verdict = Verdict::error(says, build(facts)).evidence("modinfo: module nvidia not found");
    for built in facts.modules.dkms.known().into_iter().flatten() {
        let kernels =
            if built.built_for.is_empty() { "no kernel".into() } else { built.built_for.join(", ") };
        verdict = verdict.evidence(format!("dkms: {}/{} is built for {kernels}", built.name, built.version));
    }
    Ok(verdict)
}

/// How the module comes to be built for the running kernel.
pub(super) fn build(facts: &Facts) -> Fix {
    let kernel = facts.system.kernel.known().map_or("$(uname -r)", String::as_str);
    if let Some(package) = prebuilt(facts) {
        let command = format!("sudo apt-get install -y {package}-{kernel}");
        return Fix::safe(
            "Install Ubuntu's prebuilt module for this kernel.",
            &[&command, "sudo modprobe nvidia"],
        );
    }
    let headers = match family(facts) {
        Family::Ubuntu | Family::Debian => format!("sudo apt-get install -y linux-headers-{kernel}"),
        Family::Rhel | Family::Fedora => format!("sudo dnf install -y kernel-devel-{kernel}"),
        Family::Other => {
            return Fix::safe(
                "Install the headers of the running kernel, then build the module.",
                &["sudo dkms autoinstall", "sudo modprobe nvidia"],
            );
        }
    };
    if matches!(&facts.modules.dkms, Fact::Known(dkms) if dkms.is_empty()) {
        return Fix::safe(
            "The driver is not registered with DKMS: install the headers, then install the driver again.",
            &[&headers],
        );
    }
    Fix::safe(
        "Install the kernel's headers and build; /var/lib/dkms/nvidia*/*/build/make.log says why it fails.",
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::modules::Dkms;
    use facts::testing::server::server;

    #[test]
    fn a_module_that_is_not_built_is_an_error_and_its_kernels_are_named() {
        expect(&CHECK, &server(|_| {}), "pass", "");
        let unbuilt = server(|f| {
            f.driver.module = Fact::Absent;
            f.modules.nvidia_file = Fact::Absent;
            f.modules.dkms = Fact::Known(vec![Dkms {
                name: "nvidia".into(),
                version: "580.95.05".into(),
                built_for: vec!["6.8.0-44-generic".into()],
            }]);
        });
        expect(&CHECK, &unbuilt, "error", "no module for kernel 6.8.0-45-generic");
        let commands = build(&unbuilt).commands.join("; ");
        assert!(commands.contains("linux-headers-6.8.0-45-generic; sudo dkms autoinstall"), "{commands}");
        let unknown = server(|f| f.modules.nvidia_file = Fact::Unknown("no modinfo".into()));
        expect(&CHECK, &unknown, "unknown", "no modinfo");
    }

    #[test]
    fn without_an_installed_driver_it_means_nothing() {
        let none = server(|f| {
            f.modules.nvidia_file = Fact::Absent;
            f.driver.packages = Fact::Absent;
        });
        expect(&CHECK, &none, "not-applicable", "no driver is installed");
    }

    #[test]
    fn prebuilt_modules_come_as_packages() {
        let name = "linux-modules-nvidia-580-server-open-6.8.0-44-generic";
        let facts = server(|f| f.driver.packages = Fact::Known(vec![(name.into(), "6.8.0-44.44+1".into())]));
        let command = &build(&facts).commands[0];
        assert!(command.ends_with(" linux-modules-nvidia-580-server-open-6.8.0-45-generic"), "{command}");
    }
}
