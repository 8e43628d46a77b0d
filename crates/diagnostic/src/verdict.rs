//! What a rule says of what it was shown.

use crate::layout::Mark;
use crate::{Diagnostic, Fix, Missing, Severity, Subject, Unavailable};

/// The result of one rule. Unknown is never a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It looked, and all is well.
    Pass,
    /// It means nothing here; why.
    NotApplicable(String),
    /// It could not look; why. Never counted as healthy.
    Unknown(Missing),
    /// Something is wrong.
    Found(Box<Diagnostic>),
}

/// What a judgement gives back: either side is the verdict, so that `?` is the early way out.
pub type Judged = Result<Verdict, Verdict>;

impl From<Missing> for Verdict {
    fn from(why: Missing) -> Verdict {
        Verdict::Unknown(why)
    }
}

impl From<Unavailable> for Verdict {
    fn from(why: Unavailable) -> Verdict {
        match why {
            Unavailable::Absent(why) => Verdict::NotApplicable(why),
            Unavailable::Unknown(why) => Verdict::Unknown(why),
        }
    }
}

impl From<Diagnostic> for Verdict {
    fn from(diagnostic: Diagnostic) -> Verdict {
        Verdict::Found(Box::new(diagnostic))
    }
}

impl Verdict {
    /// A finding at error level.
    pub fn error(message: impl Into<String>, fix: Fix) -> Verdict {
        Diagnostic::error(message).fix(fix).into()
    }

    /// A finding at warning level.
    pub fn warning(message: impl Into<String>, fix: Fix) -> Verdict {
        Diagnostic::warning(message).fix(fix).into()
    }

    /// Unknown for a reason of no special kind.
    pub fn unknown(why: impl Into<Missing>) -> Verdict {
        Verdict::Unknown(why.into())
    }

    /// The same verdict with every text changed: what was seen, what to do, why nothing could be seen.
    #[must_use]
    pub fn map_texts(self, change: impl Fn(String) -> String) -> Verdict {
        match self {
            Verdict::Pass => Verdict::Pass,
            Verdict::NotApplicable(why) => Verdict::NotApplicable(change(why)),
            Verdict::Unknown(Missing { kind, detail }) => {
                Verdict::Unknown(Missing { kind, detail: change(detail) })
            }
            Verdict::Found(mut found) => {
                let each = |text: &mut String| *text = change(std::mem::take(text));
                each(&mut found.message);
                found.evidence.iter_mut().for_each(each);
                for fix in &mut found.fixes {
                    each(&mut fix.title);
                    fix.commands.iter_mut().for_each(each);
                    fix.edits.iter_mut().for_each(|edit| each(&mut edit.text));
                }
                Verdict::Found(found)
            }
        }
    }

    /// The finding, if it is one.
    pub fn found(&self) -> Option<&Diagnostic> {
        match self {
            Verdict::Found(diagnostic) => Some(diagnostic),
            _ => None,
        }
    }

    /// How bad the finding is, if it is one.
    pub fn severity(&self) -> Option<Severity> {
        self.found().map(|diagnostic| diagnostic.severity)
    }

    /// `pass`, `not-applicable`, `unknown`, `note`, `warning` or `error`: the status word of every report.
    pub fn status(&self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::NotApplicable(_) => "not-applicable",
            Verdict::Unknown(_) => "unknown",
            Verdict::Found(diagnostic) => diagnostic.severity.word(),
        }
    }

    /// What it says: the message of a finding, the reason for unknown and not applicable, nothing for a pass.
    pub fn message(&self) -> &str {
        match self {
            Verdict::Pass => "",
            Verdict::NotApplicable(why) => why,
            Verdict::Unknown(why) => &why.detail,
            Verdict::Found(diagnostic) => &diagnostic.message,
        }
    }

    pub fn mark(&self) -> Mark {
        match self {
            Verdict::Pass => Mark::Pass,
            Verdict::NotApplicable(_) => Mark::NotApplicable,
            Verdict::Unknown(_) => Mark::Unknown,
            Verdict::Found(diagnostic) => diagnostic.severity.into(),
        }
    }

    /// One verdict of several on the same question: the worst finding (the messages of the others become
    /// evidence), else unknown, else pass, else not applicable: for the first reason given, or `none` where
    /// nothing was judged.
    pub fn together(judged: impl IntoIterator<Item = Judged>, none: &str) -> Judged {
        let mut worst: Option<Diagnostic> = None;
        let (mut unknown, mut passed, mut nothing) = (None, false, None);
        for verdict in judged.into_iter().map(|judged| judged.unwrap_or_else(|verdict| verdict)) {
            match verdict {
                Verdict::Pass => passed = true,
                Verdict::NotApplicable(why) => nothing = nothing.or(Some(why)),
                Verdict::Unknown(why) => unknown = unknown.or(Some(why)),
                Verdict::Found(found) => {
                    worst = Some(match worst.take() {
                        None => *found,
                        Some(first) if found.severity > first.severity => found.evidence(first.message),
                        Some(first) => first.evidence(found.message),
                    });
                }
            }
        }
        match (worst, unknown, passed) {
            (Some(finding), _, _) => Ok(finding.into()),
            (None, Some(why), _) => Err(Verdict::Unknown(why)),
            (None, None, true) => Ok(Verdict::Pass),
            (None, None, false) => Err(Verdict::NotApplicable(nothing.unwrap_or_else(|| none.to_owned()))),
        }
    }

    /// The same finding as a warning.
    #[must_use]
    pub fn softened(self) -> Verdict {
        self.with(|found| found.severity = Severity::Warning)
    }

    /// Adds a line of evidence to a finding.
    #[must_use]
    pub fn evidence(self, line: impl Into<String>) -> Verdict {
        self.with(|found| found.evidence.push(line.into()))
    }

    /// Adds another way to fix a finding.
    #[must_use]
    pub fn or_fix(self, fix: Fix) -> Verdict {
        self.with(|found| found.fixes.push(fix))
    }

    /// Sets what a finding is about.
    #[must_use]
    pub fn about(self, subject: Subject) -> Verdict {
        self.with(|found| found.subject = subject)
    }

    /// Sets the id of a finding.
    #[must_use]
    pub fn id(self, id: &'static str) -> Verdict {
        self.with(|found| found.id = id.into())
    }

    fn with(mut self, change: impl FnOnce(&mut Diagnostic)) -> Verdict {
        if let Verdict::Found(diagnostic) = &mut self {
            change(diagnostic);
        }
        self
    }
}
