//! A way to fix a finding: what to do, the commands, and what they do to the machine.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::visible;

/// What a fix does to the machine while it is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FixClass {
    /// Disturbs nothing that runs.
    Safe,
    /// Restarts a service or resets a GPU: running containers or jobs may end.
    RestartsService,
    /// Needs a reboot.
    NeedsReboot,
    /// Work that no command does: replace a cable, change a BIOS setting, ask the provider.
    Manual,
}

impl FixClass {
    /// `safe`, `restarts-service`, `needs-reboot`, `manual`: the word of JSON and Markdown.
    pub fn word(self) -> &'static str {
        match self {
            FixClass::Safe => "safe",
            FixClass::RestartsService => "restarts-service",
            FixClass::NeedsReboot => "needs-reboot",
            FixClass::Manual => "manual",
        }
    }

    /// What a person must know before applying it; `None` where it disturbs nothing.
    pub fn consequence(self) -> Option<&'static str> {
        match self {
            FixClass::Safe | FixClass::Manual => None,
            FixClass::RestartsService => Some("restarts a service"),
            FixClass::NeedsReboot => Some("needs a reboot"),
        }
    }
}

/// A change to a file: text in place of a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The file, as it was named.
    pub file: String,
    /// Where the replaced part begins.
    pub start: Position,
    /// Where it ends; the same as `start`: nothing is replaced, the text is inserted.
    pub end: Position,
    /// The text to write; empty: the part is deleted.
    pub text: String,
}

/// A place in a file in UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Position {
    /// Bytes before it.
    pub byte: usize,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in Unicode code points.
    pub column: usize,
}

impl Position {
    /// The place behind so many bytes of a text.
    pub fn of(text: &str, byte: usize) -> Position {
        let before = &text[..byte];
        let line = before.rfind('\n').map_or(0, |at| at + 1);
        Position { byte, line: before.matches('\n').count() + 1, column: before[line..].chars().count() + 1 }
    }
}

/// One way to fix a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// An imperative sentence that introduces the commands: `Reboot to load the new module:`.
    pub title: String,
    /// Commands to run, in order, each complete.
    pub commands: Vec<String>,
    /// Changes to files.
    pub edits: Vec<Edit>,
    /// What it does to the machine.
    pub class: FixClass,
}

impl Fix {
    /// A fix that disturbs nothing.
    pub fn safe(title: impl Into<String>, commands: &[&str]) -> Fix {
        Fix::new(FixClass::Safe, title, commands)
    }

    /// One command that disturbs nothing.
    pub fn run(title: impl Into<String>, command: impl Into<String>) -> Fix {
        Fix { commands: vec![command.into()], ..Fix::safe(title, &[]) }
    }

    /// A fix that restarts a service or resets a GPU.
    pub fn restarts_service(title: impl Into<String>, commands: &[&str]) -> Fix {
        Fix::new(FixClass::RestartsService, title, commands)
    }

    /// A fix that ends in a reboot.
    pub fn needs_reboot(title: impl Into<String>, commands: &[&str]) -> Fix {
        Fix::new(FixClass::NeedsReboot, title, commands)
    }

    /// Work that no command does.
    pub fn manual(title: impl Into<String>) -> Fix {
        Fix::new(FixClass::Manual, title, &[])
    }

    fn new(class: FixClass, title: impl Into<String>, commands: &[&str]) -> Fix {
        let commands = commands.iter().map(|&command| command.to_owned()).collect();
        Fix { title: visible::short(title), commands, edits: Vec::new(), class }
    }

    /// Ends the title in a colon where commands follow, else in a full stop: for commands that are not known
    /// everywhere.
    #[must_use]
    pub fn punctuated(mut self) -> Fix {
        self.title.truncate(self.title.trim_end_matches(['.', ':']).len());
        self.title.push(if self.commands.is_empty() { '.' } else { ':' });
        self
    }

    /// Adds a change to a file.
    #[must_use]
    pub fn edit(mut self, edit: Edit) -> Fix {
        self.edits.push(edit);
        self
    }
}

/// As one line, in backquotes what is to be run: ``Read its log: `journalctl -u ssh` ``.
impl fmt::Display for Fix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.commands.is_empty() {
            true => f.write_str(&self.title),
            false => write!(f, "{} `{}`", self.title, self.commands.join("; ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fix_in_one_line_quotes_its_commands() {
        let commands = Fix::safe("Show what uses the space:", &["df -h", "docker system df"]);
        assert_eq!(commands.to_string(), "Show what uses the space: `df -h; docker system df`");
        assert_eq!(Fix::manual("Replace the cable.").to_string(), "Replace the cable.");
    }
}
