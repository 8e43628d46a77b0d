//! Files that somebody else wrote, read before anything is built: Dockerfiles, compose and stack files.
//!
//! [`read`] says what stands in a file, the rules ([`RULES`]) judge it, [`ignore`] hears what the file itself wants left out.
//! Error means that it certainly fails; what a rule cannot understand it is silent about.

pub mod compiles;
pub mod compose;
pub mod dockerfile;
pub mod file;
mod ignore;
mod list;
pub mod read;
mod rule;
pub mod torch;

pub use file::{File, Stack};
pub use list::RULES;
pub use rule::{Example, Found, Judge, Kind, Rule, Severity};

use read::compose::Compose;
use read::dockerfile::Dockerfile;

/// One thing that a rule found in a file.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// The name of the file, as it was given.
    pub file: String,
    /// What, where, and how bad.
    pub found: Found,
}

/// Judges a file by some rules; what comes out stands in the order of its lines.
pub fn lint(rules: &[&'static Rule], file: &File) -> Vec<Finding> {
    let mut found: Vec<(&'static Rule, Found)> = match file.kind {
        Kind::Dockerfile => {
            let dockerfile = Dockerfile::read(&file.text);
            let ignores = ignore::Ignores::of_dockerfile(&file.text, &dockerfile);
            let judged = rules.iter().filter_map(|rule| match rule.judge {
                Judge::Dockerfile(judge) => Some((*rule, judge(&dockerfile))),
                Judge::Compose(_) => None,
            });
            kept(judged, &ignores)
        }
        Kind::Compose => {
            let compose = Compose::read(&file.text, file.stack);
            let ignores = ignore::Ignores::of_lines(&file.text);
            let judged = rules.iter().filter_map(|rule| match rule.judge {
                Judge::Compose(judge) => Some((*rule, judge(&compose))),
                Judge::Dockerfile(_) => None,
            });
            kept(judged, &ignores)
        }
    };
    found.sort_by(|(_, one), (_, other)| (one.line, other.severity).cmp(&(other.line, one.severity)));
    found.into_iter().map(|(rule, found)| Finding { rule, file: file.name.clone(), found }).collect()
}

fn kept(
    judged: impl Iterator<Item = (&'static Rule, Vec<Found>)>,
    ignores: &ignore::Ignores,
) -> Vec<(&'static Rule, Found)> {
    judged
        .flat_map(|(rule, found)| found.into_iter().map(move |one| (rule, one)))
        .filter(|(rule, found)| !ignores.cover(rule.id, found.line))
        .collect()
}

#[cfg(test)]
mod tests;
