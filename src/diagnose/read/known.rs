//! What lines were that came before: a log of a failure says the same again and again, word for word.

use std::collections::HashMap;

use crate::diagnose::scan::Line;

/// So many lines are kept in mind, and none that is longer than so many bytes.
const LINES: usize = 2048;
const LONGEST: usize = 512;

/// Lines and what they are.
#[derive(Debug, Clone, Default)]
pub struct Known {
    lines: HashMap<Box<str>, Line>,
}

impl Known {
    /// What a line is, if it is known.
    pub fn line(&self, line: &str) -> Option<&Line> {
        if line.len() > LONGEST { None } else { self.lines.get(line) }
    }

    /// Keeps it in mind. When that is full it begins anew: what comes often comes again.
    pub fn learn(&mut self, line: &str, known: &Line) {
        if line.len() > LONGEST {
            return;
        }
        if self.lines.len() == LINES {
            self.lines.clear();
        }
        self.lines.insert(line.into(), known.clone());
    }
}
