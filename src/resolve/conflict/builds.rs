//! Why none of the torch builds that the wishes leave will do.

use super::super::answer::Reason;
use super::super::constraint::{Constraint, Judge, Judgement};
use super::super::constraints::CONSTRAINTS;
use super::super::constraints::asked_for::cuda_within;
use super::super::request::Versions;
use super::super::wanted::Wanted;
use super::super::world::{Build, World};
use super::ranges::{list, ranges, verb};
use super::reasons::{Refusal, Stage, grouped};
use crate::catalog::torch;

/// No build is of the wished torch and the wished CUDA.
pub(super) fn none_left(world: &World, wanted: &Wanted) -> Reason {
    let of_torch: Vec<&Build> = world
        .builds
        .iter()
        .filter(|build| {
            wanted.torch.iter().all(|wish| {
                wish.contain(&build.version)
                    && wish.build.as_deref().is_none_or(|name| name == build.build.build)
            })
        })
        .collect();
    let of_cuda: Vec<&Build> =
        world.builds.iter().filter(|build| wanted.cuda.iter().all(|wish| cuda_within(wish, build))).collect();
    let says = if of_torch.is_empty() {
        format!("no torch is {}", both(&wanted.torch))
    } else if of_cuda.is_empty() {
        format!("no torch build is for a CUDA that is {}", both(&wanted.cuda))
    } else {
        let named = match &wanted.torch[..] {
            [one] if one.build.is_some() => names(&of_torch),
            _ => releases(&of_torch),
        };
        let count = distinct(of_torch.iter().map(|build| build.release.version.as_str())).len();
        let known = if of_torch.iter().all(|build| build.release.builds_complete) {
            ""
        } else {
            ", as far as is known"
        };
        format!(
            "{named} {} built for CUDA {}{known}; builds for CUDA {} exist for {}",
            verb(count, "was", "were"),
            list(&cudas(&of_torch)),
            list(&distinct(wanted.cuda.iter().map(|wish| wish.text.as_str()))),
            releases(&of_cuda),
        )
    };
    Reason { constraint: "torch-asked-for".into(), says }
}

fn both(wishes: &[&Versions]) -> String {
    let texts = distinct(wishes.iter().map(|wish| wish.text.as_str()));
    let word = if texts.len() == 2 { "both " } else { "" };
    format!("{word}{}", list(&texts))
}

/// What the constraints say of the builds that they refuse.
pub(super) fn reasons(world: &World, wanted: &Wanted, stage: &Stage<&Build>) -> Vec<Reason> {
    CONSTRAINTS.iter().flat_map(|constraint| of_constraint(world, wanted, stage, constraint)).collect()
}

fn of_constraint(
    world: &World,
    wanted: &Wanted,
    stage: &Stage<&Build>,
    constraint: &Constraint,
) -> Vec<Reason> {
    let Judge::Build(judge) = constraint.judge else { return Vec::new() };
    let refused: Vec<Refusal> =
        stage.refused.iter().filter(|refusal| refusal.constraint == constraint.id).cloned().collect();
    let key = |refusal: &Refusal| without_names(&refusal.says, refusal.build);
    let groups = merged(grouped(&refused, key));
    let does = |build: &&Build| judge(wanted, build) == Judgement::Holds;
    let (do_so, does_so) = match constraint.id {
        "gpu-has-code" => ("have it", "has it"),
        _ => ("do", "does"),
    };
    let others = alternatives(world, stage, does, (do_so, does_so));
    let reason = |(says, builds): (String, Vec<&Build>)| {
        let says = match constraint.id {
            "gpu-has-code" => without_list(&says).to_owned(),
            _ => says,
        };
        let subject = if wanted.cuda.is_empty() { releases(&builds) } else { names(&builds) };
        let subject = if wanted.torch.is_empty() && wanted.cuda.is_empty() { None } else { Some(subject) };
        let several = distinct(builds.iter().map(|build| build.release.version.as_str())).len() > 1;
        Reason { constraint: constraint.id.to_owned(), says: sentence(subject, &says, several, &others) }
    };
    groups.into_iter().map(reason).collect()
}

/// `MARK has no code for …` with its subject.
fn sentence(subject: Option<String>, says: &str, several: bool, others: &str) -> String {
    let subject = subject.unwrap_or_else(|| "every other build".to_owned());
    let mut text = says.replacen(MARK, &subject, 1).replace(MARK, "it");
    if several {
        for (one, more) in
            [(" has ", " have "), (" needs ", " need "), (" was ", " were "), (" runs ", " run ")]
        {
            text = text.replacen(&format!("{subject}{one}"), &format!("{subject}{more}"), 1);
        }
    }
    format!("{text}{others}")
}

/// Stands for the candidate in a sentence.
const MARK: &str = "\u{1}";

fn without_names(says: &str, build: &Build) -> String {
    let text = says.replace(&build.name(), MARK).replace(&format!("torch {}", build.release.version), MARK);
    match text.strip_prefix("it ") {
        Some(rest) => format!("{MARK} {rest}"),
        None => text,
    }
}

/// The list of architectures differs from build to build and says nothing new.
fn without_list(says: &str) -> &str {
    says.split(", only for ").next().unwrap_or(says)
}

/// Groups whose sentences differ only in the list of architectures.
fn merged<'w>(groups: Vec<(String, Vec<&Refusal<'w>>)>) -> Vec<(String, Vec<&'w Build>)> {
    let mut merged: Vec<(String, Vec<&Build>)> = Vec::new();
    for (says, refusals) in groups {
        let builds = refusals.iter().map(|refusal| refusal.build);
        match merged.iter_mut().find(|(known, _)| without_list(known) == without_list(&says)) {
            Some((_, known)) => known.extend(builds),
            None => merged.push((says, builds.collect())),
        }
    }
    merged
}

/// What does instead: other builds of the same releases, or the first or last release that does.
fn alternatives(
    world: &World,
    stage: &Stage<&Build>,
    does: impl Fn(&&Build) -> bool,
    (do_so, does_so): (&str, &str),
) -> String {
    let all: Vec<&Build> = world.builds.iter().filter(|build| does(build)).collect();
    let left = |build: &&&Build| stage.left.iter().any(|one| one.version == build.version);
    let same: Vec<&Build> = all.iter().filter(left).copied().collect();
    if !same.is_empty() && stage.left.len() < world.builds.len() {
        return format!("; the builds for CUDA {} {do_so}", list(&cudas(&same)));
    }
    let newest_left = stage.left.iter().map(|build| &build.version).max();
    let oldest_left = stage.left.iter().map(|build| &build.version).min();
    let later = all.iter().filter(|build| newest_left.is_some_and(|newest| build.version > *newest));
    let earlier = all.iter().filter(|build| oldest_left.is_some_and(|oldest| build.version < *oldest));
    let builds_of = |one: &Build| {
        let builds = all.iter().filter(|build| build.version == one.version);
        list(&builds.map(|build| build.build.build.as_str()).collect::<Vec<_>>())
    };
    if let Some(first) = later.min_by_key(|build| &build.version) {
        return format!(
            "; the first torch that {does_so} is {} ({})",
            first.release.version,
            builds_of(first)
        );
    }
    if let Some(last) = earlier.max_by_key(|build| &build.version) {
        return format!("; the last torch that {does_so} is {} ({})", last.release.version, builds_of(last));
    }
    match all.is_empty() {
        true => "; no build in the catalog is known to".to_owned(),
        false => String::new(),
    }
}

/// `torch 2.5.0 and 2.5.1`.
pub(super) fn releases(builds: &[&Build]) -> String {
    let all: Vec<&str> = torch::all().iter().map(|row| row.version.as_str()).collect();
    format!("torch {}", ranges(&all, |one| builds.iter().any(|build| build.release.version == one)))
}

/// `torch 2.5.0 and 2.5.1 for CUDA 12.4`.
fn names(builds: &[&Build]) -> String {
    format!("{} for CUDA {}", releases(builds), list(&cudas(builds)))
}

/// The CUDA releases of builds, oldest first.
pub(super) fn cudas(builds: &[&Build]) -> Vec<String> {
    let mut all: Vec<_> = builds.iter().map(|build| &build.cuda).collect();
    all.sort();
    all.dedup();
    all.iter().map(ToString::to_string).collect()
}

/// Each text once, in the order of the first.
pub(super) fn distinct<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all: Vec<&str> = Vec::new();
    for text in texts {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}
