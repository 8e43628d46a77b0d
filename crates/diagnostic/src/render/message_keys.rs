//! The message of an entry, under both of its keys: `message`, and `says`, its name in the first reports.
//! Readers of the older key keep working. A field of a report is written as
//!
//! ```ignore
//! #[derive(Serialize, JsonSchema)]
//! #[schemars(transform = message_keys::describe)]
//! struct Entry {
//!     /// What was found.
//!     #[serde(flatten, with = "message_keys")]
//!     #[schemars(!flatten, with = "String")]
//!     message: String,
//! }
//! ```

use schemars::Schema;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

const KEY: &str = "message";
const FORMER_KEY: &str = "says";

/// Writes the message under both keys.
pub fn serialize<T: Serialize, S: Serializer>(message: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(2))?;
    map.serialize_entry(KEY, message)?;
    map.serialize_entry(FORMER_KEY, message)?;
    map.end()
}

/// Reads the message from its key; the former key is not needed.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    struct Keys {
        message: String,
    }
    Keys::deserialize(deserializer).map(|keys| keys.message)
}

/// Adds the former key to the schema of an entry that has the current one.
pub fn describe(schema: &mut Schema) {
    describe_former(schema, KEY, FORMER_KEY);
}

/// Adds the former name of a key to the schema of an entry that has the key.
pub fn describe_former(schema: &mut Schema, key: &str, former: &str) {
    let Some(mut property) = schema.pointer(&format!("/properties/{key}")).cloned() else { return };
    property["description"] = format!("The same as `{key}`, under its former name.").into();
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert(former.into(), property);
    }
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut)
        && let Some(index) = required.iter().position(|one| one == key)
    {
        required.insert(index + 1, former.into());
    }
}

/// Adds a message to an event.
pub fn event(mut event: Value, message: &str) -> Value {
    for key in [KEY, FORMER_KEY] {
        event[key] = message.into();
    }
    event
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde_json::json;

    use super::*;

    #[derive(Serialize, Deserialize, JsonSchema)]
    #[schemars(transform = super::describe)]
    struct Entry {
        node: String,
        /// What was found.
        #[serde(flatten, with = "super")]
        #[schemars(!flatten, with = "String")]
        message: String,
        count: u32,
    }

    #[test]
    fn a_message_has_both_keys_in_the_report_and_in_its_schema() {
        let entry = Entry { node: "node1".into(), message: "full".into(), count: 2 };
        let text = serde_json::to_string(&entry).unwrap();
        assert_eq!(text, r#"{"node":"node1","message":"full","says":"full","count":2}"#);
        let read: Entry =
            serde_json::from_value(json!({"node": "node1", "message": "full", "count": 2})).unwrap();
        assert_eq!(read.message, "full");
        let schema = schemars::schema_for!(Entry).to_value();
        assert_eq!(schema["required"], json!(["node", "message", "says", "count"]));
        assert_eq!(schema["properties"]["message"]["description"], "What was found.");
        assert_eq!(schema["properties"]["says"]["type"], "string");
    }

    #[test]
    fn an_event_has_both_keys() {
        let expected = json!({"event": "note", "message": "slow", "says": "slow"});
        assert_eq!(event(json!({"event": "note"}), "slow"), expected);
    }
}
