//! A Docker API that anybody reaches over the network.

use serde_json::Value;

use crate::read::machine::Machine;
use crate::rule::{Found, Judge, Kind, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "docker-api-open",
    severity: Severity::Error,
    summary: "a Docker API on the network checks the certificates of its clients",
    explain: include_str!("docker_api_open.md"),
    judge: Judge::Machine(judge),
    fires: &[
        named(
            "daemon.json",
            "{\n  \"hosts\": [\"unix:///var/run/docker.sock\", \"tcp://0.0.0.0:2375\"]\n}\n",
        ),
        named("daemon.json", "{\n  \"tls\": true,\n  \"hosts\": [\"fd://\", \"tcp://:2376\"]\n}\n"),
        named("daemon.json", "{\n  \"hosts\": [\"tcp://10.0.0.7:2375\"]\n}\n"),
    ],
    silent: &[
        named(
            "daemon.json",
            "{\n  \"hosts\": [\"tcp://0.0.0.0:2376\"],\n  \"tlsverify\": true,\n  \"tlscacert\": \
             \"/etc/docker/ca.pem\",\n  \"tlscert\": \"/etc/docker/cert.pem\",\n  \"tlskey\": \
             \"/etc/docker/key.pem\"\n}\n",
        ),
        named(
            "daemon.json",
            "{\n  \"hosts\": [\"unix:///var/run/docker.sock\", \"tcp://127.0.0.1:2375\"]\n}\n",
        ),
        named("daemon.json", "{\n  \"hosts\": [\"fd://\"]\n}\n"),
    ],
};

fn judge(machine: &Machine) -> Vec<Found> {
    let read: Result<Value, _> = serde_json::from_str(&machine.text);
    let (Kind::DaemonJson, Ok(Value::Object(file))) = (machine.kind, read) else { return Vec::new() };
    let verifies = file.get("tlsverify").and_then(Value::as_bool) == Some(true);
    let hosts = file.get("hosts").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let open =
        hosts.filter_map(|host| Some((host, address(host)?))).filter(|(_, address)| !is_local(address));
    let found = open.filter(|_| !verifies).map(|(host, address)| {
        let line = machine.text.lines().position(|line| line.contains(host)).map_or(1, |index| index + 1);
        let every = matches!(address, "" | "0.0.0.0" | "[::]");
        let message = format!(
            "{host} gives the Docker API to everybody who reaches the port, without a client certificate; \
             that is root on this machine"
        );
        let fix = "Remove it and use ssh (`docker -H ssh://HOST`), or set \"tlsverify\": true with \
                   tlscacert, tlscert and tlskey";
        Found::error(line, message, fix).unless_certain(every)
    });
    found.take(1).collect()
}

/// The address of `tcp://ADDRESS:PORT`.
fn address(host: &str) -> Option<&str> {
    let rest = host.strip_prefix("tcp://")?;
    let rest = rest.split('/').next().unwrap_or_default();
    Some(match rest.rfind(':') {
        Some(at) if !rest[at..].contains(']') => &rest[..at],
        _ => rest,
    })
}

/// Whether only this machine reaches an address.
fn is_local(address: &str) -> bool {
    address.starts_with("127.") || matches!(address, "localhost" | "[::1]" | "::1")
}
