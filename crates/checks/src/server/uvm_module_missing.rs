//! The driver is loaded without its module for unified memory.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "uvm-module-missing",
    group: Group::Driver,
    severity: Severity::Warning,
    applies: Applies::GpuHost,
    summary: "the nvidia_uvm module is loaded with nvidia",
    explain: include_str!("uvm_module_missing.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let module = facts.driver.module.require("the driver is not loaded")?;
    let loaded = facts.modules.loaded.require("no modules are loaded")?;
    if loaded.iter().any(|name| name == "nvidia_uvm") {
        return Ok(Verdict::Pass);
    }
    if !loaded.iter().any(|name| name == "nvidia") {
        return Ok(Verdict::NotApplicable("the driver is not loaded as modules".into()));
    }
    let helper = facts.driver.modprobe.decided()? == Some(&true);
    let cdi = facts.toolkit.cdi.decided()?.is_some_and(|specs| !specs.is_empty());
    if helper && !cdi {
        return Ok(Verdict::NotApplicable("not loaded yet; nvidia-modprobe loads it at first use".into()));
    }
    let fails = if helper {
        "in containers started with CDI or --device, where nothing loads it"
    } else {
        "for users other than root, because no setuid nvidia-modprobe loads it at first use"
    };
    let message = format!(
        "nvidia {} is loaded without nvidia_uvm; nvidia-smi works, but CUDA fails with \"unknown error\" \
         {fails}",
        module.version
    );
    let fix = Fix::safe(
        "Load nvidia_uvm now and at each boot:",
        &["sudo modprobe nvidia_uvm", "echo nvidia_uvm | sudo tee /etc/modules-load.d/nvidia-uvm.conf"],
    );
    let modprobe = if helper { "setuid root" } else { "missing, or not setuid root" };
    Ok(Verdict::warning(message, fix)
        .evidence("nvidia_uvm is not in /proc/modules")
        .evidence(format!("/usr/bin/nvidia-modprobe: {modprobe}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::server::server;

    #[test]
    fn nvidia_without_uvm_is_a_warning() {
        expect(&CHECK, &server(|_| {}), "pass", "");
        let without = server(|f| f.modules.loaded = Fact::Known(vec!["nvidia".into()]));
        expect(&CHECK, &without, "warning", "no setuid nvidia-modprobe");
        let helped = server(|f| {
            f.modules.loaded = Fact::Known(vec!["nvidia".into()]);
            f.driver.modprobe = Fact::Known(true);
        });
        expect(&CHECK, &helped, "not-applicable", "at first use");
        expect(&CHECK, &server(|f| f.modules.loaded = Fact::Unknown("x".into())), "unknown", "x");
        expect(&CHECK, &server(|f| f.driver.module = Fact::Absent), "not-applicable", "not loaded");
    }
}
