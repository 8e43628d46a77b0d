//! The diagnosis for an issue: what names people, machines and networks is replaced as in snapshots.

use super::findings;
use crate::root_cause::Diagnosis;
use diagnostic::render::markdown;
use host::redact;

/// The report, redacted.
pub fn report(diagnosis: &Diagnosis, timeline: bool) -> String {
    let text = markdown::report(&findings::report(diagnosis, timeline));
    redact::log(text.trim_end(), &diagnosis.nodes) + "\n"
}
