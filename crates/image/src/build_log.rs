//! What the output of a failed build means.

use catalog::Catalog;
use diagnose::root_cause;
pub use diagnose::root_cause::Diagnosis;

/// The diagnosis of what a step printed last and of the engine's message.
pub fn diagnose(catalog: &'static Catalog, last_lines: &[String], message: &str) -> Diagnosis {
    root_cause::diagnose_text(catalog, "build", &format!("{}\n{message}\n", last_lines.join("\n")))
}
