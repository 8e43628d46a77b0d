//! Training traffic through an encrypted overlay network.

use crate::read::compose::{Compose, below, text};
use crate::rule::{Found, Judge, Rule, Severity, compose, stack};

/// The rule.
pub const RULE: Rule = Rule {
    id: "overlay-encrypted",
    severity: Severity::Warning,
    summary: "the overlay network of GPU services is not encrypted",
    explain: include_str!("overlay_encrypted.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose(
            "services:\n  a:\n    image: b\n    gpus: all\n    networks: [n]\nnetworks:\n  n:\n    driver: overlay\n    driver_opts:\n      encrypted: \"true\"\n",
        ),
        stack(
            "services:\n  a:\n    image: b\n    networks: [n]\nnetworks:\n  n:\n    driver: overlay\n    driver_opts:\n      encrypted: \"\"\n",
        ),
    ],
    silent: &[
        compose(
            "services:\n  a:\n    image: b\n    gpus: all\n    networks: [n]\nnetworks:\n  n:\n    driver: overlay\n    attachable: true\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    networks: [n]\nnetworks:\n  n:\n    driver_opts:\n      encrypted: \"false\"\n",
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
            uses && (service.gpus().is_some() || service.needs_gpus().is_some())
        });
        let fix = "a network without `encrypted` for training, or network_mode: host";
        found.push(match user {
            Some(service) => {
                let says = format!(
                    "service {} trains over the encrypted overlay {name}: every packet goes through IPsec",
                    service.name
                );
                Found::warning(line, says, fix)
            }
            None => Found::note(
                line,
                format!("the overlay {name} is encrypted: every packet goes through IPsec"),
                fix,
            ),
        });
    }
    found
}
