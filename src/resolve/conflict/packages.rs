//! Why none of the package releases that the wishes leave will do.

use super::super::answer::Reason;
use super::super::search::Trace;
use super::super::wanted::Wanted;
use super::super::world::World;
use super::ranges::{list, ranges, verb};
use super::reasons::{ASKED_FOR, grouped};

/// More sentences than these help nobody.
const SENTENCES: usize = 6;

struct Refused<'a> {
    package: &'a str,
    version: &'a str,
    constraint: &'static str,
    says: &'a str,
}

/// What the constraints say of the releases that they refuse, those of wished packages first.
pub(super) fn reasons(world: &World, wanted: &Wanted, trace: &Trace) -> Vec<Reason> {
    if let Some(reason) = contradiction(world, wanted) {
        return vec![reason];
    }
    let mut refused: Vec<Refused> = Vec::new();
    for rejected in &trace.rejected {
        let left_out = rejected.reasons.iter().any(|reason| ASKED_FOR.contains(&reason.constraint));
        let Some(package) = rejected.package.filter(|_| !left_out) else { continue };
        let version = rejected.candidate.strip_prefix(package).unwrap_or_default().trim_start();
        refused.extend(rejected.reasons.iter().map(|reason| Refused {
            package,
            version,
            constraint: reason.constraint,
            says: &reason.says,
        }));
    }
    // Sorting is stable: within each kind the order of the search stays.
    refused.sort_by_key(|one| wanted.package(one.package).is_empty());
    let key = |one: &Refused| {
        format!(
            "{} {} {}",
            one.constraint,
            one.package,
            one.says.replace(&format!("{} {}", one.package, one.version), "\u{1}")
        )
    };
    grouped(&refused, key).iter().filter_map(|(_, group)| sentence(world, group)).take(SENTENCES).collect()
}

/// Wishes for one package that no release meets.
fn contradiction(world: &World, wanted: &Wanted) -> Option<Reason> {
    wanted.packages.iter().find_map(|(name, wishes)| {
        let package = world.package(name)?;
        let met = package.releases.iter().any(|one| wishes.iter().all(|wish| wish.contain(&one.version)));
        let texts: Vec<&str> = wishes.iter().map(|wish| wish.text.as_str()).collect();
        (!met).then(|| Reason {
            constraint: "package-asked-for".into(),
            says: format!("no {name} in the catalog is {} at once", list(&texts)),
        })
    })
}

fn sentence(world: &World, group: &[&Refused]) -> Option<Reason> {
    let first = group.first()?;
    let mut versions: Vec<&str> =
        world.package(first.package)?.releases.iter().map(|release| release.text.as_str()).collect();
    versions.reverse();
    let several = ranges(&versions, |one| group.iter().any(|refused| refused.version == one));
    let own = format!("{} {}", first.package, first.version);
    let all = format!("{} {several}", first.package);
    let count = versions.iter().filter(|one| group.iter().any(|refused| refused.version == **one)).count();
    let mut says = first.says.replace(&own, &all);
    for (one, more) in
        [("requires", "require"), ("asks", "ask"), ("has", "have"), ("needs", "need"), ("was", "were")]
    {
        says = says.replace(&format!("{all} {one} "), &format!("{all} {} ", verb(count, one, more)));
    }
    Some(Reason { constraint: first.constraint.to_owned(), says })
}
