//! What goes on with a cluster, as it happens: lines on standard error, a spinner on a terminal, or events as
//! JSON.

use crate::problem::Step;
use crate::waiting;
use diagnostic::units::short_size;
use std::cell::RefCell;
use std::collections::BTreeMap;

use anstyle::AnsiColor;
use indicatif::{MultiProgress, ProgressBar};
use serde_json::json;

use diagnostic::render::message_keys;
use diagnostic::terminal;
use diagnostic::visible::line;

pub struct Progress {
    shown: Shown,
    unicode: bool,
    bars: RefCell<BTreeMap<String, ProgressBar>>,
}

enum Shown {
    Lines,
    Terminal(MultiProgress),
    Events,
}

/// How a step of a node ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Nothing had to be done.
    Unchanged,
    /// The step was done.
    Changed,
    /// The step would be done without `--dry-run`.
    Planned,
    /// The step failed.
    Failed,
}

impl Progress {
    /// For people, or with `events` for machines.
    pub fn new(events: bool) -> Progress {
        let shown = match (events, terminal::redraws()) {
            (true, _) => Shown::Events,
            (false, true) => Shown::Terminal(MultiProgress::new()),
            (false, false) => Shown::Lines,
        };
        Progress { shown, unicode: terminal::unicode(), bars: RefCell::default() }
    }

    /// Something goes on with a node, from now until [`Progress::done`].
    pub fn doing(&self, step: Step, node: &str, message: &str) {
        match &self.shown {
            Shown::Events => event(json!({"event": "doing", "step": step, "node": node}), message),
            Shown::Lines => terminal::note(&format!("{step:<9} {node:<10} {message} ...")),
            Shown::Terminal(all) => {
                let mut bars = self.bars.borrow_mut();
                let bar = bars.entry(format!("{step} {node}")).or_insert_with(|| self.bar(all));
                bar.set_message(line(&format!("{step:<9} {node:<10} {message}")).into_owned());
            }
        }
    }

    fn bar(&self, all: &MultiProgress) -> ProgressBar {
        let bar = all.add(ProgressBar::new_spinner());
        waiting::style_spinner(&bar, self.unicode);
        bar
    }

    /// How far it is, in bytes; `all` is 0 where nobody knows.
    pub fn far(&self, step: Step, node: &str, message: &str, bytes: u64, all: u64) {
        let Shown::Terminal(_) = &self.shown else { return };
        if let Some(bar) = self.bars.borrow().get(&format!("{step} {node}")) {
            let of = if all > 0 { format!(" of {}", short_size(all)) } else { String::new() };
            bar.set_message(format!("{step:<9} {node:<10} {message} {}{of}", short_size(bytes)));
        }
    }

    /// A step of a node has ended.
    pub fn done(&self, step: Step, node: &str, message: &str, outcome: Outcome) {
        if let Some(bar) = self.bars.borrow_mut().remove(&format!("{step} {node}")) {
            bar.finish_and_clear();
        }
        if let Shown::Events = self.shown {
            let done = json!({"event": "done", "step": step, "node": node, "outcome": outcome});
            return event(done, message);
        }
        let (sign, style) = sign(outcome, self.unicode);
        self.line(&format!("{style}{sign}{style:#} {step:<9} {node:<10} {message}"));
    }

    /// A node's engine cannot be used. People read it in the table of the report, which has all nodes.
    pub fn not_reached(&self, node: &str) {
        if let Shown::Events = self.shown {
            self.done(Step::Connect, node, "not reached", Outcome::Failed);
        }
    }

    /// Something that a person should know.
    pub fn note(&self, message: &str) {
        match self.shown {
            Shown::Events => event(json!({"event": "note"}), message),
            _ => self.line(&format!("note: {message}")),
        }
    }

    fn line(&self, text: &str) {
        match &self.shown {
            Shown::Terminal(all) => all.suspend(|| terminal::note(text)),
            _ => terminal::note(text),
        }
    }
}

/// The mark of an outcome and its colour.
pub fn sign(outcome: Outcome, unicode: bool) -> (&'static str, anstyle::Style) {
    match (outcome, unicode) {
        (Outcome::Unchanged, _) => ("=", anstyle::Style::new().dimmed()),
        (Outcome::Planned, true) => ("•", terminal::colour(AnsiColor::Cyan)),
        (Outcome::Planned, false) => ("*", terminal::colour(AnsiColor::Cyan)),
        (Outcome::Changed, true) => ("✓", terminal::colour(AnsiColor::Green)),
        (Outcome::Changed, false) => ("+", terminal::colour(AnsiColor::Green)),
        (Outcome::Failed, true) => ("✗", terminal::colour(AnsiColor::Red).bold()),
        (Outcome::Failed, false) => ("x", terminal::colour(AnsiColor::Red).bold()),
    }
}

/// On standard error, as all progress is: standard output holds the report alone.
fn event(value: serde_json::Value, message: &str) {
    terminal::note(&message_keys::event(value, message).to_string());
}
