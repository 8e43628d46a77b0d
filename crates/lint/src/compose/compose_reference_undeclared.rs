//! Names of services, networks, volumes, secrets and configs that the file does not declare.

use std::collections::{BTreeMap, BTreeSet};

use serde_yaml::Value;

use crate::read::compose::{Compose, IsStack, Service, bare, below, text};
use crate::rule::{Found, Judge, Rule, Severity, compose};

pub(crate) const RULE: Rule = Rule {
    id: "compose-reference-undeclared",
    severity: Severity::Error,
    summary: "every service, network, volume, secret and config that is used is declared",
    explain: include_str!("compose_reference_undeclared.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose("services:\n  a:\n    image: b\n    volumes: [\"data:/data\"]\n"),
        compose("services:\n  a:\n    image: b\n    networks: [back]\n"),
        compose("services:\n  a:\n    image: b\n    depends_on: [c]\n"),
        compose("services:\n  a:\n    image: b\n    secrets: [token]\nsecrets:\n  tokens: {file: ./t}\n"),
        compose("services:\n  a:\n    image: b\n    network_mode: service:c\n"),
        compose("services:\n  a:\n    image: b\n    volumes: [\"src/app:/app\"]\n"),
        compose("services:\n  base:\n    image: t:1\n  a:\n    extends: bse\n    command: x\n"),
    ],
    silent: &[
        compose(
            "services:\n  a:\n    image: b\n    volumes: [\"data:/data\", ./x:/x, /y:/y, \
                ~/z:/z, \"$H:/h\", /anonymous]\n    \
             networks: [back, default]\n    depends_on: [c]\n    secrets: [{source: s}]\n  c:\n    image: \
             b\nvolumes: {data: }\nnetworks: {back: }\nsecrets: {s: {file: ./s}}\n",
        ),
        compose("include: [other.yaml]\nservices:\n  a:\n    image: b\n    depends_on: [c]\n"),
        compose("services:\n  a:\n    depends_on: [c]\n"),
    ],
};

/// What a name may be of.
const NETWORKS: &str = "networks";

fn judge(file: &Compose) -> Vec<Found> {
    if is_part(file) {
        return Vec::new();
    }
    let declared = KINDS.map(|kind| (kind, declared(file, kind))).into();
    let whole = file.services.iter().filter(|one| !one.extends_elsewhere);
    let found = whole.flat_map(|one| of_service(file, one, &declared));
    found.chain(file.services.iter().filter_map(|one| extended(file, one))).collect()
}

/// `extends` of a service that the same file does not have.
fn extended(file: &Compose, service: &Service) -> Option<Found> {
    let extends = service.at(&["extends"])?;
    let name = text(extends).or_else(|| below(extends, &["service"]).and_then(text))?;
    let elsewhere = below(extends, &["file"]).is_some() || name.contains('$');
    let known = declared(file, "services");
    if elsewhere || known.contains(&name) {
        return None;
    }
    let message = format!("service {} extends {name:?}, which the file does not declare", service.name);
    let near = known.iter().find(|one| diagnostic::suggest::is_typo(&name, one));
    let fix = match near {
        Some(near) => format!("Write `{near}`"),
        None => "Write the name of a service of the file, or add `file`".to_owned(),
    };
    Some(Found::error(service.line_of("extends"), message, fix))
}

/// What the top level of a file declares by name.
const KINDS: [&str; 5] = ["services", NETWORKS, "volumes", "secrets", "configs"];

/// Whether other files belong to it, which may declare more.
pub(super) fn is_part(file: &Compose) -> bool {
    let whole =
        |one: &Service| ["image", "build", "extends", "provider"].iter().any(|key| one.at(&[key]).is_some());
    file.broken.is_some() || file.top("include").is_some() || !file.services.iter().all(whole)
}

fn of_service(file: &Compose, service: &Service, declared: &BTreeMap<&str, BTreeSet<String>>) -> Vec<Found> {
    let mut found = Vec::new();
    let none = BTreeSet::new();
    let mut check = |kind: &str, key: &str, name: &str| {
        let declared = declared.get(kind).unwrap_or(&none);
        if name.contains('$') || declared.contains(name) || (kind == NETWORKS && name == "default") {
            return;
        }
        let near = declared.iter().find(|one| diagnostic::suggest::is_typo(name, one));
        let message = format!(
            "service {} uses {} {name:?} in `{key}`, which the file does not declare",
            service.name,
            kind.trim_end_matches('s')
        );
        let fix = match (near, kind) {
            (Some(near), _) => format!("Write `{near}`"),
            (None, "volumes") if name.contains('/') => {
                format!("Write `./{name}` for a directory next to the file")
            }
            (None, "services") => "Write the name of a service of the file".to_owned(),
            (None, _) => format!("Declare it under the top-level `{kind}:`"),
        };
        found.push(Found::error(service.line_of(key), message, fix));
    };
    for name in service.networks() {
        check(NETWORKS, "networks", &name);
    }
    for name in volumes(service) {
        check("volumes", "volumes", &name);
    }
    for kind in ["secrets", "configs"] {
        for name in names(service.at(&[kind]), "source") {
            check(kind, kind, &name);
        }
    }
    for (key, name) in services(file, service) {
        check("services", key, &name);
    }
    found
}

fn declared(file: &Compose, kind: &str) -> BTreeSet<String> {
    let map = file.top(kind).and_then(|value| bare(value).as_mapping());
    map.into_iter().flatten().filter_map(|(name, _)| text(name)).collect()
}

/// The names in a list of names or mappings, or the keys of a mapping.
fn names(value: Option<&Value>, key: &str) -> Vec<String> {
    match value.map(bare) {
        Some(Value::Sequence(items)) => {
            items.iter().filter_map(|one| text(one).or_else(|| below(one, &[key]).and_then(text))).collect()
        }
        Some(Value::Mapping(map)) => map.keys().filter_map(text).collect(),
        _ => Vec::new(),
    }
}

/// The named volumes that a service mounts.
pub(super) fn volumes(service: &Service) -> Vec<String> {
    let Some(Value::Sequence(items)) = service.at(&["volumes"]) else { return Vec::new() };
    let short = |item: String| {
        let (source, _) = item.split_once(':')?;
        // One letter is a drive of Windows.
        let is_path = source.starts_with(['/', '.', '~', '$', '\\']) || source.len() < 2;
        (!is_path).then(|| source.to_owned())
    };
    let long = |item: &Value| {
        let is_volume = below(item, &["type"]).and_then(text).as_deref() == Some("volume");
        below(item, &["source"]).filter(|_| is_volume).and_then(text)
    };
    items.iter().filter_map(|item| text(item).map_or_else(|| long(item), short)).collect()
}

/// Keys that name another service, and its name.
fn services<'s>(file: &Compose, service: &'s Service) -> Vec<(&'s str, String)> {
    let mut found: Vec<(&str, String)> = Vec::new();
    found.extend(names(service.at(&["depends_on"]), "").into_iter().map(|name| ("depends_on", name)));
    for key in ["links", "volumes_from"] {
        let items = service.list(&[key]).into_iter().filter(|one| !one.starts_with("container:"));
        found.extend(items.map(|one| (key, one.split(':').next().unwrap_or_default().to_owned())));
    }
    for key in ["network_mode", "ipc", "pid"] {
        let name = service.text(key).and_then(|mode| mode.strip_prefix("service:").map(str::to_owned));
        found.extend(name.map(|name| (key, name)));
    }
    let own = file.top("services").and_then(|all| below(all, &[&service.name]));
    let extends = own.and_then(|own| below(own, &["extends"]));
    let base = extends.filter(|one| below(one, &["file"]).is_none());
    let base = base.and_then(|one| text(one).or_else(|| below(one, &["service"]).and_then(text)));
    found.extend(base.map(|name| ("extends", name)));
    if file.stack == IsStack::Yes {
        // A stack has none of these, or ignores it.
        found.clear();
    }
    found
}
