//! Output of programs on several nodes.

use std::collections::BTreeMap;
use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use crate::jobs::Ended;
use diagnostic::terminal::{self, colour};
use diagnostic::units::time;

const COLOURS: &[AnsiColor] =
    &[AnsiColor::Cyan, AnsiColor::Yellow, AnsiColor::Green, AnsiColor::Magenta, AnsiColor::Blue];

/// Lines with a node's name before them.
pub struct Prefixed {
    styles: BTreeMap<String, Style>,
    width: usize,
    shown: bool,
}

impl Prefixed {
    /// For these nodes; without `shown` lines stay as they are.
    pub fn new<'n>(nodes: impl Iterator<Item = &'n str>, shown: bool) -> Prefixed {
        let styles: BTreeMap<String, Style> = nodes
            .zip(COLOURS.iter().cycle())
            .map(|(node, style)| (node.to_owned(), colour(*style)))
            .collect();
        let width = styles.keys().map(|node| node.chars().count()).max().unwrap_or(0);
        Prefixed { styles, width, shown }
    }

    /// Prints a line where the program wrote it: standard output or standard error.
    pub fn line(&self, node: &str, error: bool, text: &str) {
        let (true, Some(style)) = (self.shown, self.styles.get(node)) else {
            return terminal::pass_on(text, error);
        };
        let text = terminal::foreign(text);
        let text = format!("{style}{node:<width$}{style:#} | {text}", width = self.width);
        match error {
            true => terminal::note(&text),
            // A reader that went away needs no more lines.
            false => drop(terminal::print(&format!("{text}\n"))),
        }
    }
}

/// How each ended, in a table.
pub fn table(ended: &[Ended]) -> String {
    let width = ended.iter().map(|end| end.node.chars().count()).max().unwrap_or(0).max(4);
    let mut text = format!("\n{:<width$}  exit  time\n", "node");
    for end in ended {
        let status = match &end.status {
            Ok(status) => status.to_string(),
            Err(_) => "?".into(),
        };
        let message = match &end.status {
            Err(why) => format!("  {why}"),
            Ok(_) if end.stopped => "  stopped because another process failed".into(),
            Ok(status) => meaning(*status).map(|means| format!("  {means}")).unwrap_or_default(),
        };
        let _ = writeln!(text, "{:<width$}  {status:>4}  {}{message}", end.node, time(end.seconds));
    }
    text
}

/// What an exit status tells beyond the number.
pub fn meaning(status: i64) -> Option<String> {
    match status {
        126 => Some("found but not executable".into()),
        127 => Some("command not found".into()),
        137 => Some("killed (SIGKILL), by a user or by the kernel's OOM killer".into()),
        129..=192 => Some(format!("killed by signal {}", status - 128)),
        _ => None,
    }
}
