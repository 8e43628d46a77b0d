//! A daemon.json that dockerd refuses or does not use.

use crate::read::machine::Machine;
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "daemon-json-refused",
    severity: Severity::Error,
    summary: "dockerd accepts daemon.json and uses every key in it",
    explain: include_str!("daemon_json_refused.md"),
    judge: Judge::Machine(judge),
    fires: &[
        named("daemon.json", "{\n  \"log-driver\": \"json-file\",\n}\n"),
        named("daemon.json", "{\n  \"registry-mirror\": [\"https://mirror.example\"]\n}\n"),
        named_with(
            "daemon.json",
            "{\n  \"hosts\": [\"tcp://10.0.0.2:2376\"]\n}\n",
            &[("docker.service", "[Service]\nExecStart=/usr/bin/dockerd -H fd://\n")],
        ),
    ],
    silent: &[
        named(
            "daemon.json",
            "{\n  \"default-runtime\": \"nvidia\",\n  \"runtimes\": \
             {\"nvidia\": {\"path\": \"nvidia-container-runtime\", \"args\": []}}\n}\n",
        ),
        named_with(
            "daemon.json",
            "{\n  \"hosts\": [\"tcp://10.0.0.2:2376\"]\n}\n",
            &[
                ("docker.service", "[Service]\nExecStart=/usr/bin/dockerd -H fd://\n"),
                ("docker.service.d/hosts.conf", "[Service]\nExecStart=\nExecStart=/usr/bin/dockerd\n"),
            ],
        ),
    ],
};

fn judge(machine: &Machine) -> Vec<Found> {
    super::judged(
        machine,
        &[
            "daemon-json-invalid",
            "daemon-json-unknown-key",
            "daemon-json-flag-conflict",
            "swarm-with-live-restore",
        ],
    )
}
