//! The files of the build context, as commands of a Dockerfile come to them.

use super::stage::Dockerfile;
use super::state::State;

impl Dockerfile {
    /// The text of a file of the build context, by its path there; `None` where it is not known.
    pub(crate) fn context_text(&self, path: &str) -> Option<&str> {
        self.context.get(path)?.as_deref()
    }

    /// The file of the build context that is at a path of the image, where that is known: its path in the
    /// context, and its text.
    pub(crate) fn text_at(&self, state: &State, path: &str) -> Option<(String, &str)> {
        let places = state.files.candidates(path).into_iter();
        places.filter_map(|place| self.context_text(&place).map(|text| (place, text))).next()
    }
}
