//! The edits of declarations.

use std::ops::Range;

use pep440_rs::{Version, VersionSpecifiers};
use resolve::respecify::{respecify, respecify_text};

use super::builds::of_builds;
use super::header::Header;
use super::{NewBuild, Wanted};
use crate::declare::FAMILY;
use crate::declared::{Declared, Dependency, Notation, Origin};
use crate::poetry_constraint as constraint;
use crate::project::Project;
use crate::requirement::without_local as without_build;
use crate::texts::Texts;

/// Text in place of some bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Replaced {
    pub file: String,
    pub range: Range<usize>,
    pub text: String,
}

/// Collects edits, and what the files must declare with them.
#[derive(Debug)]
pub(super) struct Writer<'p> {
    pub project: &'p Project,
    pub texts: &'p Texts,
    pub expected: Project,
    pub edits: Vec<Replaced>,
    pub by_hand: Vec<String>,
    pub notes: Vec<String>,
    /// The build that pins without one get: no index of the files names it.
    label: Option<&'p str>,
}

impl<'p> Writer<'p> {
    pub(super) fn new(project: &'p Project, texts: &'p Texts, build: Option<&'p NewBuild>) -> Writer<'p> {
        let expected = project.clone();
        let mut writer = Writer {
            project,
            texts,
            expected,
            edits: Vec::new(),
            by_hand: Vec::new(),
            notes: Vec::new(),
            label: None,
        };
        writer.label = build
            .filter(|_| writer.needs_pages().is_some())
            .and_then(|build| build.index.as_ref().map(|_| build.name.as_str()));
        writer
    }

    /// The requirements file that gets the pages of torch's build, if its index is not PyPI: no line of the
    /// project names an index of another build, which would be changed.
    pub(super) fn needs_pages(&self) -> Option<&'p str> {
        let named = of_builds(self.project).next().is_some();
        let torch = self.project.dependencies.iter().find(|one| one.value.name == "torch")?;
        (!named && has_options(&torch.origin.file)).then_some(torch.origin.file.as_str())
    }

    pub(super) fn text(&mut self, file: &str) -> Option<&'p str> {
        match self.texts.read.get(file) {
            Some(Some(text)) => Some(text),
            _ => {
                self.hand(format!("{file} is not UTF-8; save it as UTF-8, or change it by hand"));
                None
            }
        }
    }

    pub(super) fn hand(&mut self, sentence: String) {
        if !self.by_hand.contains(&sentence) {
            self.by_hand.push(sentence);
        }
    }

    pub(super) fn replace(&mut self, file: &str, range: Range<usize>, text: String) {
        let meets =
            |one: &Replaced| one.file == file && one.range.start < range.end && range.start < one.range.end;
        if self.edits.iter().any(meets) {
            return self.hand(format!("change {file} by hand: two changes overlap"));
        }
        self.edits.push(Replaced { file: file.to_owned(), range, text });
    }

    /// Writes other versions of a package or of Python.
    pub(super) fn declaration(&mut self, wanted: &Wanted) {
        let project = self.project;
        for (index, one) in project.python.iter().enumerate().filter(|(_, one)| is_meant(wanted, &one.origin))
        {
            let poetry = one.origin.notation == Notation::Poetry;
            let exact = |text: &str| text.starts_with(|first: char| first.is_ascii_digit()) && !poetry;
            let mut meant = wanted.specifiers.clone();
            let series =
                || wanted.version.release().iter().take(2).map(ToString::to_string).collect::<Vec<_>>();
            let rewritten =
                self.specifier(&one.origin, &text_of(&wanted.specifiers), |written| match exact(written) {
                    true => Some(series().join(".")),
                    false => specified(&one.origin, written, &wanted.version, &mut meant),
                });
            if rewritten {
                self.expected.python[index].value.specifiers = meant;
            }
        }
        if wanted.specifiers.is_empty() {
            return;
        }
        for (index, one) in
            project.dependencies.iter().enumerate().filter(|(_, one)| is_meant(wanted, &one.origin))
        {
            self.dependency(index, one, &wanted.version, &wanted.specifiers);
        }
    }

    fn dependency(
        &mut self,
        index: usize,
        one: &Declared<Dependency>,
        version: &Version,
        specifiers: &VersionSpecifiers,
    ) {
        let of_torch = FAMILY.contains(&one.value.name.as_str());
        let exact = one.value.is_pinned() && one.value.versions.len() == 1;
        let label = self.label.filter(|_| of_torch && exact && one.value.local.is_none()).map(str::to_owned);
        let plain = format!("{}{}", one.value.name, text_of(specifiers));
        if self.has_hashes(one, &plain) {
            return;
        }
        let mut meant = specifiers.clone();
        let rewritten = self.specifier(&one.origin, &plain, |written| {
            let written = without_local(written, one.value.local.as_deref());
            let new = specified(&one.origin, &written, version, &mut meant)?;
            Some(label.as_ref().map_or(new.clone(), |label| format!("{new}+{label}")))
        });
        if rewritten {
            let expected = &mut self.expected.dependencies[index].value;
            expected.versions = meant;
            expected.local = label;
        }
    }

    /// Changes the pins of torchvision and torchaudio that nothing was said of: they belong to a release of
    /// torch.
    pub(super) fn partners(&mut self, wanted: &[Wanted], build: &NewBuild) {
        let project = self.project;
        for (index, one) in project.dependencies.iter().enumerate() {
            let partner = build.partners.iter().find(|(name, _)| *name == one.value.name);
            let said = wanted.iter().any(|wanted| is_meant(wanted, &one.origin));
            if let Some((_, version)) = partner.filter(|_| !said) {
                let specifiers = respecify(&one.value.versions, version);
                if specifiers != one.value.versions {
                    self.dependency(index, one, version, &specifiers);
                }
            }
        }
    }

    /// Gives pins that name a build of torch the new one.
    pub(super) fn labels(&mut self, build: &NewBuild) {
        let project = self.project;
        for (index, one) in project.dependencies.iter().enumerate() {
            let named = one.value.local.as_deref().filter(|_| FAMILY.contains(&one.value.name.as_str()));
            if named.is_none() {
                continue;
            }
            let changed = self.expected.dependencies[index].value.versions != one.value.versions;
            if !changed && named == Some(build.name.as_str()) {
                continue;
            }
            let plain = format!("{}+{}", one.value.name, build.name);
            if self.has_hashes(one, &plain) {
                continue;
            }
            let Some(span) = &one.origin.span else {
                self.not_in_one_piece(&one.origin, &plain);
                continue;
            };
            // A pin whose version changed has lost its build.
            let pending =
                self.edits.iter_mut().find(|edit| edit.file == one.origin.file && edit.range == *span);
            match pending {
                Some(edit) => edit.text = format!("{}+{}", edit.text, build.name),
                None => {
                    let Some(text) = self.text(&one.origin.file) else { continue };
                    let new = without_local(&text[span.clone()], named) + "+" + &build.name;
                    self.replace(&one.origin.file, span.clone(), new);
                }
            }
            self.expected.dependencies[index].value.local = Some(build.name.clone());
        }
    }

    /// Replaces the specifier of a declaration; whether that is possible.
    pub(super) fn specifier(
        &mut self,
        origin: &Origin,
        new: &str,
        rewrite: impl FnOnce(&str) -> Option<String>,
    ) -> bool {
        let Some(text) = self.text(&origin.file) else { return false };
        let Some(span) = &origin.span else {
            self.not_in_one_piece(origin, new);
            return false;
        };
        match text.get(span.clone()).and_then(rewrite) {
            Some(new) => self.replace(&origin.file, span.clone(), new),
            None => {
                self.not_in_one_piece(origin, new);
                return false;
            }
        }
        true
    }

    fn not_in_one_piece(&mut self, origin: &Origin, new: &str) {
        self.hand(format!("{origin} is not written in one piece; change it by hand: {new}"));
    }

    /// Refuses a requirement with hashes: those of other files are not known.
    pub(super) fn has_hashes(&mut self, one: &Declared<Dependency>, new: &str) -> bool {
        if one.value.hashes.is_empty() {
            return false;
        }
        let Some(text) = self.text(&one.origin.file) else { return true };
        let again = Header::of(text).again(&one.origin.file);
        self.hand(format!(
            "{} has hashes, so the file must be made again: require {new} {again}",
            one.origin
        ));
        true
    }
}

fn is_meant(wanted: &Wanted, origin: &Origin) -> bool {
    origin.file == wanted.file && origin.line == wanted.line && origin.text == wanted.text
}

/// Whether a file is of pip, and can have lines that name an index.
fn has_options(file: &str) -> bool {
    std::path::Path::new(file).extension().is_none_or(|one| one != "toml" && one != "cfg")
}

/// Specifiers as a person wrote them, for another version: `meant`, in the old style where that says the
/// same. A constraint of Poetry keeps its operator, and says what is meant.
fn specified(
    origin: &Origin,
    written: &str,
    version: &Version,
    meant: &mut VersionSpecifiers,
) -> Option<String> {
    if origin.notation == Notation::Poetry
        && let Some(new) = constraint::with_version(written, version)
    {
        *meant = constraint::specifiers(&new)?.iter().cloned().map(without_build).collect();
        return Some(new);
    }
    let new = respecify_text(written, version)
        .filter(|new| new.parse::<VersionSpecifiers>().is_ok_and(|parsed| parsed == *meant));
    Some(new.unwrap_or_else(|| text_of(meant)))
}

fn text_of(specifiers: &VersionSpecifiers) -> String {
    let parts: Vec<String> = specifiers.iter().map(ToString::to_string).collect();
    parts.join(",").replace(' ', "")
}

fn without_local(written: &str, local: Option<&str>) -> String {
    local.map_or(written.to_owned(), |local| written.replacen(&format!("+{local}"), "", 1))
}
