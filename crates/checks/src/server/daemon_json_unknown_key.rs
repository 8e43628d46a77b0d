//! daemon.json has a key that dockerd does not know.

use crate::{Applies, Check, Group, Judged, Severity, Subject, Verdict};
use catalog::Catalog;
use catalog::docker_daemon;
use catalog::release::{self, Version};
use facts::Facts;
use facts::docker::DaemonJson;
use serde_json::Value;

pub(super) const CHECK: Check = Check {
    id: "daemon-json-unknown-key",
    group: Group::Docker,
    severity: Severity::Error,
    applies: Applies::Host,
    summary: "this dockerd knows every key in daemon.json",
    explain: include_str!("daemon_json_unknown_key.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    let file = docker.daemon_json.require("no daemon.json")?;
    let Ok(value) = &file.value else {
        return Err(Verdict::NotApplicable("the file is not valid JSON".into()));
    };
    let version = docker.engine_version();
    let version = version.known();
    let read = docker
        .started
        .known()
        .zip(file.modified.known())
        .is_some_and(|(started, modified)| started > modified);
    let beyond = version.is_some_and(|version| version.major > newest(facts.catalog));
    let (unknown, idle) = classify(facts, value, version);
    let fix = crate::daemon_json::validate("Correct the key", facts, &file.path);
    if let Some((first, _)) = unknown.first().filter(|_| !read) {
        if beyond {
            return Err(Verdict::unknown(format!(
                "this engine is newer than envdoc's list of keys, which lacks {}",
                list(&unknown)
            )));
        }
        let message = format!(
            "{} has keys that dockerd does not know: {}; dockerd does not start with them",
            file.path,
            list(&unknown)
        );
        return Ok(Verdict::error(message, fix).about(key(file, first)));
    }
    if let Some((first, _)) = idle.first() {
        let message = format!("{} has keys that dockerd accepts but ignores: {}", file.path, list(&idle));
        return Ok(Verdict::warning(message, fix).about(key(file, first)));
    }
    Ok(Verdict::Pass)
}

/// A key, and what is wrong with it.
type Wrong<'a> = (&'a str, String);

/// Keys that dockerd does not know, and keys that it accepts and ignores.
fn classify<'a>(
    facts: &Facts,
    value: &'a Value,
    version: Option<&Version>,
) -> (Vec<Wrong<'a>>, Vec<Wrong<'a>>) {
    let (mut unknown, mut idle) = (Vec::new(), Vec::new());
    for name in crate::daemon_json::keys(facts, value) {
        let Some(row) = facts.catalog.docker_daemon().key(name) else {
            match facts.catalog.docker_daemon().flag(name) {
                Some(row) => idle.push((name, format!("{name:?} (use {:?})", row.key))),
                None => {
                    let what = match facts.catalog.docker_daemon().nearest(name) {
                        Some(near) => format!("{name:?} (did you mean {near:?}?)"),
                        None => format!("{name:?}"),
                    };
                    unknown.push((name, what));
                }
            }
            continue;
        };
        let Some(version) = version else { continue };
        if facts
            .catalog
            .docker_daemon()
            .all()
            .iter()
            .filter(|row| row.key == *name)
            .any(|row| accepts(row, version, newest(facts.catalog)))
        {
            continue;
        }
        let what = match release::parse(&row.since).is_some_and(|since| *version < since) {
            true => format!("{name:?} (known from {} on)", row.since),
            false => format!("{name:?} (known until {})", row.last),
        };
        unknown.push((name, what));
    }
    (unknown, idle)
}

fn key(file: &DaemonJson, name: &str) -> Subject {
    Subject { name: Some(name.to_owned()), ..Subject::file(&file.path) }
}

fn list(keys: &[(&str, String)]) -> String {
    keys.iter().map(|(_, what)| what.as_str()).collect::<Vec<_>>().join(", ")
}

/// Whether an engine of this version knows the key. What the newest engine that was read still knows has no
/// end.
fn accepts(row: &docker_daemon::Key, version: &Version, newest: u64) -> bool {
    let after = release::parse(&row.since).is_none_or(|since| *version >= since);
    let before =
        release::parse(&row.last).is_none_or(|last| last.major >= newest || version.major <= last.major);
    after && before
}

/// The newest series of the engine in the catalog.
fn newest(catalog: &Catalog) -> u64 {
    let last = catalog.docker_daemon().all().iter().filter_map(|row| release::parse(&row.last));
    last.map(|last| last.major).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{Sparse, sparse::host};

    use facts::testing::sparse::engine;

    const FILE: &str = "read /etc/docker/daemon.json";

    #[test]
    fn keys_are_checked_against_the_engine_version() {
        let stopped = |text: &str| verdict_line(&CHECK, &host(&Sparse::new(&[(FILE, text)])));
        let running = |version: &str, text: &str| {
            verdict_line(
                &CHECK,
                &host(&engine(&format!(r#"{{"ServerVersion":"{version}"}}"#), &[(FILE, text)])),
            )
        };
        assert!(stopped(r#"{"default_runtime": "nvidia"}"#).contains("did you mean \"default-runtime\""));
        assert!(stopped(r#"{"insecure-registry": ["a:5000"]}"#).starts_with("warning: "));
        assert!(running("24.0.7", r#"{"bip6": "fd00::1/64"}"#).contains("known from 28 on"));
        assert!(running("27.5.1", r#"{"graph": "/data"}"#).contains("known until 23.0"));
        assert!(running("30.0.0", r#"{"brand-new": 1}"#).starts_with("unknown: "));
        for version in ["19.03.15", "23.0.6", "29.7.2"] {
            assert_eq!(
                running(version, r#"{"runtimes": {"nvidia": {"path": "x"}}, "exec-opts": []}"#),
                "pass"
            );
        }
        assert_eq!(
            running("29.7.2", r#"{"proxies": {"http-proxy": "http://p"}, "features": {"cdi": true}}"#),
            "pass"
        );
        assert_eq!(running("20.10.24", r#"{"features": {"buildkit": true}}"#), "pass", "two rows of one key");
        assert_eq!(running("20.10.24+dfsg1", r#"{"oom-score-adjust": -1}"#), "pass");
    }
}
