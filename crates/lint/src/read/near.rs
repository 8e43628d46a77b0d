//! A file next to the one that is judged, which rules read when they first need it, all of them once.

use std::cell::OnceCell;
use std::ops::Deref;

use crate::file::Over;

/// A file, and what it reads as.
#[derive(Debug)]
pub(crate) struct Near<T> {
    over: Over,
    read: OnceCell<Box<T>>,
}

impl<T> From<Over> for Near<T> {
    fn from(over: Over) -> Near<T> {
        Near { over, read: OnceCell::new() }
    }
}

impl<T> Deref for Near<T> {
    type Target = Over;

    fn deref(&self) -> &Over {
        &self.over
    }
}

impl<T> Near<T> {
    /// What it reads as.
    pub(super) fn read_with(&self, read: impl FnOnce(&Over) -> T) -> &T {
        self.read.get_or_init(|| Box::new(read(&self.over)))
    }
}
