//! A finding: what is wrong with what, the evidence for it, and what to do.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::visible;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing fails.
    Note,
    /// Works, but slower, riskier or not for long.
    Warning,
    /// Fails, or gives away a secret.
    Error,
}

impl Severity {
    /// `note`, `warning`, `error`: the word of every report.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What a finding is about, as far as it is known. Nobody has to read it out of the message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subject {
    /// A file, as it was named: `Dockerfile`, `/etc/docker/daemon.json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// A line of the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// A column of the line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// A node of a cluster: `node2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// A rank of a job, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// A thing by its name: an environment variable, a package, an image, a key of a settings file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Subject {
    /// A line of a file.
    pub fn line(file: impl Into<String>, line: usize) -> Subject {
        Subject { file: Some(file.into()), line: Some(line), ..Subject::default() }
    }

    /// A whole file.
    pub fn file(file: impl Into<String>) -> Subject {
        Subject { file: Some(file.into()), ..Subject::default() }
    }

    /// A thing by its name.
    pub fn name(name: impl Into<String>) -> Subject {
        Subject { name: Some(name.into()), ..Subject::default() }
    }

    /// A node of a cluster.
    pub fn node(node: impl Into<String>) -> Subject {
        Subject { node: Some(node.into()), ..Subject::default() }
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Subject::default()
    }
}

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
        Fix { title: short(title), commands, edits: Vec::new(), class }
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

/// A text whose length is bounded, whatever it quotes.
fn short(text: impl Into<String>) -> String {
    let text = text.into();
    let short = visible::shortened(&text);
    if let Cow::Owned(short) = short { short } else { text }
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Id of the rule, check or signature: `driver-library-mismatch`. Empty until whoever runs the rule sets
    /// it.
    pub id: Cow<'static, str>,
    /// Decides the exit code together with `--fail-on`.
    pub severity: Severity,
    /// What it is about.
    pub subject: Subject,
    /// What is wrong with the value seen, what was expected and the consequence, in one or two sentences.
    pub message: String,
    /// The readings it rests on, one a line: `loaded module 550.54.14 (/proc/driver/nvidia/version)`.
    pub evidence: Vec<String>,
    /// What to do, the best first.
    pub fixes: Vec<Fix>,
    /// The document that says so, where one finding has its own.
    pub source: Option<Cow<'static, str>>,
}

impl Diagnostic {
    /// A finding of this severity.
    pub fn new(severity: Severity, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            id: Cow::Borrowed(""),
            severity,
            subject: Subject::default(),
            message: short(message),
            evidence: Vec::new(),
            fixes: Vec::new(),
            source: None,
        }
    }

    /// A finding at error level.
    pub fn error(message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, message)
    }

    /// A finding at warning level.
    pub fn warning(message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Warning, message)
    }

    /// A finding at note level.
    pub fn note(message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Note, message)
    }

    /// Sets the id.
    #[must_use]
    pub fn id(mut self, id: impl Into<Cow<'static, str>>) -> Diagnostic {
        self.id = id.into();
        self
    }

    /// Sets what it is about.
    #[must_use]
    pub fn subject(mut self, subject: Subject) -> Diagnostic {
        self.subject = subject;
        self
    }

    /// Adds a line of evidence.
    #[must_use]
    pub fn evidence(mut self, line: impl Into<String>) -> Diagnostic {
        self.evidence.push(line.into());
        self
    }

    /// Adds a way to fix it.
    #[must_use]
    pub fn fix(mut self, fix: Fix) -> Diagnostic {
        self.fixes.push(fix);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_quotes_a_long_value_shows_its_ends() {
        let text = format!("{}: not a number", "9".repeat(1 << 20));
        for short in [Diagnostic::error(&*text).message, Fix::manual(&*text).title] {
            assert!(short.len() < 1_300 && short.ends_with("9: not a number"), "{}", short.len());
            assert!(short.contains("characters left out"));
        }
        assert_eq!(Diagnostic::note("a short one").message, "a short one");
    }

    #[test]
    fn a_fix_in_one_line_quotes_its_commands() {
        let commands = Fix::safe("Show what uses the space:", &["df -h", "docker system df"]);
        assert_eq!(commands.to_string(), "Show what uses the space: `df -h; docker system df`");
        assert_eq!(Fix::manual("Replace the cable.").to_string(), "Replace the cable.");
    }
}
