//! Why none of the package releases that the wishes leave will do.

use std::collections::BTreeSet;

use super::super::answer::Reason;
use super::super::search::Trace;
use super::super::wanted::Wanted;
use super::super::world::World;
use super::builds::distinct;
use super::ranges::{ranges, verb};
use super::reasons::{ASKED_FOR, grouped, needed};
use catalog::torch;
use diagnostic::words::and;

/// More sentences than these help nobody.
const SENTENCES: usize = 6;

struct Refused<'a> {
    package: &'a str,
    version: &'a str,
    /// The release of torch that the sentence names, if it does.
    torch: Option<&'static str>,
    /// The build with which it was refused.
    build: Option<&'static torch::Build>,
    /// Which refusal of the search it is: one release may be refused for one reason here and for another one there.
    place: usize,
    constraint: &'static str,
    says: &'a str,
}

/// What the constraints say of the releases that they refuse, those of wished packages first.
pub(super) fn reasons(world: &World, wanted: &Wanted, trace: &Trace) -> Vec<Reason> {
    if let Some(reason) = contradiction(world, wanted) {
        return vec![reason];
    }
    let mut refused: Vec<Refused> = Vec::new();
    for (place, rejected) in trace.rejected.iter().enumerate() {
        let left_out = rejected.reasons.iter().any(|reason| ASKED_FOR.contains(&reason.constraint));
        let Some(package) = rejected.package.filter(|_| !left_out) else { continue };
        let version = rejected.candidate.strip_prefix(package).unwrap_or_default().trim_start();
        refused.extend(rejected.reasons.iter().map(|reason| Refused {
            package,
            version,
            torch: torch_in(&reason.says),
            build: rejected.build,
            place,
            constraint: reason.constraint,
            says: &reason.says,
        }));
    }
    let packages = distinct(refused.iter().map(|one| one.package));
    let essential: Vec<(&str, &str)> = packages.iter().flat_map(|name| constraints(name, &refused)).collect();
    refused.retain(|one| essential.contains(&(one.package, one.constraint)));
    // What sets two wishes against each other says it all. Sorting is stable: within each kind the order of the search stays.
    refused.sort_by_key(|one| (wanted.package(one.package).is_empty(), !names_another(wanted, one)));
    let key = |one: &Refused| format!("{} {} {}", one.constraint, one.package, pattern(one));
    grouped(&refused, key).iter().filter_map(|(_, group)| sentence(world, group)).take(SENTENCES).collect()
}

/// Whether a refusal of a package names another one that was wished.
fn names_another(wanted: &Wanted, one: &Refused) -> bool {
    let names =
        |name: &str| one.says.split_whitespace().any(|word| word.trim_matches([':', ',', ';']) == name);
    let others = wanted.packages.keys().filter(|name| **name != one.package);
    others.copied().any(names) || (!wanted.torch.is_empty() && names("torch"))
}

/// The constraints that are enough to refuse all releases of a package that were refused.
fn constraints<'a>(package: &'a str, refused: &[Refused<'a>]) -> Vec<(&'a str, &'a str)> {
    let of = |ids: Option<&[&str]>| -> BTreeSet<usize> {
        let kept = refused.iter().filter(|one| one.package == package);
        kept.filter(|one| ids.is_none_or(|ids| ids.contains(&one.constraint))).map(|one| one.place).collect()
    };
    let all = of(None).len();
    let ids = refused.iter().filter(|one| one.package == package).map(|one| one.constraint);
    needed(ids, |ids| of(Some(ids)).len() == all).into_iter().map(|id| (package, id)).collect()
}

/// The release of torch that a sentence names.
fn torch_in(says: &str) -> Option<&'static str> {
    let start = says.find("torch ")? + "torch ".len();
    let end =
        says[start..].find(|c: char| !c.is_ascii_digit() && c != '.').map_or(says.len(), |end| start + end);
    torch::release(&says[start..end]).map(|row| row.version.as_str())
}

/// A sentence with marks for the release, for torch and for its CUDA.
fn pattern(one: &Refused) -> String {
    let text = one.says.replace(&format!("{} {}", one.package, one.version), "\u{1}");
    let text = match one.torch {
        Some(version) => text.replacen(&format!("torch {version}"), "\u{2}", 1),
        None => text,
    };
    match one.build.and_then(|build| build.cuda.as_deref()) {
        Some(cuda) => text.replacen(&format!("torch for CUDA {cuda}:"), "torch for CUDA \u{3}:", 1),
        None => text,
    }
}

/// Wishes for one package that no release meets.
fn contradiction(world: &World, wanted: &Wanted) -> Option<Reason> {
    wanted.packages.iter().find_map(|(name, wishes)| {
        let package = world.package(name)?;
        let met = package.releases.iter().any(|one| wishes.iter().all(|wish| wish.contain(&one.version)));
        let texts: Vec<&str> = wishes.iter().map(|wish| wish.text.as_str()).collect();
        (!met).then(|| Reason {
            constraint: "package-asked-for".into(),
            says: format!("no {name} in the catalog is {} at once", and(&texts)),
        })
    })
}

fn sentence(world: &World, group: &[&Refused]) -> Option<Reason> {
    let first = group.first()?;
    let mut versions: Vec<&str> =
        world.package(first.package)?.releases.iter().map(|release| release.text.as_str()).collect();
    versions.reverse();
    let refused = |version: &str| group.iter().any(|refused| refused.version == version);
    let count = versions.iter().filter(|version| refused(version)).count();
    let releases: Vec<&str> = torch::all().iter().map(|row| row.version.as_str()).collect();
    let torch = ranges(&releases, |one| group.iter().any(|refused| refused.torch == Some(one)));
    let mut says = pattern(first);
    for (one, more) in VERBS {
        says = says.replace(&format!("\u{1} {one} "), &format!("\u{1} {} ", verb(count, one, more)));
    }
    let says = says.replace('\u{1}', &format!("{} {}", first.package, ranges(&versions, refused)));
    let mut cudas: Vec<&str> = group.iter().filter_map(|one| one.build?.cuda.as_deref()).collect();
    cudas.sort_unstable();
    cudas.dedup();
    let says = says.replace('\u{2}', &format!("torch {torch}")).replace('\u{3}', &and(&cudas));
    Some(Reason { constraint: first.constraint.to_owned(), says })
}

const VERBS: [(&str, &str); 7] = [
    ("requires", "require"),
    ("asks", "ask"),
    ("has", "have"),
    ("needs", "need"),
    ("was", "were"),
    ("does", "do"),
    ("builds", "build"),
];
