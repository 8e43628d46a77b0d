//! Settings of a service that exclude each other.

use std::collections::{BTreeMap, BTreeSet};

use serde_yaml::Value;

use super::compose_value_invalid::bytes;
use crate::read::compose::{Compose, IsStack, Service, below, text};
use crate::rule::{Found, Judge, Rule, Severity, compose};

pub(crate) const RULE: Rule = Rule {
    id: "compose-settings-conflict",
    severity: Severity::Error,
    summary: "no service has settings that exclude each other",
    explain: include_str!("compose_settings_conflict.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose("services:\n  a:\n    image: b\n    network_mode: host\n    networks: [default]\n"),
        compose("services:\n  a:\n    image: b\n    network_mode: host\n    ports: [\"8000:8000\"]\n"),
        compose("services:\n  a:\n    image: b\n    container_name: a\n    deploy: {replicas: 2}\n"),
        compose(
            "services:\n  a:\n    image: b\n    mem_limit: 8g\n    deploy: {resources: {limits: \
                {memory: 16g}}}\n",
        ),
        compose("services:\n  a:\n    image: b\n    ipc: host\n    shm_size: 8gb\n"),
        compose(
            "services:\n  a:\n    image: b\n    network_mode: service:c\n    ports: [\"80:80\"]\n  c:\n\
                \x20   image: b\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    depends_on: [c]\n  c:\n    image: b\n    depends_on: [a]\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    depends_on: [c]\n  c:\n    image: b\n    profiles: \
                [debug]\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    container_name: w\n  c:\n    image: \
             b\n    container_name: w\n",
        ),
        compose("services:\n  a:\n    image: b\n    mem_limit: 8g\n    memswap_limit: 4g\n"),
        compose("services:\n  a:\n    image: b\n    mem_limit: 32g\n    shm_size: 64gb\n"),
        compose(
            "services:\n  a:\n    image: b\n    deploy: {resources: {limits: {memory: 8G}, reservations: \
             {memory: \
             16G}}}\n",
        ),
    ],
    silent: &[
        compose("services:\n  a:\n    image: b\n    mem_limit: 64g\n    shm_size: 16g\n"),
        compose(
            "services:\n  a:\n    image: b\n    container_name: w\n    profiles: [x]\n    mem_limit: 8g\n    \
             memswap_limit: -1\n    mem_reservation: 4g\n  c:\n    image: b\n    container_name: \
             w\n    profiles: \
             [y]\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    network_mode: host\n    ipc: host\n    container_name: a\n\
             \x20   depends_on: [c]\n  c:\n    image: b\n    ports: [\"80:80\"]\n    shm_size: 1gb\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    mem_limit: 8g\n    cpus: 2\n    deploy: {resources: \
             {limits: {memory: 8192M, cpus: \"2.0\"}}}\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    if file.stack == IsStack::Yes || file.broken.is_some() {
        return Vec::new();
    }
    // Of two with one name the first.
    let services: BTreeMap<&str, &Service> =
        file.services.iter().rev().map(|service| (service.name.as_str(), service)).collect();
    let one = |service: &Service| {
        let found = CONFLICTS.iter().filter_map(|conflict| conflict(service)).collect::<Vec<_>>();
        found.into_iter().chain(profile(&services, service))
    };
    file.services.iter().flat_map(one).chain(cycle(file)).chain(names_twice(file)).collect()
}

/// What excludes what.
const CONFLICTS: &[fn(&Service) -> Option<Found>] =
    &[mode_and_networks, mode_and_ports, name_and_replicas, limits, shared_memory, memory];

fn has_items(service: &Service, key: &str) -> bool {
    match service.at(&[key]) {
        Some(Value::Sequence(items)) => !items.is_empty(),
        Some(Value::Mapping(map)) => !map.is_empty(),
        _ => false,
    }
}

fn mode_and_networks(service: &Service) -> Option<Found> {
    let mode = service.text("network_mode")?;
    let message = format!(
        "service {} has network_mode {mode} and networks, which exclude each other; docker compose \
            refuses the file",
        service.name
    );
    has_items(service, "networks")
        .then(|| Found::error(service.line_of("networks"), message, "Remove `networks`, or `network_mode`"))
}

fn mode_and_ports(service: &Service) -> Option<Found> {
    let mode = service.text("network_mode").filter(|_| has_items(service, "ports"))?;
    let line = service.line_of("ports");
    if mode == "host" {
        let message = format!("service {}: ports have no effect with network_mode host", service.name);
        return Some(Found::warning(
            line,
            message,
            "Remove `ports`; the program listens on the host \
            itself",
        ));
    }
    let other = mode.strip_prefix("service:").or_else(|| mode.strip_prefix("container:"))?;
    let message = format!(
        "service {} publishes ports, but uses the network of {other}; Docker refuses to create the \
            container",
        service.name
    );
    Some(Found::error(line, message, format!("Publish the ports at {other}")))
}

fn replicas(service: &Service) -> Option<u64> {
    let of = |path: &[&str]| service.at(path).and_then(text)?.parse().ok();
    of(&["deploy", "replicas"]).or_else(|| of(&["scale"]))
}

fn name_and_replicas(service: &Service) -> Option<Found> {
    let name = service.text("container_name")?;
    let count = replicas(service).filter(|count| *count > 1)?;
    let message = format!(
        "service {} has container_name {name} and {count} replicas; container names are unique, and \
            docker compose \
         refuses the file",
        service.name
    );
    Some(Found::error(service.line_of("container_name"), message, "Remove `container_name`"))
}

/// Limits that can be given at two places, and must be the same there.
fn limits(service: &Service) -> Option<Found> {
    let pairs: [(&str, &[&str]); 5] = [
        ("mem_limit", &["deploy", "resources", "limits", "memory"]),
        ("mem_reservation", &["deploy", "resources", "reservations", "memory"]),
        ("cpus", &["deploy", "resources", "limits", "cpus"]),
        ("pids_limit", &["deploy", "resources", "limits", "pids"]),
        ("scale", &["deploy", "replicas"]),
    ];
    pairs.into_iter().find_map(|(key, path)| {
        let (one, other) = (service.text(key)?, service.at(path).and_then(text)?);
        // 8g and 8192m are one limit.
        let (first, second) = (bytes(&one), bytes(&other));
        let equal = first.zip(second).is_some_and(|(first, second)| first.total_cmp(&second).is_eq());
        let differ = one != other && !equal && !one.contains('$') && !other.contains('$');
        let message = format!(
            "service {} has `{key}: {one}` and `{}: {other}`; docker compose refuses two values",
            service.name,
            path.join(".")
        );
        differ.then(|| Found::error(service.line_of(key), message, "Keep one of the two"))
    })
}

fn shared_memory(service: &Service) -> Option<Found> {
    let ipc = service.text("ipc").filter(|mode| mode == "host" || mode.contains(':'))?;
    service.at(&["shm_size"])?;
    let message = format!("service {}: shm_size has no effect with ipc {ipc}", service.name);
    Some(Found::note(service.line_of("shm_size"), message, "Remove `shm_size`"))
}

/// Two services with one name for their containers.
fn names_twice(file: &Compose) -> Vec<Found> {
    let mut seen: Vec<(String, &Service)> = Vec::new();
    let mut found = Vec::new();
    for service in &file.services {
        let Some(name) = service.text("container_name").filter(|name| !name.contains('$')) else { continue };
        let together = |other: &Service| {
            let (mine, theirs) = (service.list(&["profiles"]), other.list(&["profiles"]));
            mine.is_empty() || theirs.is_empty() || mine.iter().any(|one| theirs.contains(one))
        };
        if let Some((_, other)) = seen.iter().find(|(known, other)| *known == name && together(other)) {
            let message = format!(
                "services {} and {} both have container_name {name}; the second container does not start \
                 (`The container name \"/{name}\" is already in use`)",
                other.name, service.name
            );
            found.push(Found::error(service.line_of("container_name"), message, "Remove one of the names"));
        }
        seen.push((name, service));
    }
    found
}

/// The first of these settings, in bytes.
fn size<'p>(service: &Service, paths: &[&'p [&'p str]]) -> Option<(&'p [&'p str], f64)> {
    paths.iter().find_map(|path| Some((*path, bytes(&service.at(path).and_then(text)?)?)))
}

/// Sizes of memory that Docker refuses together.
fn memory(service: &Service) -> Option<Found> {
    let (_, limit) = size(service, &[&["mem_limit"], &["deploy", "resources", "limits", "memory"]])?;
    let swap = service.text("memswap_limit").filter(|swap| swap != "-1").and_then(|swap| bytes(&swap));
    if swap.is_some_and(|swap| swap > 0.0 && swap < limit) {
        let message = format!(
            "service {}: memswap_limit is memory and swap together, and below the limit of memory; Docker \
             refuses the container",
            service.name
        );
        return Some(Found::error(
            service.line_of("memswap_limit"),
            message,
            "Raise it to the limit or more",
        ));
    }
    // The pages of /dev/shm count as memory of the container.
    if let Some((_, shared)) = size(service, &[&["shm_size"]]).filter(|(_, shared)| *shared > limit) {
        let message = format!(
            "service {}: shm_size ({} GiB) is above the limit of memory ({} GiB), which includes it; a \
             program \
             that fills /dev/shm is killed",
            service.name,
            (shared / GIB).round(),
            (limit / GIB).round()
        );
        let fix = "Raise the limit of memory, or reduce shm_size";
        return Some(Found::warning(service.line_of("shm_size"), message, fix));
    }
    let paths: [&[&str]; 2] = [&["mem_reservation"], &["deploy", "resources", "reservations", "memory"]];
    let (path, reserved) = size(service, &paths)?;
    let message = format!(
        "service {}: {} is greater than the limit of memory; Docker refuses the container",
        service.name,
        path.join(".")
    );
    let fix = "Reserve the limit or less";
    let line = service.line_of(path.first().copied()?);
    (reserved > limit).then(|| Found::error(line, message, fix))
}

/// Bytes of a GiB.
const GIB: f64 = 1_073_741_824.0;

/// The services that one waits for, and whether each is required.
fn dependencies(service: &Service) -> Vec<(String, bool)> {
    match service.at(&["depends_on"]) {
        Some(Value::Mapping(map)) => map
            .iter()
            .filter_map(|(name, value)| {
                let required = below(value, &["required"]).and_then(Value::as_bool).unwrap_or(true);
                Some((text(name)?, required))
            })
            .collect(),
        _ => service.list(&["depends_on"]).into_iter().map(|name| (name, true)).collect(),
    }
}

/// A service that always runs and one that does not.
fn profile(services: &BTreeMap<&str, &Service>, service: &Service) -> Option<Found> {
    let own = service.list(&["profiles"]);
    dependencies(service).into_iter().filter(|(_, required)| *required).find_map(|(name, _)| {
        let other = services.get(name.as_str())?;
        let profiles = other.list(&["profiles"]);
        let together = profiles.is_empty() || own.iter().any(|one| profiles.contains(one));
        let message = format!(
            "service {} depends on {name}, which only runs with profile {}; docker compose refuses to \
                start it",
            service.name,
            profiles.join(", ")
        );
        let fix = "Give both the same profile, or set `required: false`";
        (!together).then(|| Found::warning(service.line_of("depends_on"), message, fix))
    })
}

/// Services that wait for each other.
fn cycle(file: &Compose) -> Option<Found> {
    let graph: BTreeMap<&str, Vec<String>> = file
        .services
        .iter()
        .map(|one| (one.name.as_str(), dependencies(one).into_iter().map(|(name, _)| name).collect()))
        .collect();
    let mut seen = BTreeSet::new();
    file.services.iter().find_map(|service| {
        let path = cycle_from(&graph, &service.name, &mut seen)?;
        let first = file.services.iter().find(|service| path.contains(&service.name.as_str()))?;
        let start = path.iter().position(|name| *name == first.name)?;
        let names = [&path[start..], &path[..start]].concat();
        let message =
            format!("services depend on each other: {}; docker compose refuses the file", names.join(", "));
        let fix = "Remove one of the dependencies";
        Some(Found::error(first.line_of("depends_on"), message, fix))
    })
}

/// The services of a cycle that is reached from one, without recursion. `seen`: those from which none is.
fn cycle_from<'g>(
    graph: &'g BTreeMap<&'g str, Vec<String>>,
    from: &str,
    seen: &mut BTreeSet<&'g str>,
) -> Option<Vec<&'g str>> {
    let enter = |name: &str| graph.get_key_value(name).map(|(name, next)| (*name, next.iter()));
    let mut path = vec![enter(from).filter(|(name, _)| seen.insert(name))?];
    let mut on_path: BTreeSet<&str> = path.iter().map(|(name, _)| *name).collect();
    while let Some((name, next)) = path.last_mut() {
        let Some(other) = next.next() else {
            on_path.remove(*name);
            path.pop();
            continue;
        };
        if on_path.contains(other.as_str()) {
            let names = path.iter().map(|(name, _)| *name);
            return Some(names.skip_while(|name| *name != other).collect());
        }
        if let Some(entered) = enter(other).filter(|(name, _)| seen.insert(name)) {
            on_path.insert(entered.0);
            path.push(entered);
        }
    }
    None
}
