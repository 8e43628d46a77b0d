//! The smallest change of a project's files with which it has a stack.

use std::collections::BTreeMap;

use diagnostic::error::Error;
use diagnostic::render::json::EditEntry;
use project::patch::{NewBuild, Patch, Wanted, patch};
use project::{ChangedFile, Project, Texts, read_texts};
use resolve::outcome::Outcome;
use resolve::parameter::Source;
use resolve::repair::{self, Part, Repair};
use resolve::report::{ProjectChange, text};
use resolve::request::{Request, Requirement, RequirementKind};
use resolve::universe::Universe;

use crate::declared::ProjectRequest;
use crate::machines::ReadMachine;
use crate::plan::{PlanRequest, requirements};

mod of_locked;

/// A change of files that was checked: with it the project has a stack.
#[derive(Debug, Default)]
pub struct SmallestChange {
    /// For the report.
    pub shown: ProjectChange,
    /// The files to write; empty where there is nothing to write.
    pub files: Vec<ChangedFile>,
}

/// What to change in the files of a project whose requirements have no stack. `required` is all that holds:
/// the requirements of `asked`, and `others` that come from elsewhere; `outcome` is what they resolve to.
/// `None`: no project was read, or no conflict is certain.
pub fn smallest_change(
    universe: &Universe,
    asked: &PlanRequest,
    outcome: &Outcome,
    (required, others): (&Request, &[Requirement]),
    read_here: ReadMachine<'_>,
) -> Result<Option<SmallestChange>, Error> {
    let Outcome::Conflict(conflict) = outcome else { return Ok(None) };
    if conflict.undecided {
        return Ok(None);
    }
    let Some(request) = &asked.project else { return Ok(None) };
    if let Some(lock) = request.read()?.and_then(|project| project.lock) {
        return of_locked::smallest_change(universe, asked, &lock, (required, others), read_here);
    }
    let declared =
        |(index, one): (usize, &Requirement)| matches!(one.source, Source::Declared(_)).then_some(index);
    let changeable: Vec<usize> = required.requirements.iter().enumerate().filter_map(declared).collect();
    let mut change = SmallestChange::default();
    let Some(repair) = repair::smallest(universe, required, &changeable) else {
        change.shown.by_hand = vec![no_repair(universe, required, &changeable)];
        return Ok(Some(change));
    };
    change.shown.stack = Some(text::headline(&repair.stack));
    change.shown.notes = lost(&repair);
    let mut texts = Texts::default();
    let project = read_texts(&request.selection, &mut texts)?;
    let (wanted, build) = wanted(required, &repair);
    match patch(&project, &texts, &wanted, build.as_ref()) {
        Err(sentences) => change.shown.by_hand = sentences,
        Ok(patch) if holds(universe, (asked, request, others), &patch, read_here)? => change.take(patch),
        Ok(_) => change.shown.by_hand = by_hand(required, &repair),
    }
    Ok(Some(change))
}

impl SmallestChange {
    fn take(&mut self, patch: Patch) {
        self.shown.edits = patch.edits.iter().map(EditEntry::from).collect();
        self.shown.diff = patch.files.iter().map(ChangedFile::diff).collect();
        self.shown.notes.extend(patch.notes);
        self.files = patch.files;
    }
}

fn no_repair(universe: &Universe, required: &Request, changeable: &[usize]) -> String {
    let relaxed = repair::relaxed(universe, required, changeable);
    match resolve::resolve(universe, &relaxed) {
        Outcome::Conflict(conflict) if !conflict.message.is_empty() => {
            format!("No change of the project helps: {}", conflict.message)
        }
        _ => "No change of the project helps".to_owned(),
    }
}

/// What the new build no longer does.
fn lost(repair: &Repair) -> Vec<String> {
    let torch = format!("torch {}+{}", repair.stack.torch, repair.stack.torch_build);
    let mut notes = Vec::new();
    if let Some(gone) = repair.lost.architectures.as_ref().filter(|gone| !gone.is_empty()) {
        let gone: Vec<String> = gone.iter().map(|one| catalog::cuda::sm(one)).collect();
        notes.push(format!("{torch} does not run on {}; the old build does.", gone.join(", ")));
    }
    if let Some((old, new)) = &repair.lost.driver {
        notes.push(format!("{torch} needs driver {new}; the old build needs {old}."));
    }
    notes
}

fn wanted(required: &Request, repair: &Repair) -> (Vec<Wanted>, Option<NewBuild>) {
    let one = |change: &repair::Change| match &required.requirements.get(change.index)?.source {
        // The CUDA of a library that comes with torch, which loses its version.
        Source::Declared(_) if change.part == Part::Cuda => None,
        Source::Declared(declaration) => Some(Wanted {
            file: declaration.file.clone(),
            line: declaration.line,
            text: declaration.text.clone(),
            specifiers: change.to.specifiers.clone(),
            version: change.version.clone().without_local(),
        }),
        _ => None,
    };
    let of_torch = |part: &Part| match part {
        Part::Torch | Part::Cuda => true,
        Part::Package(name) => name == "torchvision" || name == "torchaudio",
        Part::Python => false,
    };
    let stack = &repair.stack;
    let partners = [("torchvision", &stack.torchvision), ("torchaudio", &stack.torchaudio)];
    let partner =
        |(name, version): (&'static str, &Option<String>)| Some((name, version.as_ref()?.parse().ok()?));
    let names_torch = required.requirements.iter().any(|one| {
        matches!(one.source, Source::Declared(_)) && matches!(one.kind, RequirementKind::Torch(_))
    });
    // Torch comes with another package, and PyPI has another build of it.
    let elsewhere = stack.index_url.is_some() && !names_torch;
    let moves = elsewhere || repair.changed.iter().any(|change| of_torch(&change.part));
    let build = moves.then(|| NewBuild {
        torch: format!("{}+{}", stack.torch, stack.torch_build),
        name: stack.torch_build.clone(),
        index: stack.index_url.clone(),
        partners: partners.into_iter().filter_map(partner).collect(),
    });
    (repair.changed.iter().filter_map(one).collect(), build)
}

/// Whether the changed files, read again, declare what was meant and nothing else, and have a stack.
fn holds(
    universe: &Universe,
    (asked, request, others): (&PlanRequest, &ProjectRequest, &[Requirement]),
    patch: &Patch,
    read_here: ReadMachine<'_>,
) -> Result<bool, Error> {
    let instead: BTreeMap<String, String> =
        patch.files.iter().map(|one| (one.name.clone(), one.after.clone())).collect();
    let mut texts = Texts { instead: instead.clone(), ..Texts::default() };
    let after: Result<Project, _> = read_texts(&request.selection, &mut texts);
    if patch.files.is_empty() || !after.is_ok_and(|after| patch.is_exact(&after)) {
        return Ok(false);
    }
    let changed = ProjectRequest { instead, ..request.clone() };
    let asked = PlanRequest { project: Some(changed), ..asked.clone() };
    let mut required = requirements(universe, &asked, read_here)?.request;
    required.requirements.extend(others.iter().cloned());
    Ok(resolve::has_stack(universe, &required))
}

fn by_hand(required: &Request, repair: &Repair) -> Vec<String> {
    let one = |change: &repair::Change| {
        let source = &required.requirements.get(change.index)?.source;
        Some(format!("Change {source} by hand to {}.", change.to.text))
    };
    repair.changed.iter().filter_map(one).collect()
}
