//! Applies the edits of findings to files: `lint --fix`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use diagnostic::Edit;
use diagnostic::error::{Error, Kind};
use diagnostic::visible;
use host::file;
use similar::TextDiff;

use judge::Checks;

use crate::{File, Finding, Over, Rule, lint};

/// How often files are linted and changed: edits that overlap, and those that others make possible, come
/// after the first.
const PASSES: usize = 10;

/// Unchanged lines around a change in a diff, like `diff -u`.
const CONTEXT_LINES: usize = 3;

/// A file, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixedFile {
    /// Its name, as findings show it: a path.
    pub name: String,
    /// Its text as it was read.
    pub before: String,
    /// Its text with the edits.
    pub after: String,
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
        FixedFile { after: after(&name), name, before, fixed }
    });
    let changed = changed.filter(|file| file.before != file.after).collect();
    Fixes { files: changed, left: found.into_iter().flatten().collect() }
}

/// The findings of files with the old text of some that could not be written.
pub fn without(
    rules: &[&'static Rule],
    checks: Checks,
    files: &mut [File],
    unwritten: &[FixedFile],
) -> Vec<Finding> {
    let old = unwritten.iter().map(|file| (file.name.clone(), file.before.clone())).collect();
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

impl FixedFile {
    /// What changes, as a unified diff.
    pub fn diff(&self) -> String {
        let name = visible::line(&self.name);
        let diff = TextDiff::from_lines(&self.before, &self.after);
        diff.unified_diff().context_radius(CONTEXT_LINES).header(&name, &name).to_string()
    }

    /// Writes the file with its mode, and its old text next to it; the path of that backup. A link stays one.
    ///
    /// # Errors
    /// The file is not as it was read, or one of the two cannot be written.
    pub fn write(&self) -> Result<PathBuf, Error> {
        let path = Path::new(&self.name);
        let path = file::canonical(path).map_err(|error| file::unreadable(path, &error))?;
        let judged = file::look(&path)?;
        if judged.text.as_deref() != Some(self.before.as_str()) {
            let message = format!("{} changed while envdoc was working on it", self.name);
            return Err(Error::new(Kind::File, message).hint("run the command again"));
        }
        let mode = file::mode(&path);
        let backup = free_backup(&path);
        file::create_with_mode(&backup, self.before.as_bytes(), mode.unwrap_or(0o600))?;
        if let Err(error) = file::write_over(&path, self.after.as_bytes(), mode, &judged) {
            file::remove_file(&backup)?;
            return Err(error);
        }
        Ok(backup)
    }
}

/// A name for the old text that no file has: `FILE.orig`, else `FILE.1.orig`.
fn free_backup(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let first = path.with_file_name(format!("{name}.orig"));
    let numbered = (1..).map(|number: u32| path.with_file_name(format!("{name}.{number}.orig")));
    std::iter::once(first).chain(numbered).find(|path| !file::exists(path)).unwrap_or_default()
}
