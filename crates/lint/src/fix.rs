//! Applies the edits of findings to files: `lint --fix`.

use std::collections::{BTreeMap, BTreeSet};

use diagnostic::Edit;
use judge::Checks;
use project::ChangedFile;

use crate::{File, Finding, Over, Rule, lint};

/// How often files are linted and changed: edits that overlap, and those that others make possible, come
/// after the first.
const PASSES: usize = 10;

/// A file, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixedFile {
    pub change: ChangedFile,
    /// How many findings the edits remove.
    pub fixed: usize,
}

/// What was fixed in memory, and what remains.
#[derive(Debug, Default)]
pub struct Fixes {
    /// The files that change, by name.
    pub files: Vec<FixedFile>,
    /// The findings in the files with the edits.
    pub left: Vec<Finding>,
}

/// Changes the texts of files until no finding has an edit. Nothing is written.
pub fn fix(rules: &[&'static Rule], checks: Checks, files: &mut [File]) -> Fixes {
    let mut before: BTreeMap<String, String> = BTreeMap::new();
    let mut found: Vec<Vec<Finding>> = files.iter().map(|file| lint(rules, checks, file)).collect();
    let mut fixed: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..PASSES {
        let mut changed: BTreeMap<String, String> = BTreeMap::new();
        for (name, Chosen { edits, findings }) in choose(found.iter().flatten()) {
            let Some(text) = files.iter().find_map(|file| text_of(file, name)) else { continue };
            before.entry(name.to_owned()).or_insert_with(|| text.to_owned());
            changed.insert(name.to_owned(), with_edits(text, edits));
            *fixed.entry(name.to_owned()).or_default() += findings;
        }
        if changed.is_empty() {
            break;
        }
        for (file, found) in files.iter_mut().zip(&mut found) {
            if replace(file, &changed) {
                *found = lint(rules, checks, file);
            }
        }
    }
    let after = |name: &str| files.iter().find_map(|file| text_of(file, name)).unwrap_or_default().to_owned();
    let changed = before.into_iter().map(|(name, before)| {
        let fixed = fixed.get(&name).copied().unwrap_or_default();
        FixedFile { change: ChangedFile { after: after(&name), name, before }, fixed }
    });
    let changed = changed.filter(|file| file.change.before != file.change.after).collect();
    Fixes { files: changed, left: found.into_iter().flatten().collect() }
}

/// The findings of files with the old text of some that could not be written.
pub fn without(
    rules: &[&'static Rule],
    checks: Checks,
    files: &mut [File],
    unwritten: &[FixedFile],
) -> Vec<Finding> {
    let old = unwritten.iter().map(|file| (file.change.name.clone(), file.change.before.clone())).collect();
    files.iter_mut().for_each(|file| _ = replace(file, &old));
    files.iter().flat_map(|file| lint(rules, checks, file)).collect()
}

/// The edits of one file that are made together, and of how many findings they are.
#[derive(Default)]
struct Chosen<'f> {
    edits: Vec<&'f Edit>,
    findings: usize,
}

/// The edits by file, of the findings whose edits overlap none of an earlier one.
fn choose<'f>(found: impl Iterator<Item = &'f Finding>) -> BTreeMap<&'f str, Chosen<'f>> {
    let mut chosen: BTreeMap<&str, Chosen> = BTreeMap::new();
    for edits in found.map(|finding| finding.found.edits().collect::<Vec<_>>()) {
        // A finding's edits are all in its file.
        let Some(first) = edits.first() else { continue };
        let own = chosen.entry(&first.file).or_default();
        if edits.iter().any(|edit| own.edits.iter().any(|one| meet(one, edit))) {
            continue;
        }
        own.edits.extend(edits);
        own.findings += 1;
    }
    chosen
}

/// Whether two edits touch the same or neighbouring bytes.
fn meet(one: &Edit, other: &Edit) -> bool {
    one.start.byte <= other.end.byte && other.start.byte <= one.end.byte
}

/// A text with edits that do not overlap.
fn with_edits(text: &str, mut edits: Vec<&Edit>) -> String {
    edits.sort_by_key(|edit| edit.start.byte);
    let mut out = text.to_owned();
    for edit in edits.into_iter().rev() {
        out.replace_range(edit.start.byte..edit.end.byte, &edit.text);
    }
    out
}

/// The text of a file by its name: of this one, of one merged over it, or of its build context.
fn text_of<'f>(file: &'f File, name: &str) -> Option<&'f str> {
    if file.name == name {
        return Some(&file.text);
    }
    let over = file.over.iter().find(|over| over.name == name).map(|over| &*over.text);
    let context = || file.context.iter().find(|(path, _)| file.sibling(path) == name);
    over.or_else(|| context()?.1.as_deref())
}

/// Puts new texts in place of the old ones of the same name; whether it had one.
fn replace(file: &mut File, changed: &BTreeMap<String, String>) -> bool {
    let mut replaced = false;
    if let Some(text) = changed.get(&file.name) {
        file.text.clone_from(text);
        replaced = true;
    }
    for over in &mut file.over {
        if let Some(text) = changed.get(&over.name) {
            *over = Over::new(over.name.as_str(), text.as_str());
            replaced = true;
        }
    }
    let paths: BTreeSet<String> = file.context.keys().cloned().collect();
    for path in paths {
        if let Some(text) = changed.get(&file.sibling(&path)) {
            file.context.insert(path, Some(text.clone()));
            replaced = true;
        }
    }
    replaced
}
