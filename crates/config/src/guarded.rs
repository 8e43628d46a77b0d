//! Values that count only if their file is trusted.

use crate::origin::Sourced;
use crate::trust::Untrusted;

/// A value that decides what a build installs, where images go, or which cluster is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarded<T> {
    set: Sourced<T>,
    untrusted: Option<Untrusted>,
}

impl<T> Guarded<T> {
    pub(crate) fn new(set: Sourced<T>, untrusted: Option<Untrusted>) -> Guarded<T> {
        Guarded { set, untrusted }
    }

    /// The value, to be shown and for nothing else.
    pub fn shown(&self) -> &Sourced<T> {
        &self.set
    }

    /// The value, to be used.
    ///
    /// # Errors
    /// Its file is not trusted.
    pub fn trusted(&self) -> Result<&T, Untrusted> {
        match &self.untrusted {
            None => Ok(&self.set.value),
            Some(untrusted) => Err(untrusted.clone()),
        }
    }
}
