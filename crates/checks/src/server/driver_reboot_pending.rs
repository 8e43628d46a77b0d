//! The module that is loaded is another than the one on disk.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::driver::DriverVersion;

pub(super) const CHECK: Check = Check {
    id: "driver-reboot-pending",
    group: Group::Driver,
    severity: Severity::Warning,
    applies: Applies::GpuHost,
    summary: "the loaded driver is the installed one",
    explain: include_str!("driver_reboot_pending.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let loaded = facts.driver.module.require("the driver is not loaded")?;
    let file = facts.modules.nvidia_file.require("no kernel module on disk to compare with")?;
    match file.version.parse::<DriverVersion>() {
        Ok(version) if version == loaded.version => return Ok(Verdict::Pass),
        Ok(_) => {}
        Err(error) => return Ok(Verdict::unknown(error.to_string())),
    }
    let library = facts.driver.library.decided()?;
    if library.is_some_and(|library| *library != loaded.version) {
        return Ok(Verdict::NotApplicable("see driver-library-mismatch".into()));
    }
    let message = format!(
        "driver {} is loaded but {} is installed; the driver changes at the next reboot",
        loaded.version, file.version
    );
    let fix = Fix::needs_reboot("Reboot to load the installed driver:", &["sudo reboot"]);
    Ok(Verdict::warning(message, fix)
        .evidence(format!("loaded {} (/proc/driver/nvidia/version)", loaded.version))
        .evidence(format!("{}: {}", file.path, file.version)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::server::server;

    #[test]
    fn another_module_on_disk_waits_for_a_reboot() {
        expect(&CHECK, &server(|_| {}), "pass", "");
        let mut upgraded = server(|_| {});
        if let Fact::Known(file) = &mut upgraded.modules.nvidia_file {
            file.version = "580.178.04".into();
        }
        expect(&CHECK, &upgraded, "warning", "580.178.04 is installed");
        upgraded.driver.library = Fact::Known("580.178.04".parse().unwrap());
        expect(&CHECK, &upgraded, "not-applicable", "driver-library-mismatch");
        expect(&CHECK, &server(|f| f.modules.nvidia_file = Fact::Unknown("x".into())), "unknown", "x");
    }
}
