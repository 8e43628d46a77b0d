//! A process may not open enough files.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::{Facts, limits::Limit};

pub(super) const CHECK: Check = Check {
    id: "open-files-limit-too-small",
    group: Group::System,
    severity: Severity::Warning,
    applies: Applies::Gpu,
    summary: "the open-files limit is high enough",
    explain: include_str!("open_files_limit_too_small.md"),
    judge,
};

/// Old defaults are 1024 and 4096, those of systemd 524288 and above.
const LEAST: u64 = 65_536;

fn judge(facts: &Facts) -> Judged {
    let (soft, hard) = *facts.limits.nofile.require("no limits are set")?;
    let Limit::At(most) = hard else { return Ok(Verdict::Pass) };
    if most >= LEAST {
        return Ok(Verdict::Pass);
    }
    let message = format!(
        "the open-files limit is {most}; jobs with many peers or data loaders fail with \"Too many open \
         files\""
    );
    let fix = if facts.system.container.decided()?.is_some() {
        Fix::restarts_service(
            "Start the container with a higher limit:",
            &["docker run --ulimit nofile=65536:1048576 …"],
        )
    } else {
        let lines = "* soft nofile 65536\\n* hard nofile 1048576\\n";
        let command = format!("printf '{lines}' | sudo tee /etc/security/limits.d/90-nofile.conf");
        Fix::safe("Raise the limit (takes effect at the next login):", &[&command])
    };
    let soft = if let Limit::At(soft) = soft { soft.to_string() } else { "unlimited".into() };
    Ok(Verdict::warning(message, fix).evidence(format!("max open files: soft {soft}, hard {most}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::roles::*;

    #[test]
    fn reports_small_hard_limit() {
        let mut facts = gpu_node();
        facts.limits.nofile = Fact::Known((Limit::At(1024), Limit::At(4096)));
        expect(&CHECK, &facts, "warning", "4096");
        facts.limits.nofile = Fact::Known((Limit::At(1024), Limit::At(524_288)));
        expect(&CHECK, &facts, "pass", "");
        facts.limits.nofile = Fact::Unknown("no /proc".into());
        expect(&CHECK, &facts, "unknown", "");
    }
}
