//! A container's sshd on the host's own port 22.

use crate::read::compose::{Compose, Service};
use crate::rule::{Found, Judge, Rule, Severity, compose};

pub(crate) const RULE: Rule = Rule {
    id: "sshd-port-taken",
    severity: Severity::Warning,
    summary: "no container uses port 22 of the host",
    explain: include_str!("sshd_port_taken.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose("services:\n  a:\n    image: b\n    network_mode: host\n    command: /usr/sbin/sshd -D\n"),
        compose("services:\n  a:\n    image: b\n    ports: [\"22:22\"]\n"),
    ],
    silent: &[
        compose(
            "services:\n  a:\n    image: b\n    network_mode: host\n    command: /usr/sbin/sshd -D -p 2222\n",
        ),
        compose("services:\n  a:\n    image: b\n    ports: [\"2222:22\"]\n    command: /usr/sbin/sshd -D\n"),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    file.services.iter().filter_map(finding).collect()
}

fn finding(service: &Service) -> Option<Found> {
    let command = service.command();
    let starts = command
        .split(|c: char| c.is_whitespace() || ";&".contains(c))
        .any(|word| word.rsplit('/').next() == Some("sshd"))
        || command.contains("service ssh start")
        || command.contains("init.d/ssh start");
    let port = command.contains("sshd") && (command.contains(" -p") || command.contains("Port"));
    let fix = "Use `sshd -D -p 2222`, and the same port on the clients";
    if service.text("network_mode").as_deref() == Some("host") && starts && !port {
        let message = format!(
            "service {} starts sshd on host port 22, which the host's sshd already uses; sshd fails to bind",
            service.name
        );
        return Some(Found::warning(service.line_of("command"), message, fix));
    }
    let published = service.list(&["ports"]).iter().any(|one| {
        let parts: Vec<&str> = one.split('/').next().unwrap_or_default().split(':').collect();
        parts.len() >= 2
            && parts[parts.len() - 2] == "22"
            && !parts.first().is_some_and(|ip| ip.contains('.') || ip.contains('['))
    });
    published.then(|| {
        let message = format!(
            "service {} publishes host port 22, which the host's sshd already uses; the container does not \
             start",
            service.name
        );
        Found::warning(service.line_of("ports"), message, "Publish `2222:22`")
    })
}
