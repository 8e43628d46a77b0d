//! The requirements of an entry, under both of their keys: `requirements`, and `wishes`, their name in the
//! first locks and reports. Readers of the older key keep working, and older locks can be read.

use diagnostic::render::message_keys::describe_former;
use schemars::Schema;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serializer};

const KEY: &str = "requirements";
const FORMER_KEY: &str = "wishes";

/// Writes the requirements under both keys.
pub(crate) fn serialize<S: Serializer>(requirements: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(2))?;
    map.serialize_entry(KEY, requirements)?;
    map.serialize_entry(FORMER_KEY, requirements)?;
    map.end()
}

/// Reads the requirements from their key, else from the former one.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    struct Keys {
        requirements: Option<Vec<String>>,
        #[serde(rename = "wishes")]
        former: Option<Vec<String>>,
    }
    let keys = Keys::deserialize(deserializer)?;
    keys.requirements.or(keys.former).ok_or_else(|| serde::de::Error::missing_field(KEY))
}

/// Adds the former key to the schema of an entry that has the current one.
pub(crate) fn describe(schema: &mut Schema) {
    describe_former(schema, KEY, FORMER_KEY);
}
