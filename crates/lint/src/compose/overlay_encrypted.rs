//! Training traffic through an encrypted overlay network.

use crate::read::compose::{Compose, below, text};
use crate::rule::{Found, Judge, Rule, Severity, compose, stack};

pub(crate) const RULE: Rule = Rule {
    id: "overlay-encrypted",
    severity: Severity::Warning,
    summary: "overlay networks of GPU services are not encrypted",
    explain: include_str!("overlay_encrypted.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose(
            "services:\n  a:\n    image: b\n    gpus: all\n    networks: [n]\n\
             networks:\n  n:\n    driver: overlay\n    driver_opts:\n      encrypted: \"true\"\n",
        ),
        stack(
            "services:\n  a:\n    image: b\n    networks: [n]\n\
             networks:\n  n:\n    driver: overlay\n    driver_opts:\n      encrypted: \"\"\n",
        ),
    ],
    silent: &[
        compose(
            "services:\n  a:\n    image: b\n    gpus: all\n    networks: [n]\n\
             networks:\n  n:\n    driver: overlay\n    attachable: true\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    networks: [n]\n\
             networks:\n  n:\n    driver_opts:\n      encrypted: \"false\"\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let mut found = Vec::new();
    for (name, network) in file.networks() {
        let Some(option) = below(network, &["driver_opts", "encrypted"]) else { continue };
        if text(option).as_deref() == Some("false") {
            continue;
        }
        let line = file.line(&["networks", name, "driver_opts", "encrypted"]);
        let user = file.services.iter().find(|service| {
            let uses = service.networks().iter().any(|one| one == name);
            uses && (service.gpus().is_some() || service.needs_gpus(file.catalog).is_some())
        });
        let fix = "Use a network without `encrypted` for training, or `network_mode: host`";
        found.push(match user {
            Some(service) => {
                let message = format!(
                    "service {} uses the encrypted overlay network {name}; IPsec on every packet reduces \
                     bandwidth",
                    service.name
                );
                Found::warning(line, message, fix)
            }
            None => Found::note(
                line,
                format!("overlay network {name} is encrypted; IPsec on every packet reduces bandwidth"),
                fix,
            ),
        });
    }
    found
}
