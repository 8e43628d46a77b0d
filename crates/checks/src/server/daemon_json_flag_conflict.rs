//! The same thing is set by a flag and in daemon.json.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;
use facts::docker::flags;

pub(super) const CHECK: Check = Check {
    id: "daemon-json-flag-conflict",
    group: Group::Docker,
    severity: Severity::Error,
    applies: Applies::Host,
    summary: "no daemon.json key is also a flag on dockerd's command line",
    explain: include_str!("daemon_json_flag_conflict.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    let file = docker.daemon_json.require("no daemon.json")?;
    let Ok(value) = &file.value else {
        return Err(Verdict::NotApplicable("the file is not valid JSON".into()));
    };
    let (argv, source) = match (docker.unit.decided()?, docker.command_line.decided()?) {
        (Some(unit), _) => (&unit.argv, unit.path.clone()),
        (None, Some(argv)) => (argv, "the running dockerd's command line".to_owned()),
        (None, None) => {
            return Err(Verdict::NotApplicable("no docker.service and no running dockerd".into()));
        }
    };
    let keys = crate::daemon_json::keys(facts, value);
    let mut twice: Vec<(&str, String)> = flags(facts.catalog, argv)
        .iter()
        .filter_map(|(flag, value)| {
            let key = &facts.catalog.docker_daemon().flag(flag)?.key;
            let there = keys.contains(&key.as_str()) && key != "runtimes";
            there.then(|| (key.as_str(), format!("{key:?} and --{flag}={value}")))
        })
        .collect();
    twice.dedup();
    let Some((first, _)) = twice.first() else { return Ok(Verdict::Pass) };
    let message = format!(
        "set both in {} and as a dockerd flag: {}; dockerd does not start with both",
        file.path,
        twice.iter().map(|(_, what)| what.as_str()).collect::<Vec<_>>().join(", ")
    );
    let fix = Fix::safe(
        "Delete the key from the file, or remove the flag from the command line:",
        &["sudo systemctl edit docker.service"],
    );
    let subject = Subject { name: Some((*first).to_owned()), ..Subject::file(&file.path) };
    Ok(Verdict::error(message, fix).about(subject).evidence(format!("flags: {} ({source})", argv.join(" "))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{Sparse, sparse::host};

    const FILE: &str = "read /etc/docker/daemon.json";
    const UNIT: &str =
        "[Service]\nExecStart=/usr/bin/dockerd -H fd:// --containerd=/run/containerd/containerd.sock\n";

    #[test]
    fn reports_hosts_key_that_conflicts_with_host_flag() {
        let with = |text: &str| {
            let unit = "/lib/systemd/system/docker.service";
            let (stat, read) = (format!("stat {unit}"), format!("read {unit}"));
            verdict_line(&CHECK, &host(&Sparse::new(&[(FILE, text), (&stat, "{}"), (&read, UNIT)])))
        };
        let found = with(r#"{"hosts": ["unix:///var/run/docker.sock", "tcp://0.0.0.0:2375"]}"#);
        assert!(found.starts_with("error: ") && found.contains("\"hosts\" and --host=fd://"), "{found}");
        assert_eq!(with(r#"{"data-root": "/data"}"#), "pass");
        let alone = verdict_line(&CHECK, &host(&Sparse::new(&[(FILE, "{}")])));
        assert!(alone.starts_with("not-applicable"), "{alone}");
        let unknown =
            Sparse::new(&[(FILE, "{}")]).failing(&[("stat /lib/systemd/system/docker.service", "no rights")]);
        assert!(verdict_line(&CHECK, &host(&unknown)).starts_with("unknown"));
    }
}
