//! What a rule is, and what it can say.

use serde::Serialize;

use super::read::compose::Compose;
use super::read::dockerfile::Dockerfile;

/// A rule: a struct of constants with a function pointer.
#[derive(Debug)]
pub struct Rule {
    /// Kebab case, names the fault, never the fix; reads well after `--ignore`.
    pub id: &'static str,
    /// The worst that it says of a file.
    pub severity: Severity,
    /// What a sound file shows, in one line without a full stop: "every tag in FROM exists".
    pub summary: &'static str,
    /// Markdown with the headings "What it finds", "Why it matters", "How to fix it", "Sources".
    pub explain: &'static str,
    /// The judgement.
    pub judge: Judge,
    /// Files in which it finds something.
    pub fires: &'static [Example],
    /// Files in which it finds nothing.
    pub silent: &'static [Example],
}

/// The judgement, by the kind of file.
#[derive(Debug, Clone, Copy)]
pub enum Judge {
    /// Of a Dockerfile.
    Dockerfile(fn(&Dockerfile) -> Vec<Found>),
    /// Of a compose or stack file.
    Compose(fn(&Compose) -> Vec<Found>),
}

/// The kinds of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Dockerfile, Containerfile.
    Dockerfile,
    /// Compose file, stack file.
    Compose,
}

impl Kind {
    /// All, in the order of the documentation.
    pub const ALL: &[Kind] = &[Kind::Dockerfile, Kind::Compose];

    /// As it stands in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Kind::Dockerfile => "dockerfile",
            Kind::Compose => "compose",
        }
    }

    /// As it stands in the documentation.
    pub fn title(self) -> &'static str {
        match self {
            Kind::Dockerfile => "Dockerfiles",
            Kind::Compose => "Compose and stack files",
        }
    }
}

impl Rule {
    /// The kind of file that it looks at.
    pub fn kind(&self) -> Kind {
        match self.judge {
            Judge::Dockerfile(_) => Kind::Dockerfile,
            Judge::Compose(_) => Kind::Compose,
        }
    }
}

/// A file that shows what a rule does.
#[derive(Debug, Clone, Copy)]
pub struct Example {
    /// Its name, which tells what kind of file it is.
    pub name: &'static str,
    /// What stands in it.
    pub text: &'static str,
}

/// A Dockerfile as an example.
pub const fn dockerfile(text: &'static str) -> Example {
    Example { name: "Dockerfile", text }
}

/// A compose file as an example.
pub const fn compose(text: &'static str) -> Example {
    Example { name: "compose.yaml", text }
}

/// A stack file (`docker stack deploy`) as an example.
pub const fn stack(text: &'static str) -> Example {
    Example { name: "stack.yaml", text }
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing fails.
    Note,
    /// May fail, or is slower or riskier than it need be.
    Warning,
    /// Certainly fails, or gives away a secret.
    Error,
}

impl Severity {
    /// As it stands in reports.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// One thing found in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// How bad.
    pub severity: Severity,
    /// Where: a line of the file, from 1.
    pub line: usize,
    /// What is, what should be, and why, in one or two sentences without a full stop at the end.
    pub says: String,
    /// What to write instead; may be empty.
    pub fix: String,
}

impl Found {
    /// Certainly fails.
    pub fn error(line: usize, says: impl Into<String>, fix: impl Into<String>) -> Found {
        Found { severity: Severity::Error, line, says: says.into(), fix: fix.into() }
    }

    /// May fail.
    pub fn warning(line: usize, says: impl Into<String>, fix: impl Into<String>) -> Found {
        Found { severity: Severity::Warning, ..Found::error(line, says, fix) }
    }

    /// Worth knowing.
    pub fn note(line: usize, says: impl Into<String>, fix: impl Into<String>) -> Found {
        Found { severity: Severity::Note, ..Found::error(line, says, fix) }
    }

    /// The same, as a warning where it is not certain that it comes to this.
    pub fn unless_certain(mut self, certain: bool) -> Found {
        if !certain {
            self.severity = self.severity.min(Severity::Warning);
        }
        self
    }
}
