//! JSON documents. Each command has a document of its own with stable keys; what findings have in common is
//! here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Kind};
pub use crate::ignored::IgnoredEntry;
use crate::{Diagnostic, Edit, Fix, FixClass, Position, Verdict};

/// One way to fix a finding.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FixEntry {
    /// An imperative sentence that introduces the commands.
    pub title: String,
    /// Commands to run, in order.
    pub commands: Vec<String>,
    /// Changes to files that fix it; left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<EditEntry>,
    /// What it does to the machine.
    pub class: FixClass,
}

/// A change to a file: text in place of a part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EditEntry {
    /// The file, as it was named.
    pub file: String,
    /// Where the replaced part begins.
    pub start: Position,
    /// Where it ends; the same as `start`: the text is inserted.
    pub end: Position,
    /// The text to write; empty: the part is deleted.
    pub text: String,
}

impl From<&Edit> for EditEntry {
    fn from(edit: &Edit) -> EditEntry {
        let Edit { file, start, end, text } = edit;
        EditEntry { file: file.clone(), start: *start, end: *end, text: text.clone() }
    }
}

impl From<&Fix> for FixEntry {
    fn from(fix: &Fix) -> FixEntry {
        FixEntry {
            title: fix.title.clone(),
            commands: fix.commands.clone(),
            edits: fix.edits.iter().map(EditEntry::from).collect(),
            class: fix.class,
        }
    }
}

/// The first fix as schema 1 named it; `fixes` has them all.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct OldFixEntry {
    /// The same as `title` of the first of `fixes`.
    pub text: String,
    /// Commands to run, in order.
    pub commands: Vec<String>,
    /// `safe`, `disruptive` (restarts a service or resets a GPU) or `reboot`.
    pub class: String,
}

impl From<&Fix> for OldFixEntry {
    fn from(fix: &Fix) -> OldFixEntry {
        let class = match fix.class {
            FixClass::Safe | FixClass::Manual => "safe",
            FixClass::RestartsService => "disruptive",
            FixClass::NeedsReboot => "reboot",
        };
        OldFixEntry { text: fix.title.clone(), commands: fix.commands.clone(), class: class.into() }
    }
}

/// The fixes of a finding; none of any other verdict.
pub fn fixes(verdict: &Verdict) -> Vec<FixEntry> {
    verdict.found().map(fixes_of).unwrap_or_default()
}

/// The fixes of a finding.
pub fn fixes_of(diagnostic: &Diagnostic) -> Vec<FixEntry> {
    diagnostic.fixes.iter().map(FixEntry::from).collect()
}

/// The first fix of a finding, as schema 1 named it.
pub fn old_fix(verdict: &Verdict) -> Option<OldFixEntry> {
    verdict.found().and_then(|found| found.fixes.first()).map(OldFixEntry::from)
}

/// The evidence of a finding; none of any other verdict.
pub fn evidence(verdict: &Verdict) -> Vec<String> {
    verdict.found().map(|found| found.evidence.clone()).unwrap_or_default()
}

/// Any value as indented JSON with a line feed at the end.
pub fn text(value: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|error| Error::new(Kind::File, format!("cannot write JSON: {error}")))
}
