//! Which files were checked, by how many rules, and which were skipped.

use std::collections::BTreeMap;

use diagnostic::layout::{Layout, wrapped};

use super::plural;
use crate::rule::Judge;
use crate::{File, Kind, Rule, Skipped, Unchecked};

/// Names that a line of the report lists; the JSON report lists all.
const NAMES_SHOWN: usize = 3;

/// The files of one type, and the number of rules that checked each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The type.
    pub kind: Kind,
    /// How many of the chosen rules check files of this type.
    pub rules: usize,
    /// The names of the files, merged ones included.
    pub files: Vec<String>,
}

/// What was checked and what was not.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    /// By type, in the order of [`Kind::ALL`].
    pub checked: Vec<Checked>,
    /// Files and directories that could not be read.
    pub unreadable: usize,
    /// Files that no rule checked.
    pub skipped: Vec<Skipped>,
}

impl Coverage {
    /// Counts the files and the rules for each type.
    pub fn of(rules: &[&'static Rule], files: &[File], unreadable: usize, skipped: Vec<Skipped>) -> Coverage {
        let of_kind = |kind: Kind| {
            let files = files.iter().filter(|file| file.kind == kind);
            // The hostfile of a DeepSpeed configuration is a file of its own.
            let over = |file: &File| match kind {
                Kind::Compose => file.over.iter().map(|over| over.name.clone()).collect(),
                _ => Vec::new(),
            };
            let names = files.flat_map(|file| std::iter::once(file.name.clone()).chain(over(file)));
            let files: Vec<String> = names.collect();
            let rules = rules.iter().filter(|rule| checks(rule, kind)).count();
            (!files.is_empty()).then_some(Checked { kind, rules, files })
        };
        let checked = Kind::ALL.iter().filter_map(|kind| of_kind(*kind)).collect();
        Coverage { checked, unreadable, skipped }
    }

    /// How many files were looked at, unreadable ones included.
    pub fn files(&self) -> usize {
        self.checked.iter().map(|one| one.files.len()).sum::<usize>() + self.unreadable
    }

    /// Lines for people, wrapped.
    pub fn text(&self, layout: Layout) -> String {
        let mut text = String::new();
        self.lines().iter().for_each(|line| wrapped(&mut text, line, "  ", "    ", layout));
        text
    }

    /// Each type with its rules and files, then what was skipped.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for one in &self.checked {
            let (files, rules) = (plural(one.files.len(), "file"), plural(one.rules, "rule"));
            lines.push(format!("{}: {files}, {rules} ({})", one.kind.id(), names(one.files.iter())));
        }
        let mut skipped: BTreeMap<Unchecked, Vec<&String>> = BTreeMap::new();
        for one in &self.skipped {
            skipped.entry(one.why).or_default().push(&one.name);
        }
        for (why, files) in skipped {
            let count = plural(files.len(), "file");
            lines.push(format!("skipped, {}: {count} ({})", why.title(), names(files.into_iter())));
        }
        lines
    }
}

/// The first names: `a, b, c, …`.
fn names<'n>(names: impl ExactSizeIterator<Item = &'n String>) -> String {
    let more = names.len() > NAMES_SHOWN;
    let mut shown: Vec<&str> = names.take(NAMES_SHOWN).map(String::as_str).collect();
    shown.extend(more.then_some("..."));
    shown.join(", ")
}

/// Whether a rule checks files of a type.
fn checks(rule: &Rule, kind: Kind) -> bool {
    match rule.judge {
        Judge::Dockerfile(_) => kind == Kind::Dockerfile || kind.lists_packages(),
        Judge::Compose(_) => kind == Kind::Compose,
        Judge::Containers(_) => matches!(kind, Kind::Compose | Kind::Shell | Kind::Profile),
        Judge::Script(_) => matches!(kind, Kind::Shell | Kind::Profile),
        Judge::Accelerate(_) => kind == Kind::AccelerateConfig,
        Judge::Deepspeed(_) => kind == Kind::DeepspeedConfig,
        Judge::Hostfile(_) => kind == Kind::Hostfile,
        Judge::Launch(_) => matches!(kind, Kind::Dockerfile | Kind::Shell | Kind::Profile),
        Judge::Packages(_) => kind.lists_packages(),
        Judge::Machine(_) => {
            matches!(kind, Kind::DaemonJson | Kind::ToolkitConfig | Kind::Sshd | Kind::Crontab | Kind::Limits)
        }
        Judge::Unit(_) => kind == Kind::SystemdUnit,
        Judge::Workflow(_) => kind == Kind::GithubWorkflow,
        Judge::Makefile(_) => kind == Kind::Makefile,
        Judge::Template(_) => kind == Kind::HelmTemplate,
        Judge::Manifest(_) => kind == Kind::Kubernetes,
        Judge::Training(_) => kind == Kind::Python,
        Judge::Variables(_) => matches!(
            kind,
            Kind::Dockerfile
                | Kind::Compose
                | Kind::Environment
                | Kind::DeepspeedEnvironment
                | Kind::NcclConf
                | Kind::Shell
                | Kind::Profile
                | Kind::SystemdUnit
        ),
        Judge::Unreadable(_) | Judge::Skipped(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Content, RULES};
    use catalog::testing::catalog;

    /// The rules that are counted for a type are those that get something to judge.
    #[test]
    fn the_rules_of_a_type_are_those_that_judge_it() {
        for kind in Kind::ALL {
            let content = Content::read(&File::new(catalog(), "a", "", *kind), &[]);
            let judged = |rule: &Rule| match rule.judge {
                Judge::Dockerfile(_) => content.dockerfile.is_some(),
                Judge::Compose(_) => content.compose.is_some(),
                Judge::Containers(_) => content.compose.is_some() || content.script.is_some(),
                Judge::Variables(_) => content.settings.is_some(),
                Judge::Script(_) => content.script.is_some(),
                Judge::Accelerate(_) => content.accelerate.is_some(),
                Judge::Deepspeed(_) => content.config.is_some(),
                Judge::Hostfile(_) => content.hostfile.is_some(),
                Judge::Launch(_) => content.launches.is_some(),
                Judge::Packages(_) => content.packages.is_some(),
                Judge::Machine(_) => content.machine.is_some(),
                Judge::Unit(_) => content.unit.is_some(),
                Judge::Workflow(_) => content.workflow.is_some(),
                Judge::Makefile(_) => content.makefile.is_some(),
                Judge::Manifest(_) => content.manifest.is_some(),
                Judge::Template(_) => content.template.is_some(),
                Judge::Training(_) => content.program.is_some(),
                Judge::Unreadable(_) | Judge::Skipped(_) => false,
            };
            for rule in RULES {
                assert_eq!(checks(rule, *kind), judged(rule), "{} {kind:?}", rule.id);
            }
        }
    }
}
