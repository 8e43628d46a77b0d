//! Answers of the resolver, one file a format.

mod change;
mod conflict;
pub mod json;
mod parts;
pub mod project;
mod read_files;
pub mod requirements;
pub mod text;

pub use change::ProjectChange;
pub use read_files::{FileNotRead, FileRead, ProjectFiles};

use crate::outcome::{Outcome, Stack, Warning};
use crate::request::Requirement;

/// The input of every renderer.
#[derive(Debug)]
pub struct Report<'a> {
    /// Those of the options, the machines and the lock.
    pub requirements: &'a [Requirement],
    /// A stack or a conflict.
    pub outcome: &'a Outcome,
    /// Notes: of the machines, and of how the options were read.
    pub warnings: &'a [Warning],
    /// Facts that add no requirement.
    pub notes: &'a [String],
    /// The files of a project that the requirements come from, where one was read.
    pub project: Option<&'a ProjectFiles>,
}

impl Report<'_> {
    /// All warnings: of the stack and of the request.
    pub fn all_warnings(&self) -> impl Iterator<Item = &Warning> {
        let of_stack = match self.outcome {
            Outcome::Resolved(resolution) => &resolution.warnings[..],
            Outcome::Conflict(_) => &[],
        };
        of_stack.iter().chain(self.warnings)
    }
}

/// The comments above a file that is made of a stack.
fn comments(report: &Report, stack: &Stack) -> String {
    let mut lines = vec![format!("Made by envdoc {} (envdoc resolve).", env!("CARGO_PKG_VERSION"))];
    // A file has no -v that would show the rest.
    lines.extend(report.project.map(|files| files.sentence(true)));
    if !report.requirements.is_empty() {
        let requirements: Vec<String> =
            report.requirements.iter().map(|requirement| requirement.source.to_string()).collect();
        lines.push(format!("Asked for: {}.", requirements.join(", ")));
    }
    let base = stack.base_image.as_ref().map_or(String::new(), |image| format!(", in {image}"));
    lines.push(format!("For Python {} on Linux {}{base}.", stack.python, stack.architecture));
    if let Some(drivers) = stack.drivers() {
        lines.push(format!("The NVIDIA driver must be {drivers}."));
    }
    lines.extend(report.all_warnings().map(|warning| format!("Warning: {}", warning.message)));
    lines.iter().flat_map(|line| line.lines()).map(|line| format!("# {line}\n")).collect()
}

/// What is said of a flash-attn that has no wheel: it imports torch while its metadata is made, which is
/// before anything of a file is installed, so it cannot be in a file.
fn flash_attn_apart(version: &str, install: &str) -> String {
    format!(
        "# flash-attn {version} is compiled against torch; when the above is installed:\n\
         #   {install} packaging ninja psutil setuptools wheel\n\
         #   {install} --no-build-isolation flash-attn=={version}\n"
    )
}

#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;
