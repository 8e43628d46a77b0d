//! Holds YAML against the keys and types of `catalog/object_keys.yaml`.

use catalog::Table;
use catalog::object_keys::{ObjectKeys, Reader};
use serde_yaml::Value;

use crate::edit::Change;
use crate::read::compose::{bare, text};

/// The objects of one reader.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schema<'c> {
    table: &'c Table<ObjectKeys>,
    reader: Reader,
}

/// Something that the reader of a file refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The keys above it and its own; items of lists by their index.
    pub path: Vec<String>,
    pub problem: Problem,
}

impl Fault {
    /// The change of its key into another, unless the mapping has that one too.
    pub(crate) fn rename(&self, root: &Value, new: &str, line: usize) -> Option<Change> {
        let step = |value, key: &String| match (bare(value), key.parse::<usize>()) {
            (Value::Sequence(items), Ok(index)) => items.get(index),
            (Value::Mapping(map), _) => map.get(key.as_str()),
            _ => None,
        };
        let (key, above) = self.path.split_last()?;
        let mapping = above.iter().try_fold(root, step).map(bare)?;
        mapping.get(new).is_none().then(|| Change::key(line, key, new))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The object has no such key.
    Unknown {
        /// The key that was probably meant.
        near: Option<String>,
        /// The object that has such a key, where it is above or below this one.
        home: Option<String>,
    },
    /// The value has another type.
    Type { expected: String, actual: &'static str },
    /// The value is none of the words that are allowed.
    Word { value: String, allowed: String },
    /// A key is missing that must be there.
    Missing { key: String },
}

impl<'c> Schema<'c> {
    pub(crate) fn new(table: &'c Table<ObjectKeys>, reader: Reader) -> Schema<'c> {
        Schema { table, reader }
    }

    pub(crate) fn object(&self, name: &str) -> Option<&'c ObjectKeys> {
        self.table.object(self.reader, name)
    }

    /// What is wrong with an object.
    pub(crate) fn faults(&self, object: &str, value: &Value) -> Vec<Fault> {
        self.value(&format!("@{object}"), value, &mut Vec::new(), &mut Vec::new())
    }

    /// What is wrong with a value of a type, at the path that is open.
    fn value(
        &self,
        kind: &str,
        value: &Value,
        path: &mut Vec<String>,
        above: &mut Vec<&'c ObjectKeys>,
    ) -> Vec<Fault> {
        if matches!(value, Value::Tagged(_)) || value.is_null() || is_filled_in_later(value) {
            return Vec::new();
        }
        let mut fewest: Option<Vec<Fault>> = None;
        for one in alternatives(kind) {
            if let Some(faults) = self.alternative(one, value, path, above)
                && fewest.as_ref().is_none_or(|known| faults.len() < known.len())
            {
                fewest = Some(faults);
            }
        }
        fewest.unwrap_or_else(|| vec![Fault { path: path.clone(), problem: mismatch(kind, value) }])
    }

    /// The faults of a value as one type; `None` where it is of another.
    fn alternative(
        &self,
        kind: &str,
        value: &Value,
        path: &mut Vec<String>,
        above: &mut Vec<&'c ObjectKeys>,
    ) -> Option<Vec<Fault>> {
        if let Some(word) = kind.strip_prefix('=') {
            return (text(value)? == word).then(Vec::new);
        }
        if let Some(inner) = kind.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let items = value.as_sequence()?.iter().enumerate();
            return Some(self.entries(items.map(|(at, item)| (at.to_string(), inner, item)), path, above));
        }
        if let Some(inner) = kind.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            let entries =
                value.as_mapping()?.iter().filter_map(|(key, value)| Some((text(key)?, inner, value)));
            return Some(self.entries(entries, path, above));
        }
        if let Some(name) = kind.strip_prefix('@') {
            let object = self.object(name)?;
            value.as_mapping()?;
            return Some(self.keys(object, value, path, above));
        }
        is_scalar_of(kind, value).then(Vec::new)
    }

    fn entries<'v>(
        &self,
        entries: impl Iterator<Item = (String, &'v str, &'v Value)>,
        path: &mut Vec<String>,
        above: &mut Vec<&'c ObjectKeys>,
    ) -> Vec<Fault> {
        let mut faults = Vec::new();
        for (key, kind, value) in entries {
            path.push(key);
            faults.extend(self.value(kind, value, path, above));
            path.pop();
        }
        faults
    }

    fn keys(
        &self,
        object: &'c ObjectKeys,
        value: &Value,
        path: &mut Vec<String>,
        above: &mut Vec<&'c ObjectKeys>,
    ) -> Vec<Fault> {
        let map = value.as_mapping().into_iter().flatten();
        let entries: Vec<(String, &Value)> =
            map.filter_map(|(key, value)| Some((text(key)?, value))).collect();
        let mut faults = Vec::new();
        for key in object.required.iter().filter(|key| !entries.iter().any(|(known, _)| known == *key)) {
            let problem = Problem::Missing { key: key.clone() };
            faults.push(Fault { path: path.clone(), problem });
        }
        above.push(object);
        for (key, value) in &entries {
            path.push(key.clone());
            match object.keys.get(key) {
                Some(kind) => faults.extend(self.value(kind, value, path, above)),
                None if object.open || key.starts_with("x-") || key == "<<" => {}
                None => {
                    faults.push(Fault { path: path.clone(), problem: self.unknown(object, key, above) });
                }
            }
            path.pop();
        }
        above.pop();
        faults
    }

    fn unknown(&self, object: &ObjectKeys, key: &str, above: &[&'c ObjectKeys]) -> Problem {
        let near = object.nearest(key).map(str::to_owned);
        let outer =
            || above.iter().rev().skip(1).find(|one| one.keys.contains_key(key)).map(|one| one.name.clone());
        // `devices` of `limits` is one of `reservations` next to it. Where the object above has values of
        // its own, what is next to this one is unrelated.
        let next_to = || {
            let outer = above.iter().rev().nth(1)?;
            let groups = outer.keys.values().all(|kind| kind.starts_with('@'));
            groups.then(|| self.below(outer, key)).flatten()
        };
        let home = next_to().or_else(outer).or_else(|| self.below(object, key));
        Problem::Unknown { home, near }
    }

    /// The key of an object whose own value may have a key.
    fn below(&self, object: &ObjectKeys, key: &str) -> Option<String> {
        let has = |kind: &str| {
            let mut names = kind.split(['|', '[', ']', '{', '}']).filter_map(|one| one.strip_prefix('@'));
            names.any(|name| self.object(name).is_some_and(|inner| inner.keys.contains_key(key)))
        };
        object.keys.iter().find(|(_, kind)| has(kind)).map(|(name, _)| name.clone())
    }
}

/// Compose substitutes variables before it looks at types; envsubst and sed do so in manifests.
fn is_filled_in_later(value: &Value) -> bool {
    value.as_str().is_some_and(is_placeholder)
}

/// Whether a text is for somebody, or a program, to fill in: `$GPUS`, `<name>`, `{NAME}`, `__PATH__`,
/// `NUMBER_OF_GPUS`.
pub(crate) fn is_placeholder(text: &str) -> bool {
    let upper = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    let constant = text.contains('_') && text.starts_with(char::is_alphabetic) && text.chars().all(upper);
    text.contains(['$', '<', '{']) || (text.starts_with("__") && text.ends_with("__")) || constant
}

/// The types that `|` parts, outside brackets.
fn alternatives(kind: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0_u32, 0, Vec::new());
    for (at, letter) in kind.char_indices() {
        match letter {
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => {
                found.push(&kind[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&kind[start..]);
    found
}

fn is_scalar_of(kind: &str, value: &Value) -> bool {
    match kind {
        "any" => true,
        "string" => value.is_string(),
        "boolean" => value.is_bool(),
        "number" => value.is_number(),
        // The YAML of Kubernetes and of docker compose takes `0755` as octal, the one of this parser as text.
        "integer" => value.is_i64() || value.is_u64() || value.as_str().is_some_and(is_octal),
        _ => false,
    }
}

fn is_octal(text: &str) -> bool {
    let digits = text.strip_prefix('0').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| (b'0'..=b'7').contains(&byte))
}

fn mismatch(kind: &str, value: &Value) -> Problem {
    let kinds = alternatives(kind);
    let words: Vec<&str> = kinds.iter().filter_map(|one| one.strip_prefix('=')).collect();
    if let Some(value) = text(value).filter(|_| !words.is_empty()) {
        let allowed = words.iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>().join(", ");
        return Problem::Word { value, allowed };
    }
    let mut expected: Vec<&str> = kinds.iter().filter_map(|one| noun(one)).collect();
    expected.dedup();
    Problem::Type { expected: expected.join(" or "), actual: actual(value) }
}

fn noun(kind: &str) -> Option<&'static str> {
    Some(match kind.chars().next()? {
        '[' => "a list",
        '{' | '@' => "a mapping",
        '=' => "a word",
        _ => match kind {
            "string" => "a string",
            "boolean" => "true or false",
            "number" => "a number",
            "integer" => "an integer",
            _ => return None,
        },
    })
}

fn actual(value: &Value) -> &'static str {
    match bare(value) {
        Value::Sequence(_) => "a list",
        Value::Mapping(_) => "a mapping",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::Null => "empty",
        _ => "a string",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(reader: Reader, object: &str, yaml: &str) -> Vec<(String, Problem)> {
        let schema = Schema::new(catalog::testing::catalog().object_keys(), reader);
        let found = schema.faults(object, &serde_yaml::from_str(yaml).unwrap());
        found.into_iter().map(|one| (one.path.join("."), one.problem)).collect()
    }

    #[test]
    fn keys_and_types() {
        let unknown = |near: Option<&str>, home: Option<&str>| Problem::Unknown {
            near: near.map(str::to_owned),
            home: home.map(str::to_owned),
        };
        let of = |yaml| faults(Reader::Compose, "service", yaml);
        assert_eq!(of("image: a\nx-b: 1\nshm_size: ${S}\nulimits: {memlock: -1}\ncommand:\n"), []);
        assert_eq!(of("shmsize: 1"), [("shmsize".into(), unknown(Some("shm_size"), None))]);
        assert_eq!(
            of("deploy: {restart: always}"),
            [("deploy.restart".into(), unknown(None, Some("service")))]
        );
        assert_eq!(
            of("deploy: {resources: {limits: {devices: []}}}"),
            [("deploy.resources.limits.devices".into(), unknown(None, Some("reservations")))]
        );
        assert_eq!(of("replicas: 2"), [("replicas".into(), unknown(None, Some("deploy")))]);
        let wrong = Problem::Type { expected: "a string".into(), actual: "a number" };
        let devices =
            "deploy: {resources: {reservations: {devices: [{device_ids: [0], capabilities: [gpu]}]}}}";
        assert_eq!(of(devices), [("deploy.resources.reservations.devices.0.device_ids.0".into(), wrong)]);
        let pod = "containers: [{name: a, imagePullPolicy: always}]";
        let allowed = "Always, IfNotPresent, Never".to_owned();
        let word = Problem::Word { value: "always".into(), allowed };
        assert_eq!(
            faults(Reader::Kubernetes, "PodSpec", pod),
            [("containers.0.imagePullPolicy".into(), word)]
        );
        let missing = Problem::Missing { key: "name".into() };
        assert_eq!(
            faults(Reader::Kubernetes, "PodSpec", "containers: [{image: b}]"),
            [("containers.0".into(), missing)]
        );
    }
}
