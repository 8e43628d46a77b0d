//! The toolkit cannot work with this machine's control groups.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "toolkit-too-old",
    group: Group::Toolkit,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "the toolkit supports this machine's cgroup version",
    explain: include_str!("toolkit_too_old.md"),
    judge,
};

const FIRST_WITH_CGROUP_V2: &str = "1.8.0";

fn judge(facts: &Facts) -> Judged {
    let text = facts.toolkit.version.require("the container toolkit is not installed")?;
    facts.docker.answering()?;
    let cgroups = facts.docker.info_text(&["CgroupVersion"]);
    if cgroups.decided()?.map(String::as_str) != Some("2") {
        return Err(Verdict::NotApplicable("cgroup v2 is not in use".into()));
    }
    let new_enough = facts.toolkit.at_least(FIRST_WITH_CGROUP_V2);
    if *new_enough.require("the container toolkit is not installed")? {
        return Ok(Verdict::Pass);
    }
    let message = format!(
        "toolkit {text} does not support cgroup v2, which this machine uses (1.8.0 is the first release that \
         does); --gpus fails"
    );
    let mut fix = Fix::safe("Upgrade the toolkit:", &[]);
    fix.commands.extend(facts.system.os.known().and_then(|os| os.install("nvidia-container-toolkit")));
    Ok(Verdict::error(message, fix.punctuated()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::sparse::gpu_host;

    use facts::Fact;
    use facts::testing::sparse::engine;

    #[test]
    fn old_toolkit_is_an_error_only_with_cgroup_v2() {
        let of = |version: &str, groups: &str| {
            let mut facts = gpu_host(&engine(&format!(r#"{{"CgroupVersion":"{groups}"}}"#), &[]));
            facts.toolkit.version = Fact::Known(version.into());
            verdict_line(&CHECK, &facts)
        };
        assert!(of("1.7.0", "2").starts_with("error: "));
        assert_eq!(of("1.17.8", "2"), "pass");
        assert!(of("1.7.0", "1").starts_with("not-applicable"));
        assert!(of("unknown version", "2").starts_with("unknown"));
    }
}
