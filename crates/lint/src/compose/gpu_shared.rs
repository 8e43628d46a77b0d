//! Several services on the same GPUs.

use crate::read::compose::{Compose, Gpus, Service};
use crate::rule::{Found, Judge, Rule, Severity, compose};

pub(crate) const RULE: Rule = Rule {
    id: "gpu-shared",
    severity: Severity::Note,
    summary: "no two services use the same GPU by accident",
    explain: include_str!("gpu_shared.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose("services:\n  a:\n    image: x\n    gpus: all\n  b:\n    image: y\n    gpus: all\n"),
        compose(
            "services:\n  a:\n    image: x\n    runtime: nvidia\n    environment: \
             [\"NVIDIA_VISIBLE_DEVICES=0,1\"]\n  b:\n    image: y\n    deploy: \
             {resources: {reservations: {devices: [{capabilities: [gpu], device_ids: [\"1\"]}]}}}\n",
        ),
    ],
    silent: &[
        compose(
            "services:\n  a:\n    image: x\n    deploy: \
             {resources: {reservations: {devices: [{capabilities: [gpu], device_ids: [\"0\"]}]}}}\n  b:\n    \
             image: y\n    deploy: {resources: {reservations: {devices: [{capabilities: [gpu], device_ids: \
             [\"1\"]}]}}}\n",
        ),
        compose(
            "services:\n  a:\n    image: x\n    gpus: all\n    profiles: [a]\n  b:\n    image: y\n    gpus: \
             all\n    profiles: [b]\n",
        ),
        compose("services:\n  a:\n    image: x\n    gpus: all\n  b:\n    image: y\n"),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let users: Vec<(&Service, Gpus)> =
        file.services.iter().filter_map(|service| Some((service, service.gpus()?))).collect();
    users
        .iter()
        .enumerate()
        .filter_map(|(index, (service, gpus))| {
            let (other, _) = users[..index]
                .iter()
                .find(|(other, theirs)| together(service, other) && same(gpus, theirs))?;
            let message = format!(
                "services {} and {} use the same GPUs; a device request does not reserve them",
                other.name, service.name
            );
            Some(Found::note(
                service.line.clone(),
                message,
                "Set different `device_ids`, unless sharing is intended",
            ))
        })
        .collect()
}

/// Whether two services can run at the same time: not behind different profiles.
fn together(one: &Service, other: &Service) -> bool {
    let (mine, theirs) = (one.list(&["profiles"]), other.list(&["profiles"]));
    mine.is_empty() && theirs.is_empty() || mine.iter().any(|profile| theirs.contains(profile))
}

fn same(one: &Gpus, other: &Gpus) -> bool {
    match (one, other) {
        (Gpus::Ids(mine), Gpus::Ids(theirs)) => mine.iter().any(|id| theirs.contains(id)),
        (Gpus::All, Gpus::All | Gpus::Ids(_) | Gpus::Count(_))
        | (Gpus::Ids(_) | Gpus::Count(_), Gpus::All) => true,
        _ => false,
    }
}
