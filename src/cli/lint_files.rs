//! What `envdoc lint` has in common with the tool of `envdoc mcp`: rules are chosen, files get what they are
//! compared with, findings are put together.

use std::path::Path;
use std::rc::Rc;

use ::config::Settings;
use diagnostic::error::Error;
use diagnostic::layout::Layout;
use diagnostic::render::json::IgnoredEntry;
use diagnostic::render::text;
use diagnostic::rule::select;
use facts::Facts;
use lint::report::{self, Coverage};
use lint::{File, Finding, RULES, Rule, Skipped, Unreadable, World};

use super::settings;

/// The rules that the options and the settings leave.
pub(super) struct Rules {
    pub(super) chosen: Vec<&'static Rule>,
    pub(super) settings: Settings,
    /// What the settings leave out in all files.
    pub(super) ignored: Vec<IgnoredEntry>,
}

/// The rules that the options and the settings leave.
///
/// # Errors
/// A name that is none, or nothing is left.
pub(super) fn rules(only: &[String], ignore: &[String], settings: Settings) -> Result<Rules, Error> {
    let list = "`envdoc lint --rules` lists all rules";
    let mut chosen = select(RULES, only, ignore, "rule or group", list)?;
    let ignored = settings::left_out(&settings, |ignore| settings::is_of(&ignore.id, &chosen));
    chosen.retain(|rule| !ignored.iter().any(|ignore| settings::is_of(&ignore.id, [rule])));
    let ignored = settings::entries(&ignored);
    if chosen.is_empty() {
        return Err(settings::nothing_left("rules", ignore, &ignored));
    }
    Ok(Rules { chosen, settings, ignored })
}

/// Gives the files a machine, a number of ranks, and what the settings ignore in them.
pub(super) fn compare(
    files: &mut [File],
    settings: &Settings,
    facts: Option<Facts>,
    world_size: Option<u64>,
) {
    let facts = facts.map(Rc::new);
    let world = world_size.map(|size| World { size, from: "--world-size".to_owned(), given: true });
    let today = settings::today();
    for file in files {
        let here = settings.ignores.in_files(today).filter(|ignore| ignore.covers(Path::new(&file.name)));
        file.ignored = here.map(|ignore| ignore.id.clone()).collect();
        file.facts.clone_from(&facts);
        file.world.clone_from(&world);
    }
}

/// All findings, and what was looked at.
pub(super) struct Linted {
    pub(super) findings: Vec<Finding>,
    pub(super) coverage: Coverage,
    /// The names of all files, merged ones included.
    pub(super) names: Vec<String>,
    /// Whether rules checked every named file.
    pub(super) complete: bool,
}

/// The findings in the files, and those about files that could not be read or that no rule checks.
pub(super) fn linted(
    rules: &[&'static Rule],
    files: &[File],
    mut findings: Vec<Finding>,
    unreadable: &[Unreadable],
    skipped: Vec<Skipped>,
) -> Linted {
    findings.extend(unreadable.iter().flat_map(|file| lint::unreadable(rules, file)));
    let named = skipped.iter().filter(|file| file.named);
    findings.extend(named.clone().flat_map(|file| lint::skipped(rules, file)));
    let complete = named.count() == 0;
    let coverage = Coverage::of(rules, files, unreadable.len(), skipped);
    Linted { findings, coverage, names: names(files), complete }
}

/// The report for people, with what the settings leave out.
pub(super) fn text(linted: &Linted, ignored: &[IgnoredEntry], layout: Layout) -> String {
    let mut text = report::text(&linted.findings, &linted.coverage, layout);
    text::ignored(&mut text, ignored, layout);
    text
}

fn names(files: &[File]) -> Vec<String> {
    let names = files
        .iter()
        .flat_map(|file| std::iter::once(&file.name).chain(file.over.iter().map(|over| &over.name)));
    names.cloned().collect()
}
