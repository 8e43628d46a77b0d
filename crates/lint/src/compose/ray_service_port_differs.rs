//! Services of Ray that join another port than the head's.

use crate::ray::{RayStart, differ, starts_of_words};
use crate::read::compose::{Compose, Service, words};
use crate::rule::{Found, Judge, Rule, Severity, compose};

pub(crate) const RULE: Rule = Rule {
    id: "ray-service-port-differs",
    severity: Severity::Error,
    summary: "the services of a Ray cluster join the port of its head",
    explain: include_str!("ray_service_port_differs.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose(
            "services:\n  head:\n    image: rayproject/ray:2.40.0-gpu\n    command: ray start --head \
             --port=6380 --block\n  \
             worker:\n    image: rayproject/ray:2.40.0-gpu\n    command: ray start --address=head:6379 \
             --block\n",
        ),
        compose(
            "services:\n  head:\n    image: a\n    command: [bash, -c, \"ray start --head && sleep \
             infinity\"]\n  \
             worker:\n    image: a\n    command: [\"ray\", \"start\", \"--address\", \"head:6380\", \
             \"--block\"]\n",
        ),
    ],
    silent: &[
        compose(
            "services:\n  head:\n    image: a\n    command: ray start --head --port=6380 --block\n  \
             worker:\n    image: a\n    \
             command: ray start --address=head:6380 --block\n",
        ),
        compose(
            "services:\n  head:\n    image: a\n    command: ray start --head --port=${PORT} --block\n  \
             worker:\n    image: \
             a\n    command: ray start --address=head:6379 --block\n  other:\n    image: a\n    command: \
             ray start \
             --address=elsewhere:6399 --block\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let of = |service: &Service| {
        let command = service.at(&["command"]).or_else(|| service.at(&["entrypoint"]));
        starts_of_words(file.catalog, &words(command))
    };
    let all: Vec<(&Service, Vec<RayStart>)> = file.services.iter().map(|one| (one, of(one))).collect();
    let port_of = |host: &str| {
        let (_, starts) = all.iter().find(|(service, _)| service.name == host)?;
        starts.iter().find_map(|one| match one {
            RayStart::Head { port, .. } => Some(port.clone()),
            RayStart::Worker { .. } => None,
        })
    };
    let workers = all.iter().flat_map(|(service, starts)| starts.iter().map(move |one| (*service, one)));
    let found = workers.filter_map(|(service, one)| {
        let RayStart::Worker { host, port, .. } = one else { return None };
        let head = port_of(host)?;
        let message = format!(
            "service {} joins {host}:{port}, but Ray's head in service {host} listens on {head}; it never \
             joins the \
             cluster",
            service.name
        );
        let key = if service.at(&["command"]).is_some() { "command" } else { "entrypoint" };
        let fix = format!("Join {host}:{head}");
        differ(port, &head).then(|| Found::error(service.line_of(key), message, fix))
    });
    found.collect()
}
