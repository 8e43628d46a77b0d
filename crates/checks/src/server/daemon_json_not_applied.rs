//! daemon.json was changed after the engine started.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::docker::texts;
use facts::{Fact, Facts};
use serde_json::Value;

pub(super) const CHECK: Check = Check {
    id: "daemon-json-not-applied",
    group: Group::Docker,
    severity: Severity::Warning,
    applies: Applies::Host,
    summary: "the running engine uses the current daemon.json",
    explain: include_str!("daemon_json_not_applied.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    let file = docker.daemon_json.require("no daemon.json")?;
    let info = docker.answering()?;
    let Ok(value) = &file.value else {
        return Err(Verdict::NotApplicable("the file is not valid JSON".into()));
    };
    let started = *docker.started.require("the dockerd process is not on this machine")?;
    let modified = *file.modified.require("no daemon.json")?;
    // The start is known to the second, and the clock may have been set since.
    if modified <= started + 2 {
        return Ok(Verdict::Pass);
    }
    let mut differs = differences(value, info);
    // swarm-with-live-restore says what a restart would do then.
    if docker.in_swarm() == Fact::Known(true) {
        let wanted = value.get("live-restore").and_then(Value::as_bool) == Some(true);
        differs.retain(|(key, _)| !(wanted && *key == "live-restore"));
    }
    let hidden: Vec<&str> = value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, _)| key.as_str())
        .filter(|key| !SHOWN.contains(key))
        .collect();
    let Some((first, _)) = differs.first() else {
        return if hidden.is_empty() {
            Ok(Verdict::Pass)
        } else {
            Err(Verdict::unknown(format!(
                "{} changed after the engine started; the engine does not report whether it uses: {}",
                file.path,
                hidden.join(", ")
            )))
        };
    };
    let message = format!(
        "{} changed after the engine started, and the engine still uses the old settings: {}",
        file.path,
        differs.iter().map(|(_, how)| how.as_str()).collect::<Vec<_>>().join("; ")
    );
    let fix = Fix::restarts_service(
        "Restart the engine (containers stop unless live-restore is on):",
        &["sudo systemctl restart docker"],
    );
    let subject = Subject { name: Some((*first).to_owned()), ..Subject::file(&file.path) };
    Ok(Verdict::warning(message, fix).about(subject).evidence(format!(
        "engine started {}, file changed {}",
        day(started),
        day(modified)
    )))
}

fn day(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds)
        .map_or_else(|_| seconds.to_string(), |time| time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

/// Keys whose effect `/info` shows.
const SHOWN: &[&str] = &[
    "runtimes",
    "default-runtime",
    "data-root",
    "exec-opts",
    "storage-driver",
    "log-driver",
    "registry-mirrors",
    "live-restore",
    "debug",
    "experimental",
    "labels",
    "proxies",
];

/// Each key that differs, and how.
fn differences(file: &Value, info: &Value) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let text = |value: &Value, key: &str| {
        value.get(key).and_then(Value::as_str).map(|t| t.trim_end_matches('/').to_owned())
    };
    for (key, shown) in [
        ("default-runtime", "DefaultRuntime"),
        ("data-root", "DockerRootDir"),
        ("storage-driver", "Driver"),
        ("log-driver", "LoggingDriver"),
    ] {
        if let (Some(wanted), Some(has)) = (text(file, key), text(info, shown)) {
            // A default runtime may be shown by its full name.
            if wanted != has && !(key == "default-runtime" && has.contains(&wanted)) {
                found.push((key, format!("{key} is {wanted} in the file but {has} in the engine")));
            }
        }
    }
    for (key, shown) in
        [("live-restore", "LiveRestoreEnabled"), ("debug", "Debug"), ("experimental", "ExperimentalBuild")]
    {
        let (wanted, has) =
            (file.get(key).and_then(Value::as_bool), info.get(shown).and_then(Value::as_bool));
        if let (Some(wanted), Some(has)) = (wanted, has)
            && wanted != has
        {
            found.push((key, format!("{key} is {wanted} in the file but {has} in the engine")));
        }
    }
    if let (Some(wanted), Some(has)) =
        (file.get("runtimes").and_then(Value::as_object), info.get("Runtimes").and_then(Value::as_object))
    {
        for name in wanted.keys().filter(|name| !has.contains_key(*name)) {
            found.push(("runtimes", format!("runtime {name} is in the file but not in the engine")));
        }
    }
    let driver = texts(file.get("exec-opts"))
        .iter()
        .find_map(|option| option.strip_prefix("native.cgroupdriver=").map(str::to_owned));
    if let (Some(wanted), Some(has)) = (driver, text(info, "CgroupDriver"))
        && wanted != has
    {
        found.push((
            "exec-opts",
            format!("the cgroup driver is {wanted} in the file but {has} in the engine"),
        ));
    }
    let mirrors: Vec<String> = texts(info.pointer("/RegistryConfig/Mirrors"))
        .iter()
        .map(|m| m.trim_end_matches('/').to_owned())
        .collect();
    for mirror in texts(file.get("registry-mirrors")) {
        if !mirrors.contains(&mirror.trim_end_matches('/').to_owned()) {
            found.push((
                "registry-mirrors",
                "a registry mirror is in the file but not in the engine".to_owned(),
            ));
            break;
        }
    }
    let labels = texts(info.get("Labels"));
    if texts(file.get("labels")).iter().any(|label| !labels.contains(label)) {
        found.push(("labels", "a label is in the file but not in the engine".to_owned()));
    }
    for (key, shown) in [("http-proxy", "HttpProxy"), ("https-proxy", "HttpsProxy")] {
        let wanted = file
            .get("proxies")
            .and_then(|proxies| proxies.get(key))
            .and_then(Value::as_str)
            .filter(|v| !v.is_empty());
        if wanted.is_some() && text(info, shown).unwrap_or_default().is_empty() {
            found.push(("proxies", format!("{key} is in the file but not in the engine")));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::sparse::host;

    use facts::Fact;
    use facts::testing::sparse::engine;

    #[test]
    fn reports_settings_changed_after_engine_start() {
        let with = |text: &str, modified: i64| {
            let info = r#"{"DefaultRuntime":"runc","Runtimes":{"runc":{"path":"runc"}},
                "CgroupDriver":"systemd",
                "DockerRootDir":"/var/lib/docker"}"#;
            let mut facts = host(&engine(info, &[("read /etc/docker/daemon.json", text)]));
            facts.docker.started = Fact::Known(1_000);
            if let Fact::Known(file) = &mut facts.docker.daemon_json {
                file.modified = Fact::Known(modified);
            }
            verdict_line(&CHECK, &facts)
        };
        let text =
            r#"{"runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}, "default-runtime": "nvidia"}"#;
        let found = with(text, 2_000);
        assert!(found.starts_with("warning: ") && found.contains("runtime nvidia is in the file"), "{found}");
        assert_eq!(with(text, 500), "pass");
        assert_eq!(
            with(r#"{"data-root": "/var/lib/docker", "exec-opts": ["native.cgroupdriver=systemd"]}"#, 2_000),
            "pass"
        );
        assert!(with(r#"{"bip": "10.0.0.1/24"}"#, 2_000).starts_with("unknown: "));
    }
}
