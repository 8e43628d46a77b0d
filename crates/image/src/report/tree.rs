//! Progress on a terminal: what is done stays, what runs is redrawn with its last line.

use diagnostic::terminal;
use std::collections::BTreeMap;
use std::time::Duration;

use anstyle::AnsiColor;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::step_title;
use diagnostic::units::{short_size, time};
use diagnostic::visible::line;
use docker::build::{Event, StepKind};

/// The longest that a step is called while it runs, in characters.
const PREFIX_MAX: usize = 64;

/// Progress of a build as a list of running steps that is redrawn.
pub struct Tree {
    all: MultiProgress,
    running: BTreeMap<usize, Running>,
    unicode: bool,
}

/// A step that runs.
#[derive(Debug)]
struct Running {
    name: String,
    kind: StepKind,
    bar: ProgressBar,
}

impl Tree {
    /// Draws on standard error.
    pub fn new(unicode: bool) -> Tree {
        Tree { all: MultiProgress::new(), running: BTreeMap::new(), unicode }
    }

    pub(super) fn event(&mut self, event: &Event) {
        match event {
            Event::Note(text) => self.note(&format!("note: {text}")),
            Event::Started { step, name, kind } => self.start(*step, name, *kind),
            Event::Output { step, line } => self.message(*step, line.trim()),
            Event::Progress { step, what, current, total } => {
                let far = match total {
                    0 => short_size(*current),
                    total => format!("{} of {}", short_size(*current), short_size(*total)),
                };
                self.message(*step, &format!("{what} {far}"));
            }
            Event::Ended { step, cached, seconds, error } => {
                self.end(*step, *cached, *seconds, error.is_some())
            }
        }
    }

    fn start(&mut self, step: usize, name: &str, kind: StepKind) {
        let bar = self.all.add(ProgressBar::new_spinner());
        let style = ProgressStyle::with_template("{spinner} {prefix} {elapsed:.dim}\n    {wide_msg:.dim}");
        if let Ok(style) = style {
            bar.set_style(if self.unicode { style } else { style.tick_chars("|/-\\+") });
        }
        // A line that breaks would not be drawn over.
        bar.set_prefix(line(&step_title(name)).chars().take(PREFIX_MAX).collect::<String>());
        bar.enable_steady_tick(Duration::from_millis(120));
        self.running.insert(step, Running { name: name.to_owned(), kind, bar });
    }

    fn message(&self, step: usize, text: &str) {
        if let Some(running) = self.running.get(&step) {
            running.bar.set_message(line(&terminal::foreign(text)).into_owned());
        }
    }

    fn end(&mut self, step: usize, cached: bool, seconds: f64, failed: bool) {
        let Some(Running { name, kind, bar }) = self.running.remove(&step) else { return };
        bar.finish_and_clear();
        self.all.remove(&bar);
        if kind.is_added() && !failed {
            return;
        }
        let (sign, colour) = match (failed, self.unicode) {
            (true, true) => ("✗", AnsiColor::Red),
            (true, false) => ("x", AnsiColor::Red),
            (false, true) => ("✓", AnsiColor::Green),
            (false, false) => ("+", AnsiColor::Green),
        };
        let style = terminal::colour(colour);
        let took = if cached { "cached".to_owned() } else { time(seconds) };
        self.note(&format!("{style}{sign}{style:#} {} ({took})", step_title(&name)));
    }

    pub(super) fn note(&self, text: &str) {
        // Drawn bars are taken off the screen meanwhile.
        self.all.suspend(|| terminal::note(text));
    }
}
