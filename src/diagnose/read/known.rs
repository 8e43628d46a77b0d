//! What lines meant that came before: a log of a failure says the same again and again, word for word.

use std::collections::HashMap;

use crate::diagnose::scan::Hit;

/// So many lines are kept in mind, and none that is longer than so many bytes.
const LINES: usize = 4096;
const LONGEST: usize = 512;

/// What a line means.
#[derive(Debug, Clone, Default)]
pub struct Meaning {
    /// The signatures that it matches, as [`crate::diagnose::scan::scan`] orders them.
    pub hits: Vec<Hit>,
    /// Their places in [`crate::catalog::signatures::all`], ascending.
    pub signatures: Vec<usize>,
    /// Whether it looks like an error.
    pub error_like: bool,
    /// Whether the lines after it belong to it.
    pub opens: bool,
}

/// Lines and what they mean.
#[derive(Debug, Clone, Default)]
pub struct Known {
    lines: HashMap<Box<str>, Meaning>,
}

impl Known {
    /// What a line means, if it is known.
    pub fn meaning(&self, line: &str) -> Option<&Meaning> {
        if line.len() > LONGEST { None } else { self.lines.get(line) }
    }

    /// Keeps it in mind. When that is full it begins anew: what comes often comes again.
    pub fn learn(&mut self, line: &str, meaning: &Meaning) {
        if line.len() > LONGEST {
            return;
        }
        if self.lines.len() == LINES {
            self.lines.clear();
        }
        self.lines.insert(line.into(), meaning.clone());
    }
}
