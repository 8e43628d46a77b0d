//! The loaded kernel module and the user library are of different versions.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::{Fact, Facts, Role};

pub(super) const CHECK: Check = Check {
    id: "driver-library-mismatch",
    group: Group::Driver,
    severity: Severity::Error,
    applies: Applies::Gpu,
    summary: "the loaded kernel module and the driver's user library have the same version",
    explain: include_str!("driver_library_mismatch.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let module = facts.driver.module.require("the driver is not loaded")?;
    let library = facts.driver.library.require("the driver's user library is not installed")?;
    if module.version == *library {
        return Ok(Verdict::Pass);
    }
    let message = format!(
        "the loaded kernel module is {} but libcuda is {library}; new CUDA processes fail until the two \
         match",
        module.version
    );
    let fix = match (facts.role(), facts.modules.nvidia_on_disk.known()) {
        (Fact::Known(Role::Container), _) => Fix::restarts_service(
            "Restart the container to mount the host's current library (if the mismatch remains, remove the \
             driver library from the image):",
            &["docker run --gpus all …"],
        ),
        (_, Some(disk)) if disk.parse() != Ok(*library) => Fix::needs_reboot(
            "Install the kernel module and the library in the same version (the module on disk matches \
             neither), then reboot:",
            &["modinfo -F version nvidia", "sudo reboot"],
        ),
        _ => Fix::needs_reboot("Reboot to load the new kernel module:", &["sudo reboot"]),
    };
    Ok(Verdict::error(message, fix)
        .evidence(format!("loaded module {} (/proc/driver/nvidia/version)", module.version))
        .evidence(format!("user library {library} (libcuda.so.1)")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::testing::server::server;

    #[test]
    fn module_and_library_must_be_one_version() {
        expect(&CHECK, &server(|_| {}), "pass", "");
        let mut upgraded = server(|f| f.driver.library = Fact::Known("580.178.04".parse().unwrap()));
        expect(&CHECK, &upgraded, "error", "580.95.05 but libcuda is 580.178.04");
        let text = |facts: &Facts| match judge(facts) {
            Ok(Verdict::Found(found)) => found.fixes[0].title.clone(),
            other => format!("{other:?}"),
        };
        assert!(text(&upgraded).contains("in the same version"));
        upgraded.modules.nvidia_on_disk = Fact::Known("580.178.04".into());
        assert!(text(&upgraded).contains("Reboot to load"));
        upgraded.system.container = Fact::Known("docker".into());
        assert!(text(&upgraded).contains("Restart the container"));
        expect(&CHECK, &server(|f| f.driver.library = Fact::Unknown("x".into())), "unknown", "x");
        expect(&CHECK, &server(|f| f.driver.module = Fact::Absent), "not-applicable", "not loaded");
    }
}
