//! The fabric manager is not of the driver's version.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::driver::DriverVersion;
use facts::fabric;

pub(super) const CHECK: Check = Check {
    id: "fabric-manager-version-mismatch",
    group: Group::Fabric,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "the driver and the fabric manager have the same version",
    explain: include_str!("fabric_manager_version_mismatch.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    fabric::runs_here(facts)?;
    let manager = facts.fabric.version.require("nv-fabricmanager is not installed")?;
    let module = &facts.driver.module.require("the driver is not loaded")?.version;
    let Ok(version) = manager.parse::<DriverVersion>() else {
        return Ok(Verdict::Unknown(format!("could not compare version {manager:?}").into()));
    };
    if version == *module {
        return Ok(Verdict::Pass);
    }
    crate::yield_to(&[&super::driver_library_mismatch::CHECK], facts)?;
    let message = format!(
        "the fabric manager is {version} but the loaded driver is {module}; it refuses to start with another \
         version, and CUDA programs fail without it (error 802)"
    );
    let debian = facts.system.os.known().is_some_and(|os| {
        ["ubuntu", "debian"].iter().any(|id| os.id == *id || os.id_like.iter().any(|like| like == id))
    });
    let find = if debian {
        format!("apt-cache policy nvidia-fabricmanager-{} nvidia-fabricmanager", module.branch)
    } else {
        "sudo dnf list --showduplicates 'nvidia-fabric*'".to_owned()
    };
    let text = format!(
        "Find and install fabric manager {module}, then restart it (running jobs may lose their fabric):"
    );
    let fix = Fix::restarts_service(text, &[&find, "sudo systemctl restart nvidia-fabricmanager"]);
    Ok(Verdict::error(message, fix)
        .evidence(format!("nv-fabricmanager --version: {version}"))
        .evidence(format!("loaded module {module} (/proc/driver/nvidia/version)")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{kind, switched};
    use facts::Fact;
    use facts::driver::Module;
    use facts::testing::unknown;

    #[test]
    fn versions_must_be_equal() {
        let mut facts = switched("Completed");
        assert_eq!(kind(&CHECK, &facts), "unknown");
        facts.driver.module = Fact::Known(Module { version: "580.120".parse().unwrap(), open: true });
        for (manager, verdict) in [("580.120", "pass"), ("580.127.05", "error"), ("new", "unknown")] {
            facts.fabric.version = Fact::Known(manager.into());
            assert_eq!(kind(&CHECK, &facts), verdict, "{manager}");
        }
        facts.fabric.version = Fact::Absent;
        assert_eq!(kind(&CHECK, &facts), "not-applicable");
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
    }
}
