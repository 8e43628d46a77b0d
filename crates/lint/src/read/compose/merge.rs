//! Several compose files as one, merged as docker compose merges them.
//!
//! Mappings are merged key by key, lists appended, anything else replaced; commands are replaced, and entries
//! of one target in volumes, secrets and configs, of one port and of one name in the environment. `!reset`
//! takes a value away, `!override` puts its own in place. Read in
//! compose-spec/compose-spec:13-merge.md@01200ad2 and compose-spec/compose-go:override@00be3c8c, and held
//! against what `docker compose config` of 2.26.1 makes of two files that have all of it.

use serde_yaml::{Mapping, Value};

use super::{bare, below, text};

/// A file, and another one over it.
pub(crate) fn merge(base: Value, over: Value) -> Value {
    at(Some(base), over, &mut Vec::new()).unwrap_or_default()
}

/// The value at a path; `None` where it is taken away.
fn at(base: Option<Value>, over: Value, path: &mut Vec<String>) -> Option<Value> {
    if let Value::Tagged(tagged) = &over {
        match tagged.tag.to_string().as_str() {
            "!reset" => return None,
            "!override" => return Some(tagged.value.clone()),
            _ => {}
        }
    }
    let Some(base) = base else {
        // Tags further below mean nothing without a base, and go with it.
        return Some(match over {
            Value::Mapping(over) => Value::Mapping(mappings(Mapping::new(), over, path)),
            over => over,
        });
    };
    let names: Vec<&str> = path.iter().map(String::as_str).collect();
    if replaced(&names) || (matches!(names[..], ["services", _, "logging"]) && drivers_differ(&base, &over)) {
        return Some(over);
    }
    if let ["services", _, key] = names[..]
        && NAMED.contains(&key)
    {
        return Some(Value::Mapping(mappings(named(&base), named(&over), path)));
    }
    Some(match (base, over) {
        // A key with nothing behind it changes nothing.
        (base @ (Value::Mapping(_) | Value::Sequence(_)), Value::Null) => base,
        (Value::Mapping(base), Value::Mapping(over)) => Value::Mapping(mappings(base, over, path)),
        (Value::Sequence(base), Value::Sequence(over)) => Value::Sequence(sequences(base, over, &names)),
        (_, over) => over,
    })
}

/// Keys of a service that may be a list of `name=value` or a mapping, and are merged by name.
const NAMED: &[&str] = &["environment", "labels", "annotations", "sysctls", "networks", "depends_on"];

/// Keys whose value is the last file's.
fn replaced(path: &[&str]) -> bool {
    matches!(
        path,
        ["services", _, "command" | "entrypoint"]
            | ["services", _, "healthcheck", "test"]
            | ["services", _, "ulimits", _]
    )
}

/// Options of a log driver belong to that driver.
fn drivers_differ(base: &Value, over: &Value) -> bool {
    let driver = |value: &Value| below(value, &["driver"]).and_then(text);
    matches!((driver(base), driver(over)), (Some(one), Some(other)) if one != other)
}

/// A list as a mapping by the names in it.
fn named(value: &Value) -> Mapping {
    match bare(value) {
        Value::Mapping(map) => map.clone(),
        Value::Sequence(items) => items
            .iter()
            .filter_map(text)
            .map(|item| match item.split_once('=') {
                Some((name, value)) => (Value::String(name.to_owned()), Value::String(value.to_owned())),
                None => (Value::String(item), Value::Null),
            })
            .collect(),
        _ => Mapping::new(),
    }
}

fn mappings(mut base: Mapping, over: Mapping, path: &mut Vec<String>) -> Mapping {
    for (key, value) in over {
        let name = text(&key).unwrap_or_default();
        let before = base.get(&key).cloned().filter(|_| !name.starts_with("x-"));
        path.push(name);
        match at(before, value, path) {
            Some(value) => {
                base.insert(key, value);
            }
            None => {
                base.remove(&key);
            }
        }
        path.pop();
    }
    base
}

fn sequences(base: Vec<Value>, over: Vec<Value>, path: &[&str]) -> Vec<Value> {
    let unique: Option<fn(&Value) -> Option<String>> = match path {
        ["services", _, "volumes" | "devices"] => Some(mount),
        ["services", _, "secrets" | "configs"] => Some(secret),
        ["services", _, "ports" | "expose"] => Some(port),
        _ => None,
    };
    let Some(key) = unique else { return [base, over].concat() };
    let mut merged: Vec<Value> = Vec::new();
    for value in base.into_iter().chain(over) {
        let known = key(&value);
        match merged.iter_mut().find(|other| known.is_some() && key(other) == known) {
            Some(other) => *other = value,
            None => merged.push(value),
        }
    }
    merged
}

/// Where a volume is mounted, or what a device is in the container.
fn mount(value: &Value) -> Option<String> {
    let Some(short) = text(value) else { return below(value, &["target"]).and_then(text) };
    // A variable may have colons of its own.
    let mut parts = short.split(':').filter(|_| !short.contains('$'));
    let first = parts.next()?;
    Some(parts.next().unwrap_or(first).to_owned())
}

fn secret(value: &Value) -> Option<String> {
    text(value)
        .or_else(|| below(value, &["target"]).and_then(text))
        .or_else(|| below(value, &["source"]).and_then(text))
}

fn port(value: &Value) -> Option<String> {
    let of = |key: &str| below(value, &[key]).and_then(text);
    text(value).or_else(|| {
        let protocol = of("protocol").unwrap_or_else(|| "tcp".to_owned());
        let host = of("host_ip").unwrap_or_else(|| "0.0.0.0".to_owned());
        Some(format!("{host}:{}:{}/{protocol}", of("published").unwrap_or_default(), of("target")?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(base: &str, over: &str) -> Value {
        merge(serde_yaml::from_str(base).unwrap(), serde_yaml::from_str(over).unwrap())
    }

    fn service(base: &str, over: &str) -> String {
        let wrap = |text: &str| format!("services:\n  a:\n    {}\n", text.replace('\n', "\n    "));
        let value = merged(&wrap(base), &wrap(over));
        let service = below(&value, &["services", "a"]).unwrap();
        serde_yaml::to_string(service).unwrap().trim_end().to_owned()
    }

    /// The examples of the specification, and what compose-go does in addition.
    #[test]
    fn as_docker_compose_does() {
        let cases = [
            ("image: x\ntty: true", "image: y", "image: y\ntty: true"),
            ("devices: [/dev/a:/dev/a]", "devices: [/dev/b:/dev/a]", "devices:\n- /dev/b:/dev/a"),
            (
                "networks: [one]",
                "networks: {two: {aliases: [q]}}",
                "networks:\n  one: null\n  two:\n    aliases:\n    - q",
            ),
            ("dns: [1.1.1.1]", "dns: [8.8.8.8]", "dns:\n- 1.1.1.1\n- 8.8.8.8"),
            ("command: [echo, foo]", "command: [echo, bar]", "command:\n- echo\n- bar"),
            (
                "volumes: ['foo:/work']",
                "volumes: ['bar:/work', 'c:/d:ro']",
                "volumes:\n- bar:/work\n- c:/d:ro",
            ),
            ("ports: ['80:80']", "ports: ['80:80', '81:80']", "ports:\n- 80:80\n- 81:80"),
            ("ports: ['80:80']\nimage: x", "ports: !reset []", "image: x"),
            ("ports: ['80:80']", "ports: !override ['81:80']", "ports:\n- 81:80"),
            (
                "environment: {A: 1, B: 2}",
                "environment: ['A=3', 'C']",
                "environment:\n  A: '3'\n  B: 2\n  C: null",
            ),
            ("environment: {A: 1}\nimage: x", "environment: {A: !reset null}", "environment: {}\nimage: x"),
            ("ulimits: {memlock: {soft: 1, hard: 2}}", "ulimits: {memlock: -1}", "ulimits:\n  memlock: -1"),
            ("image: x", "ports: !reset []", "image: x"),
        ];
        for (base, over, expected) in cases {
            assert_eq!(service(base, over), expected, "{base}\n---\n{over}");
        }
    }

    #[test]
    fn devices_are_appended() {
        let one = "deploy: {resources: {reservations: {devices: [{driver: nvidia, count: 1, capabilities: \
            [gpu]}]}}}";
        let value = merged(&format!("services: {{a: {{{one}}}}}"), &format!("services: {{a: {{{one}}}}}"));
        let devices =
            below(&value, &["services", "a", "deploy", "resources", "reservations", "devices"]).unwrap();
        assert_eq!(devices.as_sequence().unwrap().len(), 2);
    }
}
