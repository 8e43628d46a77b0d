//! A compose or stack file: YAML with anchors, merges and extensions, read tolerantly, with the lines of its keys.

mod places;
mod service;

pub use service::{Gpus, Service};

use serde_yaml::Value;

use crate::lint::file::Stack;
use places::Places;

/// A compose file.
#[derive(Debug)]
pub struct Compose {
    /// What stands in it, merges applied; null where it cannot be read.
    pub root: Value,
    /// Why it cannot be read, and the line.
    pub broken: Option<(usize, String)>,
    /// Whether it looks like a template that somebody still fills in.
    pub template: bool,
    /// Whether it is meant for `docker stack deploy`.
    pub stack: IsStack,
    /// Its services, in order.
    pub services: Vec<Service>,
    places: Places,
}

/// Whether a compose file is a stack file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsStack {
    /// Nothing says so.
    No,
    /// It has keys that only swarm reads.
    Likely,
    /// Its name or the user says so.
    Yes,
}

impl Compose {
    /// Reads a compose file.
    pub fn read(text: &str, said: Stack) -> Compose {
        let mut broken = None;
        let mut root = match serde_yaml::from_str::<Value>(text) {
            Ok(root) => root,
            Err(error) => {
                let line = error.location().map_or(1, |place| place.line());
                broken = Some((line.clamp(1, text.lines().count().max(1)), error.to_string()));
                Value::Null
            }
        };
        if let Err(error) = root.apply_merge() {
            broken = broken.or(Some((1, error.to_string())));
        }
        let template = text.contains("{{") || text.contains("{%");
        let places = Places::read(text);
        // The parser names the mapping in which a key stands twice, not the key's line.
        if let (Some(_), Some((line, key))) = (&broken, &places.twice) {
            broken = Some((*line, format!("the key {key} stands twice in one mapping")));
        }
        let services = map(&root, "services").map(|services| {
            services.iter().filter_map(|(name, value)| Service::read(name, value, &root, &places)).collect()
        });
        let mut compose = Compose {
            root,
            broken,
            template,
            stack: IsStack::No,
            services: services.unwrap_or_default(),
            places,
        };
        compose.stack = match said {
            Stack::Yes => IsStack::Yes,
            Stack::Unsaid if compose.services.iter().any(Service::only_swarm) => IsStack::Likely,
            Stack::Unsaid => IsStack::No,
        };
        compose
    }

    /// The line of a key, or of the nearest key above it that has one.
    pub fn line(&self, path: &[&str]) -> usize {
        self.places.line(path)
    }

    /// A top-level key.
    pub fn top(&self, key: &str) -> Option<&Value> {
        self.root.as_mapping()?.get(key)
    }

    /// The networks at the top, by name.
    pub fn networks(&self) -> impl Iterator<Item = (&str, &Value)> {
        let networks = map(&self.root, "networks").into_iter().flatten();
        networks.filter_map(|(name, value)| Some((name.as_str()?, bare(value))))
    }
}

/// A value below a key that is a mapping.
fn map<'v>(value: &'v Value, key: &str) -> Option<&'v serde_yaml::Mapping> {
    bare(bare(value).as_mapping()?.get(key)?).as_mapping()
}

/// A value without its tag (`!reset`, `!override`).
pub fn bare(value: &Value) -> &Value {
    match value {
        Value::Tagged(tagged) => &tagged.value,
        other => other,
    }
}

/// A scalar as text.
pub fn text(value: &Value) -> Option<String> {
    match bare(value) {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// What stands below a path of keys.
pub fn below<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(bare(value), |value, key| value.as_mapping()?.get(*key).map(bare))
}
