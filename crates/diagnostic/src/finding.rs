//! A finding: what is wrong with what, the evidence for it, and what to do.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Fix, visible};

/// How bad a finding is, from `note` to `error`.
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
            message: visible::short(message),
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
}
