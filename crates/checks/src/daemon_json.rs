//! daemon.json: its keys, and how a corrected file is validated.
use diagnostic::shell;
use facts::docker::State;
use facts::{Fact, Facts};
use serde_json::Value;

use crate::{Fix, FixClass};

/// The keys that dockerd sees: those of an object that is no value of its own count as keys of the file.
pub(crate) fn keys<'v>(facts: &Facts, value: &'v Value) -> Vec<&'v str> {
    let mut keys = Vec::new();
    for (name, value) in value.as_object().into_iter().flatten() {
        match value.as_object() {
            Some(inner) if !facts.catalog.docker_daemon().key(name).is_some_and(|row| row.flat) => {
                keys.extend(inner.keys().map(String::as_str))
            }
            _ => keys.push(name.as_str()),
        }
    }
    keys
}

/// dockerd itself judges the file from 23.0 on (`--validate`); an older one does when it is started.
pub(crate) fn validate(what: &str, facts: &Facts, path: &str) -> Fix {
    if facts.docker.at_least("23.0") == Fact::Known(false) {
        return Fix {
            title: format!("{what}, restart the engine and read its log:"),
            commands: vec![
                "sudo systemctl restart docker".into(),
                "sudo journalctl -u docker -n 20 --no-pager".into(),
            ],
            edits: Vec::new(),
            class: FixClass::RestartsService,
        };
    }
    let mut commands = vec![format!("sudo dockerd --validate --config-file={}", shell::word(path))];
    let mut then = "validate the file";
    if matches!(facts.docker.state(), State::Stopped(_)) && facts.system.systemd.known() == Some(&true) {
        commands.push("sudo systemctl start docker".into());
        then = "validate the file and start Docker";
    }
    Fix { title: format!("{what}, then {then}:"), commands, edits: Vec::new(), class: FixClass::Safe }
}
