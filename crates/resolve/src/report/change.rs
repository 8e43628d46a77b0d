//! The smallest change of a project's files with which it has a stack.

use std::fmt::Write;

use anstyle::Style;
use diagnostic::layout::{Layout, wrapped};
use diagnostic::render::json::EditEntry;
use diagnostic::visible;
use schemars::JsonSchema;
use serde::Serialize;

/// What to change in a project's files so that they run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProjectChange {
    /// The stack after the change, in words; null: no change of the files helps.
    pub stack: Option<String>,
    /// The changes; empty: the files can only be changed by hand, or no change helps.
    pub edits: Vec<EditEntry>,
    /// What to change by hand instead, in sentences.
    pub by_hand: Vec<String>,
    /// Commands of other programs that make the change, or the rest of it.
    pub commands: Vec<String>,
    /// What else is to know, in sentences.
    pub notes: Vec<String>,
    /// The changes as unified diffs.
    #[serde(skip)]
    pub diff: String,
    /// Whether the files are about to be written.
    #[serde(skip)]
    pub applied: bool,
}

impl ProjectChange {
    /// The change for people.
    pub(super) fn text(&self, text: &mut String, layout: Layout) {
        let bold = Style::new().bold();
        text.push('\n');
        if let Some(stack) = &self.stack {
            let _ = writeln!(text, "{bold}Smallest change{bold:#} ({stack})");
        }
        // A diff is never wrapped.
        text.push_str(&self.diff);
        for sentence in &self.by_hand {
            wrapped(text, sentence, "  ", "    ", layout);
        }
        // A command is never wrapped.
        for command in &self.commands {
            let _ = writeln!(text, "    {}", visible::line(command));
        }
        for sentence in &self.notes {
            wrapped(text, sentence, "  ", "    ", layout);
        }
        if !self.diff.is_empty() && !self.applied {
            wrapped(text, "Apply it: run the same command with --write.", "  ", "    ", layout);
        }
    }
}
