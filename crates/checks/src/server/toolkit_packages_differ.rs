//! The packages of the toolkit are of different versions.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::packages;

pub(super) const CHECK: Check = Check {
    id: "toolkit-packages-differ",
    group: Group::Toolkit,
    severity: Severity::Warning,
    applies: Applies::GpuHost,
    summary: "all toolkit packages have the same version",
    explain: include_str!("toolkit_packages_differ.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let names: Vec<&str> = facts.catalog.toolkit().packages().collect();
    let all = facts.toolkit.packages.require("no supported package manager")?;
    let mut family = all.iter().filter(|(name, _)| names.contains(&name.as_str())).peekable();
    let Some((_, first)) = family.peek() else {
        return Err(Verdict::NotApplicable("no toolkit package is installed".into()));
    };
    let first = packages::upstream(first);
    let listed: Vec<String> = family.clone().map(|(name, version)| format!("{name} {version}")).collect();
    if family.all(|(_, version)| packages::upstream(version) == first) {
        return Ok(Verdict::Pass);
    }
    let message =
        format!("the toolkit packages have different versions ({}); they must match", listed.join(", "));
    let mut fix = Fix::safe("Upgrade the packages together:", &[]);
    fix.commands.extend(facts.system.os.known().and_then(|os| os.install(&names.join(" "))));
    Ok(Verdict::warning(message, fix.punctuated()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{Sparse, sparse::gpu_host};

    use facts::Fact;

    #[test]
    fn toolkit_packages_must_have_one_version() {
        let of = |list: &[(&str, &str)]| {
            let mut facts = gpu_host(&Sparse::new(&[]));
            facts.toolkit.packages =
                Fact::Known(list.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect());
            verdict_line(&CHECK, &facts)
        };
        let old = [("libnvidia-container1", "1.17.8-1"), ("nvidia-container-toolkit", "1.20.0-1")];
        assert!(of(&old).starts_with("warning: "));
        assert_eq!(
            of(&[("libnvidia-container1", "1.20.0-1"), ("nvidia-container-toolkit", "1.20.0-1")]),
            "pass"
        );
        assert!(of(&[("nvidia-docker2", "2.13.0-1")]).starts_with("not-applicable"));
        let mut facts = gpu_host(&Sparse::new(&[]));
        facts.toolkit.packages = Fact::Unknown("rpm -qa: it hung".into());
        assert!(verdict_line(&CHECK, &facts).starts_with("unknown"));
    }
}
