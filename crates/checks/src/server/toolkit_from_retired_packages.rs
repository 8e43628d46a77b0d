//! The toolkit comes from packages that are no longer made.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::{Fact, Facts};

pub(super) const CHECK: Check = Check {
    id: "toolkit-from-retired-packages",
    group: Group::Toolkit,
    severity: Severity::Warning,
    applies: Applies::GpuHost,
    summary: "the toolkit comes from packages that are still maintained",
    explain: include_str!("toolkit_from_retired_packages.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let all = facts.toolkit.packages.require("no supported package manager")?;
    let retired: Vec<String> = all
        .iter()
        .filter(|(name, _)| name == "nvidia-docker2" || name == "nvidia-container-runtime")
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    if retired.is_empty() {
        return Ok(Verdict::Pass);
    }
    facts.toolkit.version.decided()?;
    if facts.toolkit.at_least("1.15.0") == Fact::Known(true) {
        return Ok(Verdict::Pass);
    }
    let message = format!(
        "the toolkit is installed from discontinued packages ({}), which get no more fixes",
        retired.join(", ")
    );
    let guide = "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html";
    let mut fix = Fix::restarts_service(
        format!(
            "Replace nvidia-docker's repository with the current one as {guide} describes, then install the \
             toolkit:"
        ),
        &[],
    );
    fix.commands.extend(facts.system.os.known().and_then(|os| os.install("nvidia-container-toolkit")));
    fix.commands.push("sudo systemctl restart docker".into());
    Ok(Verdict::warning(message, fix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{Sparse, sparse::gpu_host};

    #[test]
    fn retired_packages_pass_with_a_current_toolkit() {
        let of = |version: &str| {
            let mut facts = gpu_host(&Sparse::new(&[]));
            facts.toolkit.packages = Fact::Known(vec![("nvidia-docker2".into(), "2.13.0-1".into())]);
            facts.toolkit.version = Fact::Known(version.into());
            verdict_line(&CHECK, &facts)
        };
        assert!(of("1.13.5").contains("nvidia-docker2 2.13.0-1"));
        assert_eq!(of("1.17.8"), "pass");
        let mut facts = gpu_host(&Sparse::new(&[]));
        facts.toolkit.packages = Fact::Unknown("why".into());
        assert_eq!(verdict_line(&CHECK, &facts), "unknown: why");
    }
}
