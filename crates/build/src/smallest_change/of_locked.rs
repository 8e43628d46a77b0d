//! The smallest change of a project whose lock has no stack. A lock is not edited: its own program makes it.

use diagnostic::error::Error;
use pep440_rs::Version;
use project::{Lock, LockUse};
use resolve::outcome::{Outcome, Stack};
use resolve::parameter::Source;
use resolve::report::text;
use resolve::request::{Request, Requirement, RequirementKind, Versions};
use resolve::universe::Universe;

use super::SmallestChange;
use crate::declared::ProjectRequest;
use crate::machines::ReadMachine;
use crate::plan::{PlanRequest, requirements};

/// What to change in the other files of the project, or which packages of the lock to move where those allow
/// it.
pub(super) fn smallest_change(
    universe: &Universe,
    asked: &PlanRequest,
    lock: &Lock,
    (locked, others): (&Request, &[Requirement]),
    read_here: ReadMachine<'_>,
) -> Result<Option<SmallestChange>, Error> {
    // An option replaces what the other files say: whether they allow its version is not known then.
    if locked.requirements.iter().any(is_option) {
        return Ok(None);
    }
    let mut asked = asked.clone();
    if let Some(ProjectRequest { selection, .. }) = &mut asked.project {
        selection.lock = LockUse::Regenerated;
    }
    let mut required = requirements(universe, &asked, read_here)?.request;
    required.requirements.extend(others.iter().cloned());
    let outcome = nearest(universe, locked, &required);
    let outcome = outcome.unwrap_or_else(|| resolve::resolve(universe, &required));
    let Outcome::Resolved(resolution) = &outcome else {
        return super::smallest_change(universe, &asked, &outcome, (&required, others), read_here);
    };
    let stack = &resolution.stack;
    let moved = moved(lock, locked, stack);
    if moved.is_empty() && stack.index_url.is_none() {
        return Ok(None);
    }
    let mut change = SmallestChange::default();
    change.shown.stack = Some(text::headline(stack));
    // The default index has another build.
    let add = |url: &String| format!("Add the index {url} for torch: {}.", lock.format.index_key());
    let index = stack.index_url.as_ref().map(add);
    let again = format!("Regenerate {} (the other files of the project allow these versions):", lock.file);
    change.shown.by_hand = index.into_iter().chain([again]).collect();
    change.shown.commands = vec![lock.format.upgrade(&moved)];
    Ok(Some(change))
}

/// Whether an option names a version.
fn is_option(one: &Requirement) -> bool {
    use RequirementKind::{Cpu, Cuda, Package, Python, Torch};
    matches!(one.source, Source::Given { .. })
        && matches!(one.kind, Torch(_) | Python(_) | Cuda(_) | Cpu | Package(..))
}

/// The stack with the torch nearest to the locked one: the next newer release that runs, else the next older.
fn nearest(universe: &Universe, locked: &Request, required: &Request) -> Option<Outcome> {
    let pinned = locked.requirements.iter().find_map(|one| match &one.kind {
        RequirementKind::Torch(versions) => versions.specifiers.first().map(|one| one.version().clone()),
        _ => None,
    })?;
    let releases = universe.catalog.torch().all().iter();
    let mut releases: Vec<Version> = releases.filter_map(|one| one.version.parse().ok()).collect();
    releases.sort();
    let (newer, older): (Vec<Version>, Vec<Version>) = releases.into_iter().partition(|one| *one >= pinned);
    newer.into_iter().chain(older.into_iter().rev()).find_map(|version| {
        let mut required = required.clone();
        let source = Source::Trial;
        let kind = RequirementKind::Torch(format!("=={version}").parse::<Versions>().ok()?);
        required.requirements.push(Requirement { source, kind });
        let has_stack = resolve::has_stack(universe, &required);
        has_stack.then(|| resolve::resolve(universe, &required))
    })
}

/// The packages of the lock that have another version in a stack, with that.
fn moved(lock: &Lock, locked: &Request, stack: &Stack) -> Vec<(String, String)> {
    let of_lock =
        |one: &&Requirement| matches!(&one.source, Source::Declared(from) if from.file == lock.file);
    let mut moved = Vec::new();
    for one in locked.requirements.iter().filter(of_lock) {
        let (name, versions) = match &one.kind {
            RequirementKind::Torch(versions) => ("torch", versions),
            RequirementKind::Package(name, versions) => (name.as_str(), versions),
            _ => continue,
        };
        let version = match name {
            "torch" => Some(&stack.torch),
            "torchvision" => stack.torchvision.as_ref(),
            "torchaudio" => stack.torchaudio.as_ref(),
            "deepspeed" => stack.deepspeed.as_ref(),
            name => stack.packages.get(name),
        };
        let other = version
            .filter(|version| version.parse().is_ok_and(|version| !versions.specifiers.contains(&version)));
        let pair = other.map(|version| (name.to_owned(), version.clone()));
        moved.extend(pair.filter(|pair| !moved.contains(pair)));
    }
    moved
}
