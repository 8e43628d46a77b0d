//! A finding with the changes that remove it.

use crate::edit::Change;
use crate::rule::Found;

impl Found {
    /// Adds a change of the file that is certain to remove the finding, and to be what was meant.
    pub(crate) fn change(mut self, change: Change) -> Found {
        self.changes.push(change);
        self
    }

    /// Adds a change, if there is one.
    pub(crate) fn change_if(self, change: Option<Change>) -> Found {
        match change {
            Some(change) => self.change(change),
            None => self,
        }
    }
}
