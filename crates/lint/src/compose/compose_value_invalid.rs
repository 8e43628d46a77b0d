//! Values that have the right type, but that Docker refuses or reads differently.

use std::collections::BTreeSet;

use catalog::Catalog;
use serde_yaml::Value;

use crate::read::compose::{Compose, IsStack, Service, below, text};
use crate::rule::{Change, Found, Judge, Rule, Severity, compose};

use super::healthcheck_invalid::is_duration;

pub(crate) const RULE: Rule = Rule {
    id: "compose-value-invalid",
    severity: Severity::Error,
    summary: "sizes, policies, limits, mounts and durations have values that Docker accepts",
    explain: include_str!("compose_value_invalid.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose("services:\n  a:\n    image: b\n    restart: on_failure\n"),
        compose("services:\n  a:\n    image: b\n    shm_size: 8 gigabytes\n"),
        compose("services:\n  a:\n    image: b\n    shm_size: 16\n"),
        compose("services:\n  a:\n    image: b\n    ulimits: {memlock: {soft: -1, hard: 1024}}\n"),
        compose("services:\n  a:\n    image: b\n    ulimits: {memlock: unlimited}\n"),
        compose("services:\n  a:\n    image: b\n    cap_add: [IPC-LOCK]\n"),
        compose("services:\n  a:\n    image: b\n    volumes: [\"./data:data\"]\n"),
        compose("services:\n  a:\n    image: b\n    stop_grace_period: \"30\"\n"),
        compose("services:\n  a:\n    image: b\n    gpus: [{count: two, capabilities: [gpu]}]\n"),
        compose("services:\n  a:\n    image: b\n    volumes: [\"./x:/d\", \"./y:/d\"]\n"),
        compose("services:\n  a:\n    image: b\n    volumes: [\"./data:/data:readonly\"]\n"),
        compose("services:\n  a:\n    image: b\n    extra_hosts: [node1, \"node2 10.0.0.2\"]\n"),
        compose("services:\n  a:\n    image: https://ghcr.io/org/train:1\n"),
    ],
    silent: &[compose(
        "services:\n  a:\n    image: b\n    restart: on-failure:3\n    shm_size: \"17179869184\"\n    \
            mem_limit: 1.5g\n    \
             ulimits: {memlock: -1, nofile: {soft: 1024, hard: 2048}}\n    cap_add: [IPC_LOCK, \
             cap_sys_admin, ALL]\n    \
             volumes: [\"./data:/data:ro,z\", \"/cache\", \"${D}:${E}\"]\n    stop_grace_period: 1m30s\n",
    )],
};

fn judge(file: &Compose) -> Vec<Found> {
    if file.broken.is_some() {
        return Vec::new();
    }
    let own = file.services.iter().filter(|_| file.stack == IsStack::No);
    let one = |service| {
        let parts = PARTS.iter().flat_map(move |part| part(service));
        capabilities(file.catalog, service).into_iter().chain(parts)
    };
    own.flat_map(one).collect()
}

const PARTS: &[fn(&Service) -> Vec<Found>] =
    &[restart, sizes, ulimits, mounts, mount_options, hosts, image, durations, counts];

fn restart(service: &Service) -> Vec<Found> {
    let Some(value) = service.text("restart").filter(|value| !value.contains('$')) else { return Vec::new() };
    let (policy, count) = value.split_once(':').unwrap_or((&value, ""));
    let known = matches!(policy, "no" | "false" | "always" | "unless-stopped" | "on-failure" | "");
    let counted = count.is_empty() || (policy == "on-failure" && count.parse::<u32>().is_ok());
    let message = format!(
        "service {}: restart {value:?} is not a restart policy; Docker refuses the container",
        service.name
    );
    let fix = "Write \"no\", always, unless-stopped, on-failure or on-failure:N";
    if known && counted { Vec::new() } else { vec![Found::error(service.line_of("restart"), message, fix)] }
}

/// A size as Docker reads it: bytes, or with one of b, k, m, g, t, p.
pub(super) fn bytes(value: &str) -> Option<f64> {
    let lower = value.trim().to_ascii_lowercase();
    let end = lower.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(lower.len());
    let (number, unit) = lower.split_at(end);
    let unit = unit.strip_prefix(' ').unwrap_or(unit);
    let letter = unit.strip_suffix("ib").or(unit.strip_suffix('b')).unwrap_or(unit);
    let power = ["", "k", "m", "g", "t", "p"].iter().position(|one| *one == letter)?;
    Some(number.parse::<f64>().ok()? * 1024_f64.powi(i32::try_from(power).ok()?))
}

fn sizes(service: &Service) -> Vec<Found> {
    let paths: [&[&str]; 7] = [
        &["shm_size"],
        &["mem_limit"],
        &["mem_reservation"],
        &["memswap_limit"],
        &["deploy", "resources", "limits", "memory"],
        &["deploy", "resources", "reservations", "memory"],
        &["build", "shm_size"],
    ];
    let one = |path: &&[&str]| {
        let value = service.at(path).and_then(text).filter(|value| !value.contains('$') && value != "-1")?;
        let (key, line) = (path.join("."), service.line_of(path.first()?));
        let Some(size) = bytes(&value) else {
            let message = format!(
                "service {}: {key} {value:?} is not a valid size; docker compose refuses the file",
                service.name
            );
            return Some(Found::error(line, message, "Write a number with b, k, m or g: 8gb"));
        };
        let message = format!("service {}: {key} {value} is a number of bytes", service.name);
        (size < 65_536.0 && size > 0.0).then(|| Found::warning(line, message, "Add a unit: 8gb"))
    };
    paths.iter().filter_map(one).collect()
}

fn ulimits(service: &Service) -> Vec<Found> {
    let map = service.at(&["ulimits"]).and_then(Value::as_mapping).into_iter().flatten();
    let line = service.line_of("ulimits");
    let number = |value: &Value| {
        let value = text(value)?;
        if value.contains('$') { None } else { Some(value.parse::<i64>()) }
    };
    map.filter_map(|(name, value)| {
        let name = text(name)?;
        let (soft, hard) = match value.is_mapping() {
            true => (number(below(value, &["soft"])?)?, number(below(value, &["hard"])?)?),
            false => (number(value)?, number(value)?),
        };
        let (Ok(soft), Ok(hard)) = (soft, hard) else {
            let message = format!(
                "service {}: ulimit {name} must be a number; docker compose refuses the file",
                service.name
            );
            return Some(Found::error(line.clone(), message, "Write -1 for unlimited"));
        };
        let above = hard != -1 && (soft > hard || soft == -1);
        let message = format!(
            "service {}: ulimit {name} has soft {soft} above hard {hard}; Docker refuses the container",
            service.name
        );
        above.then(|| Found::error(line.clone(), message, "Raise the hard limit"))
    })
    .collect()
}

/// Capabilities that Docker does not have.
fn capabilities(catalog: &Catalog, service: &Service) -> Vec<Found> {
    let of = |key: &'static str| service.list(&[key]).into_iter().map(move |name| (key, name));
    let known = catalog.capabilities();
    let given = of("cap_add").chain(of("cap_drop"));
    let unknown = given.filter(|(_, name)| !name.contains('$') && !known.has(name));
    unknown
        .map(|(key, name)| {
            let message = format!(
                "service {}: {name:?} is not a capability; Docker refuses the \
                    container",
                service.name
            );
            let near = diagnostic::suggest::typo_of(&name, known.names());
            Found::error(
                service.line_of(key),
                message,
                near.map_or(String::new(), |near| format!("Write `{near}`")),
            )
            .change_if(near.map(|near| Change::Only { old: name.clone(), new: near.to_owned() }))
        })
        .collect()
}

fn mounts(service: &Service) -> Vec<Found> {
    let Some(Value::Sequence(items)) = service.at(&["volumes"]) else { return Vec::new() };
    let line = service.line_of("volumes");
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for item in items {
        let target = match text(item) {
            Some(short) if short.contains('$') || short.starts_with('\\') => continue,
            Some(short) => {
                let parts: Vec<&str> = short.split(':').collect();
                // A drive of Windows has a colon of its own.
                match parts.as_slice() {
                    [drive, ..] if drive.len() == 1 => continue,
                    [only] => (*only).to_owned(),
                    [_, target, ..] => (*target).to_owned(),
                    [] => continue,
                }
            }
            None => below(item, &["target"]).and_then(text).unwrap_or_default(),
        };
        if target.is_empty() || target.contains('$') {
            continue;
        }
        if !target.starts_with('/') {
            let message = format!(
                "service {}: mount target {target:?} is not absolute; Docker refuses the container",
                service.name
            );
            found.push(Found::error(line.clone(), message, "Write an absolute path in the container"));
        }
        let place = target.trim_end_matches('/').to_owned();
        if !seen.insert(place) {
            let message = format!("service {} mounts {target} twice; only the last counts", service.name);
            found.push(Found::warning(line.clone(), message, "Keep one of them"));
        }
    }
    found
}

/// Words that were meant as `ro`: docker compose ignores them, and the mount is writable.
const MEANT_READ_ONLY: &[&str] = &["readonly", "read-only", "read_only", "r", "RO"];

fn mount_options(service: &Service) -> Vec<Found> {
    let unknown = |item: String| {
        // A variable may have colons of its own.
        let options = item.split(':').nth(2).filter(|_| !item.contains(['$', '\\']))?;
        let word = options.split(',').find(|word| MEANT_READ_ONLY.contains(word))?;
        let message = format!(
            "service {}: docker compose ignores the mount option {word:?} of {item}; the mount is writable",
            service.name
        );
        Some(Found::warning(service.line_of("volumes"), message, "Write `ro`"))
    };
    service.list(&["volumes"]).into_iter().filter_map(unknown).collect()
}

/// Entries of extra_hosts without an address.
fn hosts(service: &Service) -> Vec<Found> {
    let wrong = |item: &String| !item.contains([':', '=', '$']) && !item.is_empty();
    let items = match service.at(&["extra_hosts"]) {
        Some(Value::Sequence(_)) => service.list(&["extra_hosts"]),
        _ => Vec::new(),
    };
    let found = items.iter().filter(|item| wrong(item)).map(|item| {
        let message = format!(
            "service {}: extra_hosts {item:?} has no address; docker compose refuses the file",
            service.name
        );
        let name = item.split_whitespace().next().unwrap_or_default();
        Found::error(service.line_of("extra_hosts"), message, format!("Write `{name}:ADDRESS`"))
    });
    found.collect()
}

/// An image with the scheme of a URL.
fn image(service: &Service) -> Vec<Found> {
    let name = service.text("image").unwrap_or_default();
    let scheme = ["https://", "http://", "docker://"].into_iter().find(|scheme| name.starts_with(scheme));
    let message = format!(
        "service {}: image {name:?} has a scheme; Docker refuses it (`invalid reference format`)",
        service.name
    );
    let found = scheme.map(|scheme| {
        let bare = name.trim_start_matches(scheme);
        Found::error(service.line_of("image"), message, format!("Write `{bare}`"))
    });
    found.into_iter().collect()
}

fn durations(service: &Service) -> Vec<Found> {
    let paths: [&[&str]; 3] = [
        &["stop_grace_period"],
        &["deploy", "restart_policy", "delay"],
        &["deploy", "restart_policy", "window"],
    ];
    let one = |path: &&[&str]| {
        let value =
            service.at(path).and_then(text).filter(|value| !value.contains('$') && !is_duration(value))?;
        let message =
            format!("service {}: {} {value:?} is not a valid duration", service.name, path.join("."));
        Some(Found::warning(
            service.line_of(path.first()?),
            message,
            "Write a number with a unit: 30s, 1m30s",
        ))
    };
    paths.iter().filter_map(one).collect()
}

fn counts(service: &Service) -> Vec<Found> {
    let gpus = service.at(&["gpus"]).and_then(Value::as_sequence).into_iter().flatten();
    let requests = service.requests().into_iter().chain(gpus);
    requests
        .filter_map(|one| {
            let count = below(one, &["count"]).and_then(text).filter(|count| !count.contains('$'))?;
            let fits = count == "all" || count.parse::<i64>().is_ok_and(|count| count >= -1);
            let message = format!(
                "service {}: count {count:?} of a device request is neither a number nor all",
                service.name
            );
            (!fits).then(|| Found::error(service.line_of("deploy"), message, "Write a number or `all`"))
        })
        .collect()
}
