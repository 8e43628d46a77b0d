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

pub use file::{File, Over, Stack};
pub use list::RULES;
pub use rule::{Example, Found, Judge, Kind, Rule, Severity};

use std::collections::BTreeSet;

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
            let dockerfile = Dockerfile::read(&file.text, &file.context);
            let ignores = ignore::Ignores::of_dockerfile(&file.text, &dockerfile);
            let judged = rules.iter().filter_map(|rule| match rule.judge {
                Judge::Dockerfile(judge) => Some((*rule, judge(&dockerfile))),
                Judge::Compose(_) => None,
            });
            kept(judged, &ignores, file)
        }
        Kind::Compose => {
            let compose = Compose::read(&file.text, &file.over, file.stack);
            let ignores = ignore::Ignores::of_lines(&file.text);
            let judged = rules.iter().filter_map(|rule| match rule.judge {
                Judge::Compose(judge) => Some((*rule, judge(&compose))),
                Judge::Dockerfile(_) => None,
            });
            kept(judged, &ignores, file)
        }
    };
    // Of a file that is installed where it is installed, of one over the other behind it.
    let line = |found: &Found| found.file.as_ref().map_or(found.line, |other| other.by.unwrap_or(usize::MAX));
    found.sort_by(|(_, one), (_, other)| {
        (line(one), one.line, other.severity).cmp(&(line(other), other.line, one.severity))
    });
    // Two stages may install the same file.
    found.dedup_by(|(rule, one), (other, kept)| rule.id == other.id && one.file.is_some() && one == kept);
    found.into_iter().map(|(rule, found)| finding(rule, found, file)).collect()
}

fn finding(rule: &'static Rule, mut found: Found, file: &File) -> Finding {
    let name = match &found.file {
        Some(other) => match other.by {
            Some(by) => {
                found.says.push_str(&format!(" (installed by line {by} of {})", file.name));
                file.beside(&other.path)
            }
            None => other.path.clone(),
        },
        None => file.name.clone(),
    };
    Finding { rule, file: name, found }
}

/// What would have to be read for more to be known of a Dockerfile, and what its build context must hold.
pub fn asks(file: &File) -> Asks {
    // Most files install nothing from a list.
    if file.kind != Kind::Dockerfile || !(file.text.contains(".txt") || file.text.contains(".in")) {
        return Asks::default();
    }
    let Dockerfile { copies, wants, .. } = Dockerfile::read(&file.text, &file.context);
    Asks { copies, wants }
}

/// What a Dockerfile asks of its build context, as paths in it.
#[derive(Debug, Default)]
pub struct Asks {
    /// What it copies: the folder in which all of it lies is the context.
    pub copies: BTreeSet<String>,
    /// Files whose text would tell more.
    pub wants: BTreeSet<String>,
}

fn kept(
    judged: impl Iterator<Item = (&'static Rule, Vec<Found>)>,
    ignores: &ignore::Ignores,
    file: &File,
) -> Vec<(&'static Rule, Found)> {
    judged
        .flat_map(|(rule, found)| found.into_iter().map(move |one| (rule, one)))
        .filter(|(rule, found)| match &found.file {
            None => !ignores.cover(rule.id, found.line),
            Some(other) => {
                let over = file.over.iter().find(|one| one.name == other.path).map(|one| one.text.as_str());
                let context = || file.context.get(&other.path).and_then(Option::as_deref);
                let text = over.or_else(context).unwrap_or_default();
                let here = other.by.is_some_and(|by| ignores.cover(rule.id, by));
                !here && !ignore::Ignores::of_lines(text).cover(rule.id, found.line)
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
