//! What a rule finds: where, what it is about, how bad, and what to do.

use std::rc::Rc;

use diagnostic::{Diagnostic, Edit, Fix, FixClass, Severity, Subject};
use host::redact::hide_credentials;

use crate::edit::Change;
use crate::location::{Location, OtherFile};

/// One thing found in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Error: certainly fails. Warning: may fail. Note: worth knowing.
    pub severity: Severity,
    /// Where, if it is not the file itself.
    pub file: Option<Rc<OtherFile>>,
    /// Where: a line of that file, from 1.
    pub line: usize,
    /// What it is about, where it has a name: a variable, a package, an image, the path of a key
    /// (`services.train.shm_size`, `spec.containers[0].image`).
    pub name: Option<String>,
    /// What is, what should be, and why, in one or two sentences without a full stop at the end.
    pub message: String,
    /// What to do, the best first; none where nothing can be said.
    pub fixes: Vec<Fix>,
    /// What `lint --fix` changes, as the rule knows it. The edits are in [`Found::fixes`].
    pub(crate) changes: Vec<Change>,
}

/// What to do about a finding: a sentence about what to write, or whole fixes.
#[derive(Debug, Default)]
pub(crate) struct Fixes(Vec<Fix>);

impl From<&str> for Fixes {
    fn from(sentence: &str) -> Fixes {
        // Until an edit of the file is known, a person has to do it.
        Fixes((!sentence.is_empty()).then(|| Fix::manual(sentence)).into_iter().collect())
    }
}

impl From<String> for Fixes {
    fn from(sentence: String) -> Fixes {
        sentence.as_str().into()
    }
}

impl From<&String> for Fixes {
    fn from(sentence: &String) -> Fixes {
        sentence.as_str().into()
    }
}

impl From<Fix> for Fixes {
    fn from(fix: Fix) -> Fixes {
        Fixes(vec![fix])
    }
}

impl From<Vec<Fix>> for Fixes {
    fn from(fixes: Vec<Fix>) -> Fixes {
        Fixes(fixes)
    }
}

impl Found {
    /// Certainly fails.
    pub(crate) fn error(
        location: impl Into<Location>,
        message: impl Into<String>,
        fix: impl Into<Fixes>,
    ) -> Found {
        let Location { file, line, name } = location.into();
        let (name, Fixes(fixes)) = (name.as_deref().map(str::to_owned), fix.into());
        let (severity, message) = (Severity::Error, message.into());
        Found { severity, file, line, name, message, fixes, changes: Vec::new() }
    }

    /// May fail.
    pub(crate) fn warning(
        location: impl Into<Location>,
        message: impl Into<String>,
        fix: impl Into<Fixes>,
    ) -> Found {
        Found { severity: Severity::Warning, ..Found::error(location, message, fix) }
    }

    /// Worth knowing.
    pub(crate) fn note(
        location: impl Into<Location>,
        message: impl Into<String>,
        fix: impl Into<Fixes>,
    ) -> Found {
        Found { severity: Severity::Note, ..Found::error(location, message, fix) }
    }

    /// What a check of machines found in a file; sentences of rules end without a full stop.
    pub(crate) fn of_check(location: impl Into<Location>, found: &Diagnostic) -> Found {
        let sentence = |text: &str| text.strip_suffix('.').unwrap_or(text).to_owned();
        let fixes = found.fixes.iter().map(|fix| Fix { title: sentence(&fix.title), ..fix.clone() });
        let made = Found::error(location, sentence(&found.message), fixes.collect::<Vec<_>>());
        let name = found.subject.name.clone().or_else(|| made.name.clone());
        Found { severity: found.severity, name, ..made }
    }

    /// The same, as a warning where it is not certain that it comes to this.
    pub(crate) fn unless_certain(mut self, certain: bool) -> Found {
        if !certain {
            self.severity = self.severity.min(Severity::Warning);
        }
        self
    }

    /// Sets what it is about: a variable, a package, an image, the path of a key.
    pub(crate) fn about(mut self, name: impl Into<String>) -> Found {
        self.name = Some(name.into());
        self
    }

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

    /// What `lint --fix` changes, where that is certain to be what was meant.
    pub fn edits(&self) -> impl Iterator<Item = &Edit> {
        self.fixes.iter().flat_map(|fix| &fix.edits)
    }

    /// Whether `lint --fix` removes it.
    pub fn has_edits(&self) -> bool {
        self.edits().next().is_some()
    }

    /// Adds the edits that its changes come to, to the fix that says what to write.
    pub(crate) fn with_edits(mut self, edits: Vec<Edit>) -> Found {
        if edits.is_empty() {
            return self;
        }
        let is_sentence = |fix: &Fix| fix.class == FixClass::Manual && fix.commands.is_empty();
        if self.fixes.is_empty() {
            self.fixes.push(Fix::manual("Change the file as `envdoc lint --fix` does"));
        }
        // A fix with commands is of a check: the restart after the change.
        let at = self.fixes.iter().position(is_sentence).unwrap_or_default();
        if self.fixes[at].class == FixClass::Manual {
            self.fixes[at].class = FixClass::Safe;
        }
        self.fixes[at].edits = edits;
        self
    }

    /// The same, without passwords and tokens: reports end up in the logs of CI, which more people read than
    /// the file.
    pub(crate) fn without_credentials(mut self) -> Found {
        self.message = hide_credentials(self.message);
        self.name = self.name.map(hide_credentials);
        for fix in &mut self.fixes {
            fix.title = hide_credentials(std::mem::take(&mut fix.title));
            fix.commands = std::mem::take(&mut fix.commands).into_iter().map(hide_credentials).collect();
        }
        self
    }

    /// As every other finding of envdoc, in a file.
    pub(crate) fn diagnostic(&self, file: &str) -> Diagnostic {
        let subject = Subject { name: self.name.clone(), ..Subject::line(file, self.line) };
        let found = Diagnostic::new(self.severity, self.message.clone()).subject(subject);
        Diagnostic { fixes: self.fixes.clone(), ..found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use diagnostic::Position;

    fn edit() -> Edit {
        let at = Position { byte: 0, line: 1, column: 1 };
        Edit { file: "a".into(), start: at, end: at, text: "b".into() }
    }

    #[test]
    fn a_sentence_is_work_for_a_person_until_an_edit_is_known() {
        let found = Found::warning(3, "wrong", "Write `b`");
        assert_eq!(found.fixes, [Fix::manual("Write `b`")]);
        let found = found.with_edits(vec![edit()]);
        assert_eq!(found.fixes, [Fix::safe("Write `b`", &[]).edit(edit())]);
        assert!(found.has_edits() && Found::note(1, "wrong", "").fixes.is_empty());
    }

    #[test]
    fn an_edit_is_not_part_of_a_fix_by_commands() {
        let fixes = vec![Fix::run("Let it be written:", "a b"), Fix::manual("Remove the key")];
        let found = Found::error(1, "wrong", fixes).with_edits(vec![edit()]);
        let classes: Vec<_> = found.fixes.iter().map(|fix| (fix.class, fix.edits.len())).collect();
        assert_eq!(classes, [(FixClass::Safe, 0), (FixClass::Safe, 1)]);
        let restart = Fix::restarts_service("Correct it, and restart docker:", &["systemctl restart docker"]);
        let found = Found::error(1, "wrong", restart).with_edits(vec![edit()]);
        assert_eq!((found.fixes[0].class, found.fixes[0].edits.len()), (FixClass::RestartsService, 1));
    }

    #[test]
    fn names_come_from_the_place_or_from_the_rule() {
        let place = Location::from(2).named("services.a.image");
        let found = Found::error(place, "wrong", "");
        assert_eq!(found.name.as_deref(), Some("services.a.image"));
        let found = found.about("https://user:secretword@example.org/x").without_credentials();
        assert!(!found.name.as_deref().unwrap().contains("secretword@"), "{:?}", found.name);
    }
}
