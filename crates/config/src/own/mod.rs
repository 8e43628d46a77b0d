//! Checks that users write themselves: a command and what its exit code means.

mod read;
mod run;

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use diagnostic::report::{Outcome, RuleInfo};
use diagnostic::rule::Group;
use diagnostic::{Missing, MissingKind, Severity, Verdict, shell, visible};
use host::redact::hide_credentials;

use crate::ignores::Ignore;
use crate::origin::Origin;
use crate::trust::Untrusted;

pub(crate) use read::checks;

/// The group of all of them.
pub const GROUP: Group = Group { id: "own", title: "Own checks" };

/// The name in the id of an own check: `scratch-mounted` of `own:scratch-mounted`. `None`: a text that no own
/// check has as its id, such as `own: no such device`.
pub fn name_of(id: &str) -> Option<&str> {
    id.strip_prefix(GROUP.id)?.strip_prefix(':').filter(|name| read::is_name(name))
}

/// An entry of `check`.
#[derive(Debug, Clone)]
pub struct OwnCheck {
    /// Kebab case: `scratch-mounted`.
    pub name: String,
    pub command: Command,
    /// What to do about a finding.
    pub hint: Option<String>,
    /// How long the command may run.
    pub timeout: Duration,
    /// Of a finding.
    pub severity: Severity,
    /// Where it is written.
    pub origin: Origin,
    /// Why the command must not run.
    pub(crate) untrusted: Option<Untrusted>,
}

/// What an own check runs, in the directory of its settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// The program and its arguments; no shell reads them.
    Arguments(Vec<String>),
    /// A line for `sh -c`.
    Shell(String),
}

/// As a person would type it.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::Arguments(words) => {
                let words: Vec<Cow<str>> = words.iter().map(|word| shell::word(word)).collect();
                f.write_str(&words.join(" "))
            }
            Command::Shell(line) => f.write_str(line.trim()),
        }
    }
}

impl OwnCheck {
    /// `own:scratch-mounted`: its id in reports, `--only` and `--ignore`.
    pub fn id(&self) -> String {
        format!("{}:{}", GROUP.id, self.name)
    }

    /// Whether the id or the group of own checks is meant.
    pub fn is_called(&self, name: &str) -> bool {
        name == GROUP.id || name == self.id()
    }

    /// Why the command must not run; `None` where it may.
    pub fn untrusted(&self) -> Option<&Untrusted> {
        self.untrusted.as_ref()
    }

    /// Whether an entry of `ignore` leaves the check out. One of an untrusted file leaves out that file's own
    /// checks only: otherwise a checkout could switch off what the user or the administrator requires.
    pub fn is_ignored_by(&self, ignore: &Ignore) -> bool {
        self.is_called(&ignore.id) && (ignore.trusted || ignore.origin.file == self.origin.file)
    }

    /// Runs the command, if its file is trusted.
    pub fn outcome(&self) -> Outcome {
        let verdict = match &self.untrusted {
            None => run::verdict(self).map_texts(hide_credentials),
            Some(untrusted) => Verdict::Unknown(not_run(untrusted)),
        };
        Outcome::new(self.rule(), verdict)
    }

    /// The result where commands of settings files do not run, for this reason.
    pub fn unknown(&self, why: String) -> Outcome {
        Outcome::new(self.rule(), Verdict::Unknown(Missing::new(MissingKind::Other, why)))
    }

    /// The check as reports show it.
    pub fn rule(&self) -> RuleInfo {
        let command = self.shown_command();
        let seconds = self.timeout.as_secs_f64();
        let place = format!("{}, line {}", visible::path(&self.origin.file), self.origin.line);
        let explain = format!(
            "## What it checks\n\nRuns the command of {place} in the directory of that file:\n\n    \
             {command}\n\nExit code 0 is a pass, 1 a finding. Anything else is unknown, and so is a command \
             that runs longer than {seconds} s.\n"
        );
        RuleInfo {
            id: self.id().into(),
            group: GROUP,
            severity: self.severity,
            summary: format!("`{command}` exits with 0").into(),
            explain: explain.into(),
        }
    }

    /// The command as one line for reports: shortened, and without credentials. For a person who decides
    /// whether it may run, see [`OwnCheck::whole_command`].
    pub fn shown_command(&self) -> String {
        let text = hide_credentials(self.command.to_string());
        visible::line(&visible::shortened(&text)).into_owned()
    }

    /// The whole command as one line, credentials included; only what a terminal acts on is escaped.
    pub fn whole_command(&self) -> String {
        visible::line(&self.command.to_string()).into_owned()
    }

    /// The directory that the command runs in.
    pub fn directory(&self) -> &Path {
        self.origin.file.parent().unwrap_or(Path::new("/"))
    }
}

fn not_run(untrusted: &Untrusted) -> Missing {
    let command = untrusted.command();
    let detail = format!("{untrusted}; its commands were not run. Review it, then run `{command}`");
    Missing::new(MissingKind::Other, detail)
}
