//! What settings files leave out of a report.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A check or a rule that settings leave out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IgnoredEntry {
    /// Id of the check or rule, or of a group of them.
    pub id: String,
    /// The settings file: relative to the working directory where it is below, else to the user's home (`~`).
    pub file: String,
}

impl IgnoredEntry {
    /// The ids of some entries, and the files, each once: `driver, own:x` and `envdoc.toml`.
    pub fn ids_and_files(entries: &[IgnoredEntry]) -> (String, String) {
        let mut files: Vec<&str> = Vec::new();
        for one in entries {
            if !files.contains(&one.file.as_str()) {
                files.push(&one.file);
            }
        }
        let ids: Vec<&str> = entries.iter().map(|one| one.id.as_str()).collect();
        (ids.join(", "), files.join(", "))
    }

    /// Some entries in a line: `ignored by envdoc.toml: driver, own:x`; `None` where there are none.
    pub fn statement(entries: &[IgnoredEntry]) -> Option<String> {
        let (ids, files) = IgnoredEntry::ids_and_files(entries);
        (!entries.is_empty()).then(|| format!("ignored by {files}: {ids}"))
    }
}
