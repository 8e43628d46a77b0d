//! A status as the JSON report of a build has it, where one that passed is `proved`.

use diagnostic::Status;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::Serializer;

const PASSED: &str = "proved";

/// The word of a status.
pub(super) fn word(status: Status) -> &'static str {
    match status {
        Status::Passed => PASSED,
        Status::Failed | Status::Unknown | Status::Skipped => status.id(),
    }
}

/// Writes the word.
pub(super) fn serialize<S: Serializer>(status: &Status, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(word(*status))
}

/// All words.
pub(super) fn schema(_: &mut SchemaGenerator) -> Schema {
    let all = [Status::Passed, Status::Failed, Status::Unknown, Status::Skipped].map(word);
    json_schema!({"type": "string", "enum": all})
}
