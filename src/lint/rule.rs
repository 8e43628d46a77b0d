//! What a rule is, and what it can say.

use std::rc::Rc;

use serde::Serialize;

use super::read::compose::Compose;
use super::read::dockerfile::Dockerfile;
use super::read::dockerfile::install::Requirement;

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
    /// Files that belong to it, name and text: of its build context, or compose files over it.
    pub beside: &'static [(&'static str, &'static str)],
}

/// A Dockerfile as an example.
pub const fn dockerfile(text: &'static str) -> Example {
    Example { name: "Dockerfile", text, beside: &[] }
}

/// A Dockerfile with files of its build context as an example.
pub const fn with(text: &'static str, beside: &'static [(&'static str, &'static str)]) -> Example {
    Example { name: "Dockerfile", text, beside }
}

/// A compose file as an example.
pub const fn compose(text: &'static str) -> Example {
    Example { name: "compose.yaml", text, beside: &[] }
}

/// A compose file and another one over it as an example.
pub const fn composes(text: &'static str, over: &'static [(&'static str, &'static str)]) -> Example {
    Example { name: "compose.yaml", text, beside: over }
}

/// A stack file (`docker stack deploy`) as an example.
pub const fn stack(text: &'static str) -> Example {
    Example { name: "stack.yaml", text, beside: &[] }
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
    /// Where, if it is not the file itself.
    pub file: Option<Rc<OtherFile>>,
    /// Where: a line of that file, from 1.
    pub line: usize,
    /// What is, what should be, and why, in one or two sentences without a full stop at the end.
    pub says: String,
    /// What to write instead; may be empty.
    pub fix: String,
}

/// A file that belongs to the one that is judged: a requirements file that a Dockerfile installs, a compose file over another one.
#[derive(Debug, PartialEq, Eq)]
pub struct OtherFile {
    /// Its path in the build context, or its name.
    pub path: String,
    /// The line of the Dockerfile that installs it.
    pub by: Option<usize>,
}

/// A place: a line of the file that is judged, or of one that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The other file.
    pub file: Option<Rc<OtherFile>>,
    /// The line, from 1.
    pub line: usize,
}

impl From<usize> for Place {
    fn from(line: usize) -> Place {
        Place { file: None, line }
    }
}

impl From<&Requirement> for Place {
    fn from(one: &Requirement) -> Place {
        Place { file: one.file.clone(), line: one.line }
    }
}

impl Found {
    /// Certainly fails.
    pub fn error(place: impl Into<Place>, says: impl Into<String>, fix: impl Into<String>) -> Found {
        let Place { file, line } = place.into();
        Found { severity: Severity::Error, file, line, says: says.into(), fix: fix.into() }
    }

    /// May fail.
    pub fn warning(place: impl Into<Place>, says: impl Into<String>, fix: impl Into<String>) -> Found {
        Found { severity: Severity::Warning, ..Found::error(place, says, fix) }
    }

    /// Worth knowing.
    pub fn note(place: impl Into<Place>, says: impl Into<String>, fix: impl Into<String>) -> Found {
        Found { severity: Severity::Note, ..Found::error(place, says, fix) }
    }

    /// The same, as a warning where it is not certain that it comes to this.
    pub fn unless_certain(mut self, certain: bool) -> Found {
        if !certain {
            self.severity = self.severity.min(Severity::Warning);
        }
        self
    }
}
