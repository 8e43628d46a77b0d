//! The driver is installed and has no kernel module for the running kernel.

use crate::driver::build;
use crate::{Applies, Check, Group, Judged, Severity, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
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
        return Ok(Verdict::NotApplicable("no driver is installed on this system".into()));
    }
    let kernel = facts.system.kernel.known().map_or("the running kernel", String::as_str);
    let now = if loaded.is_some() { "after the next boot" } else { "now" };
    let message = format!("the NVIDIA driver has no module for kernel {kernel}; the GPU is unusable {now}");
    let mut verdict = Verdict::error(message, build(facts)).evidence("modinfo: module nvidia not found");
    for built in facts.modules.dkms.known().into_iter().flatten() {
        let kernels =
            if built.built_for.is_empty() { "no kernel".into() } else { built.built_for.join(", ") };
        verdict = verdict.evidence(format!("dkms: {}/{} is built for {kernels}", built.name, built.version));
    }
    Ok(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::modules::Dkms;
    use facts::testing::server::server;

    #[test]
    fn unbuilt_dkms_module_is_an_error_that_names_the_kernel() {
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
    fn not_applicable_without_an_installed_driver() {
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
