//! A configuration file of NCCL sets something for every job.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use catalog::variables::Status;
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "nccl-conf-overrides",
    group: Group::Nccl,
    severity: Severity::Warning,
    applies: Applies::Anywhere,
    summary: "no nccl.conf turns off a transport or sets a variable that nothing reads",
    explain: include_str!("nccl_conf_overrides.md"),
    judge,
};

/// What costs most when it stays set by mistake.
const TRANSPORTS: &[&str] = &["NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE"];

fn judge(facts: &Facts) -> Judged {
    let lines = facts.libraries.nccl_conf.require("no nccl.conf")?;
    let mut findings = Vec::new();
    for (name, value) in lines.iter().filter_map(|line| line.split_once('=')) {
        let (name, value) = (name.trim(), value.trim());
        if TRANSPORTS.contains(&name) && !["0", ""].contains(&value) {
            findings.push(format!("{name}={value} turns off a transport for every job"));
        } else if let Some(row) = facts.catalog.variable(name)
            && row.status == Status::NotRead
        {
            findings.push(format!("nothing reads {name}"));
        }
    }
    let Some(first) = findings.first() else { return Ok(Verdict::Pass) };
    let verdict = Verdict::warning(
        format!("NCCL's configuration file has a wrong setting: {first}"),
        Fix::safe(
            "Remove the line from /etc/nccl.conf or ~/.nccl.conf:",
            &["grep -n NCCL_ /etc/nccl.conf ~/.nccl.conf"],
        ),
    );
    Ok(findings.into_iter().fold(verdict, Verdict::evidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::Fact;
    use facts::testing::files::machine;

    #[test]
    fn reports_only_harmful_settings() {
        let cases = [
            ("NCCL_DEBUG=WARN\nNCCL_SOCKET_IFNAME=eth0\n", "pass"),
            ("# comment\nNCCL_P2P_DISABLE=1\n", "warning"),
            ("NCCL_P2P_DISABLE=0\n", "pass"),
            ("NCCL_TIMEOUT=1800\n", "warning"),
        ];
        for (text, expected) in cases {
            let verdict =
                crate::judge_one(&CHECK, &machine(&[("environment", ""), ("/etc/nccl.conf", text)]));
            assert_eq!(status(&verdict), expected, "{text}: {verdict:?}");
        }
        let mut facts = machine(&[("environment", "")]);
        assert_eq!(status(&crate::judge_one(&CHECK, &facts)), "not-applicable");
        facts.libraries.nccl_conf = Fact::Unknown("permission denied".into());
        assert_eq!(judge(&facts), Err(Verdict::Unknown("permission denied".into())));
    }
}
