//! A status as the JSON report of a build has it, where one that passed is `proved`.

use diagnostic::Status;
use schemars::JsonSchema;
use serde::Serialize;

/// Result of one check, or of the whole verification.
#[derive(Serialize, JsonSchema)]
#[serde(remote = "Status", rename_all = "kebab-case")]
#[schemars(rename = "Status")]
pub(super) enum StatusWord {
    /// As expected.
    #[serde(rename = "proved")]
    Passed,
    /// Not as expected.
    Failed,
    /// Could not be checked.
    Unknown,
    /// Was not checked.
    Skipped,
}
