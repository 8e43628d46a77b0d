//! An external network that may not be there yet.

use diagnostic::Fix;

use crate::read::compose::{Compose, Gpus, IsStack, below, text};
use crate::rule::{Found, Judge, Rule, Severity, compose};

pub(crate) const RULE: Rule = Rule {
    id: "external-network-unseen",
    severity: Severity::Note,
    summary: "an external network used by GPU services exists on every node",
    explain: include_str!("external_network_unseen.md"),
    judge: Judge::Compose(judge),
    fires: &[compose(
        "services:\n  a:\n    image: b\n    gpus: all\n    networks: [n]\n\
         networks:\n  n:\n    external: true\n",
    )],
    silent: &[
        compose(
            "services:\n  a:\n    image: b\n    gpus: all\n    networks: [n]\n\
             networks:\n  n:\n    driver: bridge\n",
        ),
        compose("services:\n  a:\n    image: b\n    networks: [n]\nnetworks:\n  n:\n    external: true\n"),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    if file.stack != IsStack::No {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (name, network) in file.networks() {
        let external = below(network, &["external"])
            .is_some_and(|value| value.is_mapping() || text(value).as_deref() == Some("true"));
        let used = |gpus: Option<Gpus>, networks: Vec<String>| {
            gpus.is_some() && networks.iter().any(|one| one == name)
        };
        if external && file.services.iter().any(|service| used(service.gpus(), service.networks())) {
            let message = format!(
                "external network {name} must already exist; a worker does not see an overlay network until \
                 a container on it is attached"
            );
            let command =
                format!("docker run -d --network {} busybox sleep infinity", diagnostic::shell::word(name));
            let fix = Fix::run("Attach a container on each worker first:", command);
            found.push(Found::note(file.line(&["networks", name, "external"]), message, fix));
        }
    }
    found
}
