//! Other versions in the files of a project: edits of the bytes that say so, and nothing else.

mod builds;
mod compiled;
mod followers;
mod header;
mod indexes;
#[cfg(test)]
mod tests;
mod writer;

use std::collections::BTreeMap;
use std::ops::Range;

use diagnostic::{Edit, Position};
use pep440_rs::{Version, VersionSpecifiers};

use crate::changed_file::ChangedFile;
use crate::declared::{Declared, Dependency, Index};
use crate::project::Project;
use crate::texts::Texts;
use writer::Writer;

/// Other versions for a declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The file, line and text of its origin.
    pub file: String,
    pub line: usize,
    pub text: String,
    /// The specifiers to write, without a build; empty: only the build is another one.
    pub specifiers: VersionSpecifiers,
    /// The version that they must allow, without a build.
    pub version: Version,
}

/// The build of torch after the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBuild {
    /// `2.7.1+cu128`
    pub torch: String,
    /// `cu128`
    pub name: String,
    /// The index that has it; `None`: PyPI has it.
    pub index: Option<String>,
    /// The releases of torchvision and torchaudio that belong to it.
    pub partners: Vec<(&'static str, Version)>,
}

/// The changes of a project's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    pub files: Vec<ChangedFile>,
    pub edits: Vec<Edit>,
    /// What else is to do or to know, in sentences.
    pub notes: Vec<String>,
    /// What the files must declare with the changes.
    expected: Project,
}

/// Changes files so that declarations have other versions. `build`: torch, or its build, is another one.
///
/// # Errors
/// Something cannot be changed: sentences that say what to change by hand.
pub fn patch(
    project: &Project,
    texts: &Texts,
    wanted: &[Wanted],
    build: Option<&NewBuild>,
) -> Result<Patch, Vec<String>> {
    let mut writer = Writer::new(project, texts, build);
    for one in wanted {
        writer.declaration(one);
    }
    if let Some(build) = build {
        writer.partners(wanted, build);
        writer.labels(build);
        indexes::change(&mut writer, build);
        followers::change(&mut writer, build);
    }
    compiled::note(&mut writer);
    match writer.by_hand.is_empty() {
        true => Ok(Patch::of(writer)),
        false => Err(writer.by_hand),
    }
}

impl Patch {
    fn of(writer: Writer<'_>) -> Patch {
        let Writer { texts, expected, edits, mut notes, .. } = writer;
        notes.dedup();
        let mut files: BTreeMap<String, Vec<(Range<usize>, String)>> = BTreeMap::new();
        for one in edits {
            files.entry(one.file).or_default().push((one.range, one.text));
        }
        let mut patch = Patch { files: Vec::new(), edits: Vec::new(), notes, expected };
        for (name, mut edits) in files {
            let Some(Some(before)) = texts.read.get(&name) else { continue };
            edits.sort_by_key(|(range, _)| range.start);
            let mut after = before.clone();
            for (range, text) in edits.iter().rev() {
                after.replace_range(range.clone(), text);
            }
            patch.edits.extend(edits.into_iter().map(|(range, text)| {
                let at = |byte| Position::of(before, byte);
                Edit { file: name.clone(), start: at(range.start), end: at(range.end), text }
            }));
            patch.files.push(ChangedFile { name, before: before.clone(), after });
        }
        patch
    }

    /// Whether a project that was read again with the changes differs in nothing else.
    pub fn is_exact(&self, after: &Project) -> bool {
        let expected = &self.expected;
        let dependencies = |project: &Project| -> Vec<_> {
            let value = |one: &Declared<Dependency>| (one.origin.file.clone(), one.value.clone());
            project.dependencies.iter().map(value).collect()
        };
        let pythons = |project: &Project| -> Vec<_> {
            project.python.iter().map(|one| (one.origin.file.clone(), one.value.clone())).collect()
        };
        let indexes = |project: &Project| {
            let key = |one: &Declared<Index>| {
                (one.origin.file.clone(), one.value.url.clone(), one.value.role, one.value.name.clone())
            };
            let mut all: Vec<_> = project.indexes.iter().map(key).collect();
            all.sort();
            all
        };
        let sources = |project: &Project| -> Vec<_> {
            project.sources.iter().map(|one| (one.origin.file.clone(), one.value.clone())).collect()
        };
        // An inserted line moves those below it.
        let not_read = |project: &Project| -> Vec<_> {
            project.not_read.iter().map(|one| (one.file.clone(), one.reason.clone())).collect()
        };
        expected.read == after.read
            && dependencies(expected) == dependencies(after)
            && pythons(expected) == pythons(after)
            && indexes(expected) == indexes(after)
            && sources(expected) == sources(after)
            && expected.extras == after.extras
            && not_read(expected) == not_read(after)
    }
}
