//! Values of a manifest: labels, lists, scalars.

use serde_yaml::Value;

use super::compose::{below, text};

/// Labels by name.
pub(crate) fn labels(value: Option<&Value>) -> Vec<(String, String)> {
    let map = value.and_then(Value::as_mapping).into_iter().flatten();
    map.filter_map(|(key, value)| Some((text(key)?, text(value)?))).collect()
}

/// The items of a list below a key.
pub(crate) fn list<'v>(value: &'v Value, key: &str) -> Vec<&'v Value> {
    below(value, &[key]).and_then(Value::as_sequence).map_or_else(Vec::new, |items| items.iter().collect())
}

/// The scalar below a path.
pub(crate) fn scalar(value: &Value, path: &[&str]) -> Option<String> {
    below(value, path).and_then(text)
}
