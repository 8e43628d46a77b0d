//! Secure Boot is on and the driver's module is not signed.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "secure-boot-blocks-driver",
    group: Group::Driver,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "Secure Boot allows the driver's kernel module to load",
    explain: include_str!("secure_boot_blocks_driver.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    if !*facts.modules.secure_boot.require("no EFI firmware, or it is not readable")? {
        return Ok(Verdict::NotApplicable("Secure Boot is off".into()));
    }
    if facts.driver.module.decided()?.is_some() {
        return Ok(Verdict::Pass);
    }
    let file = facts.modules.nvidia_file.require("no NVIDIA module for the running kernel")?;
    if let Some(signer) = file.signer.decided()? {
        return Ok(Verdict::unknown(format!(
            "the module is signed by {signer:?} but not loaded; check that the firmware trusts that key with \
             `sudo mokutil --list-enrolled`"
        )));
    }
    let message = "Secure Boot is on but the NVIDIA module is unsigned and not loaded; a locked-down kernel \
                   rejects it";
    let fix = Fix::needs_reboot(
        "Install signed modules, or sign them and enroll the key (mokutil asks for a password, which the \
         console asks for at the next boot), or turn Secure Boot off in the firmware; find the reason with:",
        &[
            "sudo modprobe nvidia",
            "sudo dmesg | grep -i -e lockdown -e 'module verification' -e 'unsigned module'",
        ],
    );
    Ok(Verdict::error(message, fix).evidence(format!("{}: no signer", file.path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::server::server;

    #[test]
    fn an_unsigned_module_is_refused() {
        expect(&CHECK, &server(|_| {}), "not-applicable", "no EFI");
        expect(&CHECK, &server(|f| f.modules.secure_boot = Fact::Known(false)), "not-applicable", "off");
        expect(&CHECK, &server(|f| f.modules.secure_boot = Fact::Known(true)), "pass", "");
        expect(&CHECK, &server(|f| f.modules.secure_boot = Fact::Unknown("efi".into())), "unknown", "efi");
        let mut blocked = server(|f| {
            f.modules.secure_boot = Fact::Known(true);
            f.driver.module = Fact::Absent;
        });
        expect(&CHECK, &blocked, "unknown", "--list-enrolled");
        if let Fact::Known(file) = &mut blocked.modules.nvidia_file {
            file.signer = Fact::Absent;
        }
        expect(&CHECK, &blocked, "error", "unsigned and not loaded");
    }
}
