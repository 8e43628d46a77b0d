//! Progress as lines that stay: for logs and pipes.

use diagnostic::terminal;
use std::time::Instant;

use super::step_title;
use diagnostic::units::time;
use docker::build::{Event, StepKind};

/// What has been shown so far.
pub struct Lines {
    started: Instant,
    /// The name of each step, and whether BuildKit added it.
    names: Vec<(String, bool)>,
    /// The step that the last line was of, so that others are named when they speak up.
    speaking: Option<usize>,
}

impl Default for Lines {
    fn default() -> Lines {
        Lines { started: Instant::now(), names: Vec::new(), speaking: None }
    }
}

impl Lines {
    pub(super) fn event(&mut self, event: &Event) {
        for line in self.lines(event) {
            terminal::note(&line);
        }
    }

    fn lines(&mut self, event: &Event) -> Vec<String> {
        match event {
            Event::Note(text) => vec![format!("note: {text}")],
            Event::Started { step, name, kind } => {
                self.name(*step, name, *kind);
                if kind.is_added() {
                    return Vec::new();
                }
                self.speaking = Some(*step);
                vec![format!("#{step} {}", step_title(name))]
            }
            Event::Output { step, line } => {
                let mut lines = Vec::new();
                if self.speaking.replace(*step) != Some(*step) {
                    lines.push(format!("#{step} {} ...", step_title(self.of(*step).0)));
                }
                let (since, line) = (self.started.elapsed().as_secs_f64(), terminal::foreign(line));
                lines.push(format!("#{step} {since:.1} {line}"));
                lines
            }
            Event::Progress { .. } => Vec::new(),
            Event::Ended { step, cached, seconds, error } => {
                let (name, is_added) = self.of(*step);
                match error {
                    Some(error) => vec![format!("#{step} FAILED: {error}")],
                    None if is_added => Vec::new(),
                    None if *cached => vec![format!("#{step} cached: {}", step_title(name))],
                    None => vec![format!("#{step} done in {}", time(*seconds))],
                }
            }
        }
    }

    fn name(&mut self, step: usize, name: &str, kind: StepKind) {
        if self.names.len() <= step {
            self.names.resize(step + 1, (String::new(), false));
        }
        self.names[step] = (name.to_owned(), kind.is_added());
    }

    /// The name of a step, and whether BuildKit added it.
    fn of(&self, step: usize) -> (&str, bool) {
        self.names.get(step).map_or(("", false), |(name, is_added)| (name.as_str(), *is_added))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_starts_with_its_step_number() {
        let mut lines = Lines::default();
        let started = |step, name: &str| Event::Started { step, name: name.into(), kind: StepKind::of(name) };
        let output = |step, line: &str| Event::Output { step, line: line.into() };
        let mut text = Vec::new();
        for event in [
            started(0, "[internal] load build definition"),
            started(1, "[1/2] FROM base"),
            started(2, "[2/2] RUN make\nall"),
            output(2, "one"),
            output(1, "two"),
            Event::Ended { step: 1, cached: true, seconds: 0.0, error: None },
            Event::Ended { step: 2, cached: false, seconds: 61.2, error: None },
        ] {
            text.extend(lines.lines(&event));
        }
        let expected = [
            "#1 [1/2] FROM base",
            "#2 [2/2] RUN make",
            "#2 0.0 one",
            "#1 [1/2] FROM base ...",
            "#1 0.0 two",
            "#1 cached: [1/2] FROM base",
            "#2 done in 61 s",
        ];
        assert_eq!(text, expected);
    }
}
