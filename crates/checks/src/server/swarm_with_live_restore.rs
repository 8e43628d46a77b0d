//! live-restore on a member of a swarm.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;
use serde_json::Value;

pub(super) const CHECK: Check = Check {
    id: "swarm-with-live-restore",
    group: Group::Docker,
    severity: Severity::Error,
    applies: Applies::Host,
    summary: "a swarm node does not set live-restore",
    explain: include_str!("swarm_with_live_restore.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    let info = docker.answering()?;
    if !*docker.in_swarm().require("no engine")? {
        return Err(Verdict::NotApplicable("not in a swarm".into()));
    }
    let value = docker.configured();
    let by_file = value.decided()?.and_then(|file| file.get("live-restore")).and_then(Value::as_bool);
    let by_engine = info.get("LiveRestoreEnabled").and_then(Value::as_bool);
    if by_file != Some(true) && by_engine != Some(true) {
        return Ok(Verdict::Pass);
    }
    let message = "live-restore is set on a swarm node; dockerd rejects the combination and will not start \
                   again";
    let fix = Fix::manual("Delete the key live-restore from daemon.json.");
    let subject = Subject {
        file: docker.daemon_json.known().map(|file| file.path.clone()),
        ..Subject::name("live-restore")
    };
    Ok(Verdict::error(message, fix).about(subject))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::sparse::host;

    use facts::testing::sparse::engine;

    #[test]
    fn live_restore_on_a_swarm_node_is_an_error() {
        let of = |state: &str, file: &str| {
            let info = format!(r#"{{"Swarm":{{"LocalNodeState":"{state}"}},"LiveRestoreEnabled":false}}"#);
            verdict_line(&CHECK, &host(&engine(&info, &[("read /etc/docker/daemon.json", file)])))
        };
        assert!(of("active", r#"{"live-restore": true}"#).starts_with("error: "));
        assert_eq!(of("active", "{}"), "pass");
        assert!(of("inactive", r#"{"live-restore": true}"#).starts_with("not-applicable"));
        assert!(of("active", "{").starts_with("unknown"));
    }
}
