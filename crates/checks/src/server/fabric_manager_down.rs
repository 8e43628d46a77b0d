//! The fabric manager is installed and does not run.

use crate::{Applies, Check, Fix, FixClass, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::{Fact, fabric};

pub(super) const CHECK: Check = Check {
    id: "fabric-manager-down",
    group: Group::Fabric,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "the fabric manager is running where it is needed",
    explain: include_str!("fabric_manager_down.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    fabric::runs_here(facts)?;
    let state = facts.fabric.manager.require("the service is not installed")?;
    let fix = Fix::safe(
        "Read why it stopped (its version must match the driver), then start it:",
        &[
            "sudo journalctl -u nvidia-fabricmanager -b --no-pager | tail -n 30",
            "sudo systemctl enable --now nvidia-fabricmanager",
        ],
    );
    if state != "active" && state != "reloading" {
        crate::yield_to(&[&super::fabric_manager_version_mismatch::CHECK], facts)?;
    }
    let is = match state.as_str() {
        "failed" => "has failed".to_owned(),
        "inactive" => "is not running".to_owned(),
        other => format!("is {other}"),
    };
    let message = match (state.as_str(), fabric::completed(facts)) {
        ("active" | "reloading", _) => return Ok(Verdict::Pass),
        ("activating", _) => {
            let message = "the fabric manager is still starting or keeps restarting";
            return Ok(Verdict::warning(message, fix).evidence("nvidia-fabricmanager.service is activating"));
        }
        (_, Fact::Known(true)) => {
            let message = format!(
                "the fabric manager {is}; existing NVLink paths remain, but link errors are not handled"
            );
            // A start sets up the paths again, under what runs.
            let fix = Fix {
                class: FixClass::RestartsService,
                title: "Read why it stopped (its version must match the driver), then start it while no job \
                        runs:"
                    .into(),
                ..fix
            };
            return Ok(
                Verdict::warning(message, fix).evidence(format!("nvidia-fabricmanager.service is {state}"))
            );
        }
        _ => {
            format!("the fabric manager {is}; CUDA programs fail with error 802 (system not yet initialized)")
        }
    };
    Ok(Verdict::error(message, fix).evidence(format!("nvidia-fabricmanager.service is {state}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{kind, switched};
    use facts::testing::unknown;

    #[test]
    fn a_dead_manager_is_worse_before_the_fabric_is_complete() {
        let state = |service: &str, fabric: &str| {
            let mut facts = switched(fabric);
            facts.fabric.manager = Fact::Known(service.into());
            kind(&CHECK, &facts)
        };
        assert_eq!(state("active", "Completed"), "pass");
        assert_eq!(state("failed", "Completed"), "warning");
        assert_eq!(state("failed", "In Progress"), "error");
        assert_eq!(state("inactive", "N/A"), "error");
        assert_eq!(state("activating", "In Progress"), "warning");
        let mut facts = switched("Completed");
        facts.fabric.manager = Fact::Absent;
        assert_eq!(kind(&CHECK, &facts), "not-applicable");
        facts.fabric.manager = Fact::Unknown("no systemctl".into());
        assert_eq!(kind(&CHECK, &facts), "unknown");
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
    }
}
