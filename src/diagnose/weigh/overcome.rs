//! What went wrong and was overcome: tries that were followed by others, errors that tests provoke, steps that a build tolerated, programs
//! that ended well after all. It is told where nothing else failed, and is no cause.

use super::ranks;
use super::story::{Event, Story};
use crate::catalog::signatures::{Component, Role, Severity};

/// Signatures that only tell that something went well, or is tried again.
pub const WELL: &[&str] = &[
    "ds-process-well",
    "container-ended-well",
    "curl-will-retry",
    "image-built",
    "pip-installed",
    "tests-began",
    "tests-passed",
];

/// curl says up to so many lines after an error that it will try again.
const SOON: u64 = 6;

/// PyTorch finds no address of a machine's name.
const NAME_UNKNOWN: &str = "torch-store-name-unknown";
/// So many attempts at least.
const ATTEMPTS: usize = 3;

/// torchrun tells within fewer lines that it gives up.
const RESTARTED: u64 = 120;

/// A connection that failed and after which so many lines say nothing of a failure was made another time, or was not needed.
const QUIET: u64 = 200;

/// Makes context of what was overcome.
pub fn overcome(story: &mut Story) {
    let over: Vec<usize> = (0..story.events.len()).filter(|place| is_over(story, *place)).collect();
    over.into_iter().for_each(|place| story.events[place].role = Role::Context);
    let quiet: Vec<bool> = story
        .unknown
        .iter()
        .map(|line| tested(story, line.read, line.number) || built(story, line.read, line.number))
        .collect();
    for (line, quiet) in story.unknown.iter_mut().zip(quiet) {
        line.sure &= !quiet;
    }
}

fn is_over(story: &Story, place: usize) -> bool {
    let event = &story.events[place];
    event.role != Role::Context
        && (nameless(story, event)
            || tried_again(story, event)
            || event.text.contains("cleanup warnings")
            || tested(story, event.read, event.number)
            || built(story, event.read, event.number)
            || ended_well(story, event)
            || went_on_without(story, event)
            || restarted(story, event))
}

/// PyTorch says at every attempt that a name cannot be looked up, once also where it goes on by IPv4: only where all attempts said so, and time
/// ran out, the name is the cause.
fn nameless(story: &Story, event: &Event) -> bool {
    if event.id() != NAME_UNKNOWN {
        return false;
    }
    let same = |other: &&Event| other.read == event.read && other.captured("host") == event.captured("host");
    let attempts = story.of(NAME_UNKNOWN).filter(same).count();
    let late = story.of("torch-store-connect-timeout").any(|other| same(&other));
    attempts < ATTEMPTS || !late || story.of("torch-store-connect-refused").any(|other| same(&other))
}

/// What ended an attempt of torchrun after which it started the ranks anew: it never said that it gave up, and they went on.
fn restarted(story: &Story, event: &Event) -> bool {
    let of_agent = |other: &&Event| {
        other.read == event.read
            && other.number >= event.number
            && matches!(other.id(), "torch-elastic-childfailed" | "torch-elastic-root-cause")
    };
    let mut told = story.events.iter().filter(of_agent);
    let Some(last) = told.clone().map(|one| one.number).max() else { return false };
    let end = story.ends.get(event.read).copied().unwrap_or(0);
    told.all(|one| one.text.contains("failed (exitcode: ") || one.text.contains(" closing signal "))
        && end.saturating_sub(last) > RESTARTED
}

/// A fault of the network after which the log went on and no process is said to have ended.
fn went_on_without(story: &Story, event: &Event) -> bool {
    let network = matches!(event.signature.component, Component::Network | Component::Ssh);
    let end = story.ends.get(event.read).copied().unwrap_or(0);
    let later = |read: usize, number: u64| read == event.read && number > event.number;
    let last = story.of(event.id()).filter(|other| other.read == event.read).map(|other| other.number).max();
    network
        && end.saturating_sub(last.unwrap_or(event.number)) > QUIET
        && ranks::exits(story).is_empty()
        && !story.unknown.iter().any(|line| line.sure && later(line.read, line.number))
        && !story.events.iter().any(|other| {
            later(other.read, other.number) && other.role != Role::Context && other.id() != event.id()
        })
}

/// Later events of a signature in the same source.
fn later<'s>(story: &'s Story, id: &'s str, read: usize, number: u64) -> impl Iterator<Item = &'s Event> {
    story.of(id).filter(move |event| event.read == read && event.number > number)
}

/// A try of curl after which it says that it will try again, or of pip, which installed what was asked for in the end.
fn tried_again(story: &Story, event: &Event) -> bool {
    let (read, number) = (event.read, event.number);
    let curl = event.text.contains("curl: (") || event.text.contains("returned error: ");
    let again = |after: &Event| after.number <= number + SOON;
    (curl && later(story, "curl-will-retry", read, number).any(again))
        || (event.text.contains("Retrying (Retry(total=")
            && later(story, "pip-installed", read, number).next().is_some())
}

/// Inside of a session of tests that passed: what they print they provoked.
fn tested(story: &Story, read: usize, number: u64) -> bool {
    let Some(end) = later(story, "tests-passed", read, number).next() else { return false };
    // unittest tells no beginning; pytest does.
    let whole = end.captured("ran").is_some();
    let began = story.of("tests-began").any(|event| event.read == read && event.number < number);
    let failed = later(story, "tests-failed", read, number).next().is_some();
    (whole || began) && !failed
}

/// In a build that made its image, after which nothing failed: the step tolerated it.
fn built(story: &Story, read: usize, number: u64) -> bool {
    let Some(built) = later(story, "image-built", read, number).last() else { return false };
    let fails =
        |event: &Event| event.read == read && event.number > built.number && event.role != Role::Context;
    !story.events.iter().any(fails)
}

/// Said by a container that ended with 0. One that raised an exception or said something fatal may end so too, where a shell script goes on
/// after a failure: that is not overcome.
fn ended_well(story: &Story, event: &Event) -> bool {
    let Some(node) = &event.origin.node else { return false };
    let well = |end: &Event| end.captured("container") == Some(node.as_str());
    let grave = |other: &Event| {
        other.read == event.read
            && other.origin.node.as_ref() == Some(node)
            && other.role != Role::Context
            && other.signature.severity >= Severity::Fatal
    };
    later(story, "container-ended-well", event.read, event.number).any(well)
        && !story.events.iter().any(grave)
}
