//! The sentences of the resolver's verdicts: formed in this module only.

mod cost;
mod forward;
mod gap;
mod names;
mod package;
mod refusal;

pub(crate) use names::{Names, Phrase};
pub(crate) use refusal::{kernels_for, wheels};

use super::outcome::Predicate;
use super::verdict::{Candidate, Judgement, Objection, Reason};

/// A verb for one subject and for several: `has`, `have`.
pub(crate) type Verb = (&'static str, &'static str);

/// The part of a candidate that a clause is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Build,
    Release,
}

/// A message in parts, so that it can be said of one candidate or of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Clause {
    /// What the predicate is about; `None`: `text` is a whole sentence.
    predicate: Option<(Subject, Verb)>,
    text: String,
    /// A list that a short message leaves out: `, only for 3.10 to 3.14`.
    detail: String,
}

impl Clause {
    fn whole(text: String) -> Clause {
        Clause { predicate: None, text, detail: String::new() }
    }

    fn of(subject: Subject, verb: Verb, text: String) -> Clause {
        Clause { predicate: Some((subject, verb)), text, detail: String::new() }
    }

    fn with_detail(self, detail: String) -> Clause {
        Clause { detail, ..self }
    }

    pub(crate) fn sentence(&self, names: &Names) -> String {
        let Clause { predicate, text, detail } = self;
        match predicate {
            Some((subject, verb)) => {
                let subject = names.subject(*subject);
                format!("{} {} {text}{detail}", subject.text, subject.verb(*verb))
            }
            None => format!("{text}{detail}"),
        }
    }

    /// The short message where the reader knows that it is about this subject.
    pub(crate) fn short(&self, rules_for: Subject, names: &Names) -> Short {
        match self.predicate {
            Some((subject, verb)) if subject == rules_for => {
                Short { verb: Some(verb), text: self.text.clone() }
            }
            Some((subject, verb)) => {
                let subject = names.subject(subject);
                Short { verb: None, text: format!("{} {} {}", subject.text, subject.verb(verb), self.text) }
            }
            None => Short { verb: None, text: self.text.clone() },
        }
    }
}

/// A message without its subject: `has no wheel for Python 3.14`, or a sentence that is about something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Short {
    pub(crate) verb: Option<Verb>,
    pub(crate) text: String,
}

impl Short {
    pub(crate) fn sentence(text: String) -> Short {
        Short { verb: None, text }
    }

    /// `has no wheel for Python 3.14`.
    pub(crate) fn predicate(&self) -> String {
        match self.verb {
            Some((one, _)) => format!("{one} {}", self.text),
            None => self.text.clone(),
        }
    }

    /// The predicate of one subject and of several; `None` where the message has a subject of its own.
    pub(crate) fn predicates(&self) -> Option<Predicate> {
        let (one, several) = self.verb?;
        let of = |verb| format!("{verb} {}", self.text);
        Some(Predicate { one: of(one), several: of(several) })
    }

    /// `2.6.0 has no wheel for Python 3.14`, `2.6.0: no build for CUDA 12.1`.
    pub(crate) fn of(&self, name: &str) -> String {
        match self.verb {
            Some((one, _)) => format!("{name} {one} {}", self.text),
            None => format!("{name}: {}", self.text),
        }
    }

    /// The same of several.
    pub(crate) fn of_several(&self, names: &str) -> String {
        match self.verb {
            Some((_, several)) => format!("{names} {several} {}", self.text),
            None => format!("{names}: {}", self.text),
        }
    }
}

impl Objection {
    pub(crate) fn clause(&self, names: &Names) -> Clause {
        match self {
            Objection::Cost(cost) => cost.clause(names),
            Objection::Gap(gap) => Clause::whole(format!("{} is unknown", gap.question(names))),
            Objection::Refusal(refusal) => refusal.clause(names),
        }
    }
}

impl Reason<'_> {
    pub(crate) fn sentence(&self) -> String {
        let names = Names::of(&self.candidate);
        self.objection.clause(&names).sentence(&names)
    }

    pub(crate) fn short(&self, rules_for: Subject) -> Short {
        let names = Names::of(&self.candidate);
        let names = if rules_for == Subject::Build { names.with_build(Phrase::one("it")) } else { names };
        self.objection.clause(&names).short(rules_for, &names)
    }
}

/// What a user should know about a judgement on a chosen candidate; `None` where it simply holds or fails.
pub(crate) enum Remark {
    Known(String),
    /// A question: `whether …`, `which …`.
    Unknown(String),
}

impl Judgement {
    pub(crate) fn remark(&self, candidate: &Candidate) -> Option<Remark> {
        use super::verdict::Note;
        let names = Names::of(candidate);
        Some(match self {
            Judgement::Holds | Judgement::Fails(_) => return None,
            Judgement::Notes(Note::LeftOut(refusal)) => {
                let why = refusal.clause(&names).sentence(&names);
                Remark::Known(format!("{why}, so it is left out"))
            }
            Judgement::Notes(Note::Start(cost)) | Judgement::Costs(cost) => {
                Remark::Known(cost.clause(&names).sentence(&names))
            }
            Judgement::Notes(Note::StartUnknown(gap)) | Judgement::Unknown(gap) => {
                Remark::Unknown(gap.question(&names))
            }
        })
    }
}
