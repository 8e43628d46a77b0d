//! Whether compiling packages from source would resolve a conflict: `--compile`.

use super::super::outcome::{Nearest, Reason};
use super::super::request::{Request, Requirement, RequirementKind};
use super::super::search;
use super::super::universe::Universe;
use super::super::verdict::{Judgement, PackageRefusal, Refusal, Tolerance};
use super::core::Searcher;
use super::nearest;
use super::refused_release::{Refused, WHEEL, names};
use super::relaxed::{Cost, Relaxed};
use crate::parameter::{Parameter, Source};
use diagnostic::words::and;

/// Whether a stack exists if packages may be compiled; `None`: no release was refused because it has no
/// wheel.
pub(super) fn helps(universe: &Universe, whole: &Request, refused: &[Refused]) -> Option<bool> {
    refused.iter().any(|one| one.refusal.is_resolved_by_compiling()).then(|| {
        let mut request = whole.clone();
        request.requirements.push(requirement());
        search::any_within(universe, &request, Tolerance::LOOSEST, None).is_some()
    })
}

/// That not even a release which is compiled meets the requirements.
pub(super) fn no_release_fits(refused: &[Refused]) -> Reason {
    let packages = names(refused.iter().filter(|one| one.refusal.is_resolved_by_compiling()));
    Reason {
        constraint: WHEEL.to_owned(),
        message: format!(
            "no release of {} meets these requirements, not even compiled from source (--compile)",
            and(&packages)
        ),
    }
}

/// The same requirements with `--compile`, where that has a stack.
pub(super) fn nearest(searcher: &mut Searcher, requirements: &[Requirement]) -> Option<(Cost, Nearest)> {
    let mut all = requirements.to_vec();
    all.push(requirement());
    let (choice, tolerance) = searcher.any(&all)?;
    // What fails without --compile is what has to be compiled.
    let judged = search::judge(searcher.universe.catalog, &searcher.with(requirements), &choice);
    let mut compiled: Vec<&str> = Vec::new();
    for one in &judged {
        if let (Judgement::Fails(refusal), Some(release)) = (&one.judgement, one.candidate.release)
            && refusal.is_resolved_by_compiling()
            && !compiled.contains(&release.package)
        {
            compiled.push(release.package);
        }
    }
    let wanted = |one: &&Requirement| match &one.kind {
        RequirementKind::Package(name, _) => compiled.contains(&name.as_str()),
        _ => false,
    };
    let wanted = requirements.iter().find(wanted)?;
    let Source::Given { parameter, value, .. } = &wanted.source else { return None };
    let change = Relaxed {
        replacement: Some(requirement()),
        option: Some(format!("{} --compile", Source::option(*parameter, value.as_str()))),
        change: format!("{} compiled from source in the image", is(&compiled)),
        cost: Cost { weight: 1, tolerance, steps: 1 },
    };
    nearest::finish(searcher, std::slice::from_ref(wanted), requirements, &[change])
}

fn is(names: &[&str]) -> String {
    format!("{} {}", and(names), if names.len() == 1 { "is" } else { "are" })
}

fn requirement() -> Requirement {
    Requirement { source: Source::option(Parameter::Compile, ""), kind: RequirementKind::Compile }
}

impl Refusal {
    /// Whether the package would do if it were compiled from its source.
    pub(super) fn is_resolved_by_compiling(&self) -> bool {
        matches!(
            self,
            Refusal::Package(PackageRefusal::NotCompiled)
                | Refusal::Package(PackageRefusal::NoFlashAttnForArchitecture { .. })
                | Refusal::Package(PackageRefusal::NoFlashAttnWheel { .. })
        )
    }
}
