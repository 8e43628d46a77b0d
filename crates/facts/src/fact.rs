//! A value that may be absent, and may be unknown: three states that never turn into each other.

use diagnostic::{Missing, Unavailable};

/// What is known of one thing.
///
/// `Absent` means that envdoc looked and it is not there. `Unknown` means that envdoc could not look, with
/// the reason. There is no way from `Unknown` to either of the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact<T> {
    Known(T),
    /// envdoc looked: it does not exist.
    Absent,
    /// envdoc could not look; the reason.
    Unknown(Missing),
}

impl<T> Fact<T> {
    /// Unknown for a reason of no special kind.
    pub fn unknown(why: impl Into<Missing>) -> Fact<T> {
        Fact::Unknown(why.into())
    }

    /// Changes the value, keeps the other states.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Fact<U> {
        self.and_then(|value| Fact::Known(change(value)))
    }

    /// Chains on the value, keeps the other states.
    pub fn and_then<U>(self, next: impl FnOnce(T) -> Fact<U>) -> Fact<U> {
        match self {
            Fact::Known(value) => next(value),
            Fact::Absent => Fact::Absent,
            Fact::Unknown(why) => Fact::Unknown(why),
        }
    }

    /// The same with the value borrowed.
    pub fn as_ref(&self) -> Fact<&T> {
        match self {
            Fact::Known(value) => Fact::Known(value),
            Fact::Absent => Fact::Absent,
            Fact::Unknown(why) => Fact::Unknown(why.clone()),
        }
    }

    /// Takes what `next` finds where this is absent; an unknown one stays unknown.
    pub fn or_else(self, next: impl FnOnce() -> Fact<T>) -> Fact<T> {
        match self {
            Fact::Absent => next(),
            other => other,
        }
    }

    /// Takes what `next` finds where this is not known; when neither is known the first reason stays.
    pub fn or_look(self, next: impl FnOnce() -> Fact<T>) -> Fact<T> {
        match self {
            Fact::Known(value) => Fact::Known(value),
            Fact::Absent => next(),
            Fact::Unknown(why) => match next() {
                Fact::Known(value) => Fact::Known(value),
                _ => Fact::Unknown(why),
            },
        }
    }

    /// Absence becomes a known default: for things whose absence is a plain answer ("no such file: none
    /// configured").
    pub(crate) fn absent_as(self, value: T) -> Fact<T> {
        self.or_else(|| Fact::Known(value))
    }

    /// Absence becomes unknown: for sources that every Linux machine has, so that a missing one means that
    /// envdoc cannot look (`/proc` not mounted).
    pub(crate) fn must_exist(self, what: &str) -> Fact<T> {
        self.or_else(|| Fact::unknown(format!("{what} does not exist here")))
    }

    /// Prefixes the reason with what was read.
    pub fn about(self, what: &str) -> Fact<T> {
        match self {
            Fact::Unknown(why) => Fact::Unknown(why.about(what)),
            other => other,
        }
    }

    /// The value, if known. For display and for evidence only: a judgement asks with [`Fact::require`].
    pub fn known(&self) -> Option<&T> {
        match self {
            Fact::Known(value) => Some(value),
            _ => None,
        }
    }

    /// The value; else `Absent` with this reason, or why it is unknown. Meant for `?` in a judgement.
    pub fn require(&self, absent: &str) -> Result<&T, Unavailable> {
        match self {
            Fact::Known(value) => Ok(value),
            Fact::Absent => Err(Unavailable::Absent(absent.to_owned())),
            Fact::Unknown(why) => Err(Unavailable::Unknown(why.clone())),
        }
    }

    /// `Some` or `None` for known and absent, else why it is unknown. For judgements to which absence says
    /// something.
    pub fn decided(&self) -> Result<Option<&T>, Missing> {
        match self {
            Fact::Known(value) => Ok(Some(value)),
            Fact::Absent => Ok(None),
            Fact::Unknown(why) => Err(why.clone()),
        }
    }
}
