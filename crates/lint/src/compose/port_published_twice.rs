//! Two services on one port of the host.

use serde_yaml::Value;

use crate::read::compose::{Compose, IsStack, Service, below, text};
use crate::rule::{Found, Judge, Rule, Severity, compose};
use crate::servers::of_service;

pub(crate) const RULE: Rule = Rule {
    id: "port-published-twice",
    severity: Severity::Error,
    summary: "no two services that run together publish the same port of the host",
    explain: include_str!("port_published_twice.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose(
            "services:\n  a:\n    image: b\n    ports: [\"8000:8000\"]\n  c:\n    image: b\n    ports: \
                [\"8000:80\"]\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    ports: [\"8000-8010:8000-8010\"]\n  c:\n    image: b\n\
                \x20   ports: [{target: 80, published: \"8005\"}]\n",
        ),
        compose("services:\n  a:\n    image: b\n    ports: [\"8000:8000\"]\n    deploy: {replicas: 2}\n"),
        compose("services:\n  a:\n    image: b\n    ports: [\"80000:80\"]\n"),
        compose("services:\n  a:\n    image: b\n    ports: [\"8000-8003:80-81\"]\n"),
        compose(
            "services:\n  a:\n    image: vllm/vllm-openai:v0.9.1\n    network_mode: host\n    command: \
             --model \
             a/b\n  c:\n    image: vllm/vllm-openai:v0.9.1\n    network_mode: host\n    command: --model \
             c/d\n",
        ),
        compose(
            "services:\n  web:\n    image: nginx\n    ports: [\"8000:80\"]\n  llm:\n    image: \
             vllm/vllm-openai:v0.9.1\n    network_mode: host\n    command: --model a/b\n",
        ),
    ],
    silent: &[
        compose(
            "services:\n  a:\n    image: vllm/vllm-openai:v0.9.1\n    network_mode: host\n    command: \
             --model \
             a/b\n  c:\n    image: vllm/vllm-openai:v0.9.1\n    network_mode: host\n    command: --model c/d \
             --port 8001\n  d:\n    image: vllm/vllm-openai:v0.9.1\n    command: --model c/d\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    ports: [\"8000-9000:80\"]\n  c:\n    image: b\n    ports: \
                [\"8000-9000:80\"]\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    ports: [\"8000:8000\", \"53:53/udp\"]\n  c:\n    image: \
                b\n    \
             ports: [\"8001:8000\", \"53:53/tcp\", \"9000\"]\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    profiles: [x]\n    ports: [\"8000:80\"]\n  c:\n    \
                image: b\n    \
             profiles: [y]\n    ports: [\"8000:80\"]\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    ports: [\"127.0.0.1:8000:80\"]\n  c:\n    image: b\n    \
                ports: \
             [\"10.0.0.1:8000:80\", \"${PORT:-8000}:80\"]\n",
        ),
    ],
};

/// Ports of the host that an entry publishes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Published {
    address: String,
    from: u32,
    to: u32,
    protocol: String,
    /// A range of the host for one port of the container: Docker takes a port of it that is free.
    picks: bool,
}

fn judge(file: &Compose) -> Vec<Found> {
    if file.broken.is_some() || file.stack == IsStack::Yes {
        return Vec::new();
    }
    let mut seen: Vec<(&Service, Published)> = Vec::new();
    let mut found = Vec::new();
    let on_host = |one: &&Service| one.text("network_mode").as_deref() != Some("host");
    for service in file.services.iter().filter(on_host) {
        let line = || service.line_of("ports");
        found.extend(entries(service).iter().filter_map(|entry| out_of_range(service, entry)));
        for one in published(service) {
            let other = seen.iter().find(|(other, known)| overlap(known, &one) && together(other, service));
            if let Some((other, _)) = other {
                let message = format!(
                    "services {} and {} both publish port {} of the host; the second container does not \
                        start",
                    other.name, service.name, one.from
                );
                // `docker compose up NAME` starts a service with a profile without the others.
                let both = other.list(&["profiles"]).is_empty() == service.list(&["profiles"]).is_empty();
                found.push(Found::error(line(), message, "Publish another port").unless_certain(both));
            }
            seen.push((service, one));
        }
        let count = service.at(&["deploy", "replicas"]).or(service.at(&["scale"])).and_then(text);
        let count = count.and_then(|count| count.parse::<u32>().ok()).unwrap_or(1);
        let fixed = published(service).into_iter().find(|one| one.to - one.from + 1 < count);
        found.extend(fixed.filter(|_| count > 1).map(|one| {
            let message = format!(
                "{count} replicas of service {} publish port {} of the \
                    host",
                service.name, one.from
            );
            Found::error(line(), message, "Publish a range of ports, or no port of the host")
        }));
    }
    found.extend(on_host_itself(file, &seen));
    found
}

/// Servers with `network_mode: host` that listen on a port of another one.
fn on_host_itself(file: &Compose, published: &[(&Service, Published)]) -> Vec<Found> {
    let of_host = |one: &&Service| one.text("network_mode").as_deref() == Some("host");
    let mut seen: Vec<(&Service, u16)> = Vec::new();
    let mut found = Vec::new();
    for service in file.services.iter().filter(of_host) {
        let Some(server) = of_service(file, service) else { continue };
        let Some(port) = server.port().map(|port| port.number) else { continue };
        let listens = seen.iter().find(|(other, number)| *number == port && together(other, service));
        let number = u32::from(port);
        let takes = |one: &Published| {
            one.from <= number
                && number <= one.to
                && !one.picks
                && one.protocol == "tcp"
                && one.address.is_empty()
        };
        let publishes = published.iter().find(|(other, one)| takes(one) && together(other, service));
        let other = listens.map(|(other, _)| (other, "listens on"));
        if let Some((other, how)) = other.or(publishes.map(|(other, _)| (other, "publishes"))) {
            let message = format!(
                "service {}: {}, and service {} {how} port {port} of the host too; the second one fails \
                 (`address \
                 already in use`)",
                service.name,
                server.sentence(),
                other.name
            );
            found.push(Found::error(
                service.line_of("network_mode"),
                message,
                "Give one of them another port",
            ));
        }
        seen.push((service, port));
    }
    found
}

/// The parts of a port in short syntax: address, ports of the host and of the container, protocol.
fn entries(service: &Service) -> Vec<(String, String, String, String)> {
    let Some(Value::Sequence(items)) = service.at(&["ports"]) else { return Vec::new() };
    let short = |item: String| {
        let (ports, protocol) = item.split_once('/').unwrap_or((&item, "tcp"));
        let parts: Vec<&str> = ports.rsplitn(3, ':').collect();
        let of = |at: usize| parts.get(at).copied().unwrap_or_default().to_owned();
        (of(2), of(1), of(0), protocol.to_owned())
    };
    let long = |item: &Value| {
        let of = |key: &str| below(item, &[key]).and_then(text).unwrap_or_default();
        let protocol = Some(of("protocol")).filter(|one| !one.is_empty()).unwrap_or("tcp".to_owned());
        (of("host_ip"), of("published"), of("target"), protocol)
    };
    let all = items.iter().map(|item| text(item).map_or_else(|| long(item), short));
    all.filter(|(address, host, inner, _)| ![address, host, inner].iter().any(|one| one.contains('$')))
        .collect()
}

fn published(service: &Service) -> Vec<Published> {
    let one = |(address, host, inner, protocol): (String, String, String, String)| {
        let (from, to) = range(&host)?;
        let picks = from < to && range(&inner).is_some_and(|(first, last)| first == last);
        let address =
            if matches!(address.as_str(), "0.0.0.0" | "::" | "[::]") { String::new() } else { address };
        Some(Published { address, from, to, protocol, picks })
    };
    entries(service).into_iter().filter_map(one).collect()
}

fn range(ports: &str) -> Option<(u32, u32)> {
    let (from, to) = ports.split_once('-').unwrap_or((ports, ports));
    Some((from.parse().ok()?, to.parse().ok()?)).filter(|(from, to)| from <= to)
}

fn overlap(one: &Published, other: &Published) -> bool {
    let address = one.address.is_empty() || other.address.is_empty() || one.address == other.address;
    !one.picks
        && !other.picks
        && address
        && one.protocol == other.protocol
        && one.from <= other.to
        && other.from <= one.to
}

fn together(one: &Service, other: &Service) -> bool {
    let (mine, theirs) = (one.list(&["profiles"]), other.list(&["profiles"]));
    mine.is_empty() || theirs.is_empty() || mine.iter().any(|profile| theirs.contains(profile))
}

fn out_of_range(service: &Service, entry: &(String, String, String, String)) -> Option<Found> {
    let (_, host, inner, _) = entry;
    let ports = [host, inner].into_iter().filter(|ports| !ports.is_empty());
    let ranges: Vec<Option<(u32, u32)>> = ports.map(|ports| range(ports)).collect();
    let wide = |range: &Option<(u32, u32)>| range.is_none_or(|(_, to)| to > 65_535);
    let size = |range: &Option<(u32, u32)>| range.map(|(from, to)| to - from);
    // A range of the host for one port of the container: Docker picks a free one.
    let differ = ranges.len() == 2 && size(&ranges[0]) != size(&ranges[1]) && size(&ranges[1]) != Some(0);
    let what = [host.as_str(), inner.as_str()]
        .into_iter()
        .filter(|one| !one.is_empty())
        .collect::<Vec<_>>()
        .join(":");
    let message = format!(
        "service {}: invalid port mapping {what}; docker compose refuses \
        it",
        service.name
    );
    (ranges.iter().any(wide) || differ).then(|| {
        Found::error(
            service.line_of("ports"),
            message,
            "Use ports from 1 to 65535, in ranges of the same size",
        )
    })
}
