//! The fixes of an entry, under two keys: `fixes`, and `fix`, which has each as one line, as the first
//! reports had them. Readers of the older key keep working. A field of a report is written as
//!
//! ```ignore
//! #[derive(Serialize, JsonSchema)]
//! #[schemars(transform = fix_keys::describe)]
//! struct Entry {
//!     /// What to do, the best first.
//!     #[serde(flatten, with = "fix_keys")]
//!     #[schemars(!flatten, with = "Vec<FixEntry>")]
//!     fixes: Vec<Fix>,
//! }
//! ```

use schemars::Schema;
use serde::Serializer;
use serde::ser::SerializeMap;
use serde_json::{Value, json};

use super::json::FixEntry;
use crate::Fix;

const KEY: &str = "fixes";
const FORMER_KEY: &str = "fix";

/// Writes the fixes under both keys.
pub fn serialize<S: Serializer>(fixes: &[Fix], serializer: S) -> Result<S::Ok, S::Error> {
    let lines: Vec<String> = fixes.iter().map(Fix::to_string).collect();
    let entries: Vec<FixEntry> = fixes.iter().map(FixEntry::from).collect();
    let mut map = serializer.serialize_map(Some(2))?;
    map.serialize_entry(FORMER_KEY, &lines)?;
    map.serialize_entry(KEY, &entries)?;
    map.end()
}

/// Adds the former key to the schema of an entry that has the current one.
pub fn describe(schema: &mut Schema) {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        let former = json!({
            "description": "The same as `fixes`, each as one line with its commands in backquotes.",
            "type": "array",
            "items": {"type": "string"},
        });
        properties.insert(FORMER_KEY.into(), former);
    }
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut)
        && let Some(index) = required.iter().position(|one| one == KEY)
    {
        required.insert(index, FORMER_KEY.into());
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Serialize;

    use super::*;

    #[derive(Serialize, JsonSchema)]
    #[schemars(transform = super::describe)]
    struct Entry {
        node: String,
        /// What to do.
        #[serde(flatten, with = "super")]
        #[schemars(!flatten, with = "Vec<FixEntry>")]
        fixes: Vec<Fix>,
    }

    #[test]
    fn fixes_have_both_keys_in_the_report_and_in_its_schema() {
        let fixes = vec![Fix::restarts_service("Restart it, on node1:", &["docker restart node1"])];
        let entry = serde_json::to_value(Entry { node: "node1".into(), fixes }).unwrap();
        assert_eq!(entry["fix"], json!(["Restart it, on node1: `docker restart node1`"]));
        let fix = json!({
            "title": "Restart it, on node1:",
            "commands": ["docker restart node1"],
            "class": "restarts-service",
        });
        assert_eq!(entry["fixes"], json!([fix]));
        let schema = schemars::schema_for!(Entry).to_value();
        assert_eq!(schema["required"], json!(["node", "fix", "fixes"]));
        assert_eq!(schema["properties"]["fix"]["items"]["type"], "string");
        assert_eq!(schema["properties"]["fixes"]["description"], "What to do.");
    }
}
