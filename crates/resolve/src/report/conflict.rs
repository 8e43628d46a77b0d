//! Why there is no stack, for people.

use std::collections::BTreeSet;
use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use diagnostic::layout::{Layout, wrapped};
use diagnostic::terminal::colour;

use super::ProjectChange;
use super::parts::{WARNING, heading, headline};
use crate::outcome::{Conflict, Nearest, Reason};

const NONE: AnsiColor = AnsiColor::Red;

/// Why there is no stack, and what would have one.
pub(super) fn write(text: &mut String, conflict: &Conflict, change: Option<&ProjectChange>, layout: Layout) {
    let no = if layout.unicode { "✗" } else { "x" };
    let (style, sign) = if conflict.undecided { (WARNING, "?") } else { (NONE, no) };
    let style = colour(style).bold();
    let message =
        if conflict.message.is_empty() { "no stack meets these requirements" } else { &conflict.message };
    wrapped(text, message, &format!("{style}{sign}{style:#} "), "  ", layout);
    if !conflict.requirements.is_empty() {
        let words = match (conflict.undecided, conflict.requirements.len()) {
            (false, _) => "These requirements conflict",
            (true, 1) => "Not in the catalog",
            (true, _) => "No stack in the catalog meets all of",
        };
        heading(text, words);
        for requirement in &conflict.requirements {
            let _ = writeln!(text, "  {requirement}");
        }
    }
    if !conflict.reasons.is_empty() {
        heading(text, "Reason");
        // One reason of each kind is enough for people.
        let mut kinds = BTreeSet::new();
        let reasons = conflict.reasons.iter();
        let shown: Vec<&Reason> =
            reasons.filter(|reason| kinds.insert(reason.constraint.as_str()) || layout.verbose).collect();
        for reason in &shown {
            wrapped(text, &reason.message, "  ", "    ", layout);
        }
        match conflict.reasons.len() - shown.len() {
            0 => {}
            more => {
                let _ = writeln!(text, "  and {more} more like these: --verbose");
            }
        }
    }
    if let Some(change) = change {
        change.text(text, layout);
    }
    // The change is one of them.
    let changed = change.is_some_and(|change| !change.diff.is_empty());
    if !conflict.nearest.is_empty() && (!changed || layout.verbose) {
        heading(text, "Alternatives");
        for nearest in &conflict.nearest {
            near(text, nearest, layout);
        }
    }
}

fn near(text: &mut String, nearest: &Nearest, layout: Layout) {
    let bold = Style::new().bold();
    let words = match &nearest.replacement {
        Some(replacement) => format!("{bold}{replacement}{bold:#} instead of {}", nearest.requirement),
        None => format!("without {bold}{}{bold:#}", nearest.requirement),
    };
    let _ = writeln!(text, "  {words}");
    if nearest.replacement.is_none() {
        wrapped(text, &nearest.change, "    ", "    ", layout);
    }
    wrapped(text, &headline(&nearest.stack), "    ", "    ", layout);
}
