//! A rule that is not kept, as it is reported.

use std::fmt;

use serde::{Serialize, Serializer};

/// A rule that is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Broken {
    /// The file: `torch.yaml`.
    pub file: String,
    /// The row's key; empty where the whole file is meant.
    pub row: String,
    pub rule: &'static str,
    #[serde(flatten, serialize_with = "under_both_keys")]
    pub message: String,
}

/// `says` is the older name of `message` in reports; readers of it keep working.
fn under_both_keys<S: Serializer>(message: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map([("message", message), ("says", message)])
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let space = if self.row.is_empty() { "" } else { " " };
        write!(f, "{}{space}{}: {}: {}", self.file, self.row, self.rule, self.message)
    }
}
