//! The options of a server.

use crate::read::dockerfile::command::Word;

pub(super) struct Options<'w> {
    pub words: &'w [Word],
}

/// Parts of names of variables that hold several options.
const OPTIONS: &[&str] = &["ARG", "OPT", "EXTRA", "FLAG", "PARAM"];

impl Options<'_> {
    /// Whether a word that is not visible may be an option, or several.
    pub(super) fn any_unknown(&self) -> bool {
        self.words.iter().enumerate().any(|(at, word)| {
            let own = word.text.starts_with('-') && word.text.contains('=');
            let before = at.checked_sub(1).and_then(|at| self.words.get(at));
            let valued = before.is_some_and(|one| one.text.starts_with('-') && !one.text.contains('='));
            let several = OPTIONS.iter().any(|part| word.text.to_ascii_uppercase().contains(part));
            // The first word may be the model or the application.
            !word.known && !own && (!(valued || at == 0) || several)
        })
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.words.iter().any(|word| word.text.split('=').next() == Some(name))
    }

    /// The name and the value of an option: `--port 8000`, `--port=8000`, `-b127.0.0.1:8000`.
    pub(super) fn value(&self, name: &str) -> Option<(String, String)> {
        self.words.iter().enumerate().rev().find_map(|(at, word)| {
            let value = match word.text.strip_prefix(name)? {
                "" => self.words.get(at + 1)?.text.clone(),
                rest => match rest.strip_prefix('=') {
                    Some(value) => value.to_owned(),
                    None if !name.starts_with("--") => rest.to_owned(),
                    None => return None,
                },
            };
            Some((name.to_owned(), value))
        })
    }
}
