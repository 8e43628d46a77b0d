//! The extras and groups of a project that a user chooses.

use std::collections::BTreeSet;

use diagnostic::suggest::nearest;
use resolve::parse::package_name;

use crate::error::ProjectError;
use crate::not_read::{NotRead, Reason};
use crate::project::Project;
use crate::selection::Selection;

/// What was chosen, and what the files that were read offer.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    pub(crate) extras: Names,
    pub(crate) groups: Names,
}

/// Names as they are compared (PEP 503).
#[derive(Debug, Default)]
pub(crate) struct Names {
    asked: Vec<String>,
    offered: BTreeSet<String>,
}

impl Choice {
    pub(crate) fn of(selection: &Selection) -> Choice {
        let names = |asked: &[String]| Names {
            asked: asked.iter().map(|name| package_name(name)).collect(),
            offered: BTreeSet::new(),
        };
        Choice { extras: names(&selection.extras), groups: names(&selection.groups) }
    }

    /// Refuses what no file offers.
    pub(crate) fn check(&self) -> Result<(), ProjectError> {
        self.extras.check("extra")?;
        self.groups.check("group")
    }
}

impl Names {
    pub(crate) fn offer(&mut self, name: &str) {
        self.offered.insert(name.to_owned());
    }

    pub(crate) fn is_asked(&self, name: &str) -> bool {
        self.asked.iter().any(|one| one == name)
    }

    fn check(&self, what: &'static str) -> Result<(), ProjectError> {
        let Some(name) = self.asked.iter().find(|name| !self.offered.contains(*name)) else { return Ok(()) };
        let offered: Vec<String> = self.offered.iter().cloned().collect();
        let near = nearest(name, offered.iter().map(String::as_str)).map(str::to_owned);
        Err(ProjectError::NotOffered { what, name: name.clone(), near, offered })
    }
}

/// Adds the extras of a file that are not chosen.
pub(crate) fn skip_extras(project: &mut Project, file: &str, names: &[String]) {
    let reason = match names {
        [] => return,
        [name] => Reason::Extra { name: name.clone() },
        _ => Reason::Extras { names: names.join(", ") },
    };
    project.not_read.push(NotRead { file: file.to_owned(), line: None, reason });
}

/// Adds the groups of a file that are not chosen.
pub(crate) fn skip_groups(project: &mut Project, file: &str, names: &[String]) {
    let reason = match names {
        [] => return,
        [name] => Reason::Group { name: name.clone() },
        _ => Reason::Groups { names: names.join(", ") },
    };
    project.not_read.push(NotRead { file: file.to_owned(), line: None, reason });
}
