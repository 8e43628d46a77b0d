//! The system asks for a reboot that changes the kernel or the driver.

use crate::distribution::{Family, family};
use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "reboot-pending",
    group: Group::Driver,
    severity: Severity::Warning,
    applies: Applies::GpuHost,
    summary: "no kernel or driver upgrade is waiting for a reboot",
    explain: include_str!("reboot_pending.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    facts.system.os.decided()?;
    if !matches!(family(facts), Family::Ubuntu | Family::Debian) {
        return Ok(Verdict::NotApplicable("only Debian and Ubuntu record pending reboots".into()));
    }
    let Some(packages) = facts.modules.reboot_required.decided()? else { return Ok(Verdict::Pass) };
    let matters = |name: &&String| {
        name.starts_with("linux-image") || name.starts_with("linux-base") || name.contains("nvidia")
    };
    let wanted: Vec<&String> = packages.iter().filter(matters).collect();
    if wanted.is_empty() {
        return Ok(Verdict::NotApplicable(
            "a reboot is pending, but not for the kernel or the driver".into(),
        ));
    }
    let names = wanted.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
    let message = format!(
        "an upgrade is waiting for a reboot ({names}); the next boot changes the kernel or the driver"
    );
    let fix = Fix::needs_reboot(
        "Check that the driver's module is built for the new kernel, then reboot:",
        &["dkms status", "sudo reboot"],
    );
    Ok(Verdict::warning(message, fix).evidence("/run/reboot-required"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::server::server;

    #[test]
    fn pending_kernel_update_is_a_warning() {
        expect(&CHECK, &server(|_| {}), "pass", "");
        let asked = |name: &str| server(|f| f.modules.reboot_required = Fact::Known(vec![name.into()]));
        expect(&CHECK, &asked("linux-image-6.8.0-47-generic"), "warning", "linux-image");
        expect(&CHECK, &asked("dbus"), "not-applicable", "not for the kernel");
        expect(&CHECK, &server(|f| f.modules.reboot_required = Fact::Unknown("x".into())), "unknown", "x");
        expect(
            &CHECK,
            &server(|f| f.system.os = Fact::Unknown("no os-release".into())),
            "unknown",
            "os-release",
        );
    }
}
