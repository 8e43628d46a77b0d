//! What went wrong and was overcome: tries that were followed by others, errors that tests provoke, steps that a build tolerated, programs
//! that ended well after all. It is told where nothing else failed, and is no cause.

use std::collections::{HashMap, HashSet};

use super::ranks;
use super::story::{Event, Story, Unknown};
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

/// Tests that did not pass.
const FAILED: &str = "tests-failed";

/// curl says up to so many lines after an error that it will try again.
const SOON: u64 = 6;

/// PyTorch finds no address of a machine's name.
const NAME_UNKNOWN: &str = "torch-store-name-unknown";
/// So many attempts at least.
const ATTEMPTS: usize = 3;

/// torchrun tells within fewer lines that it gives up.
const RESTARTED: u64 = 120;

/// A connection that failed and after which so many lines say nothing of a failure was made another time, or was not needed.
const QUIET: u64 = 100;

/// What tells that something was overcome, and what speaks against it, found once for all events.
struct Marks<'s> {
    story: &'s Story,
    /// Events of [`WELL`] and of tests that failed, by id.
    marks: HashMap<&'static str, Vec<&'s Event>>,
    /// What torchrun's agent says, by source.
    agents: HashMap<usize, Vec<&'s Event>>,
    /// By source and id, the last line of what failed.
    last: HashMap<usize, HashMap<&'static str, u64>>,
    /// By source, the last line that surely tells of a failure and that nothing explains.
    unknown: HashMap<usize, u64>,
    /// Sources in which a process is said to have ended badly.
    exits: HashSet<usize>,
}

/// Makes context of what was overcome.
pub fn overcome(story: &mut Story) {
    // Attempts first: what they ended with is no end of the job.
    for attempts in [true, false] {
        let marks = Marks::of(story);
        let over = |event: &Event| if attempts { marks.restarted(event) } else { marks.is_over(event) };
        let of = |event: &Event| event.role != Role::Context && over(event);
        let over: Vec<bool> = story.events.iter().map(of).collect();
        for (event, over) in story.events.iter_mut().zip(over) {
            if over {
                event.role = Role::Context;
            }
        }
    }
    let marks = Marks::of(story);
    let quiet = |line: &Unknown| marks.tested(line.read, line.number) || marks.built(line.read, line.number);
    let quiet: Vec<bool> = story.unknown.iter().map(quiet).collect();
    for (line, quiet) in story.unknown.iter_mut().zip(quiet) {
        line.sure &= !quiet;
    }
}

impl<'s> Marks<'s> {
    fn of(story: &'s Story) -> Marks<'s> {
        let mut marks: HashMap<&'static str, Vec<&Event>> = HashMap::new();
        let mut agents: HashMap<usize, Vec<&Event>> = HashMap::new();
        let mut last: HashMap<usize, HashMap<&'static str, u64>> = HashMap::new();
        for event in &story.events {
            if WELL.contains(&event.id()) || event.id() == FAILED {
                marks.entry(event.id()).or_default().push(event);
            }
            if matches!(event.id(), "torch-elastic-childfailed" | "torch-elastic-root-cause") {
                agents.entry(event.read).or_default().push(event);
            }
            if event.role != Role::Context {
                let last = last.entry(event.read).or_default().entry(event.id()).or_default();
                *last = event.number.max(*last);
            }
        }
        let mut unknown: HashMap<usize, u64> = HashMap::new();
        for line in story.unknown.iter().filter(|line| line.sure) {
            let last = unknown.entry(line.read).or_default();
            *last = line.number.max(*last);
        }
        let exits = ranks::exits(story).iter().map(|exit| story.events[exit.event].read).collect();
        Marks { story, marks, agents, last, unknown, exits }
    }

    fn is_over(&self, event: &Event) -> bool {
        self.nameless(event)
            || self.tried_again(event)
            || event.text.contains("cleanup warnings")
            || self.tested(event.read, event.number)
            || self.built(event.read, event.number)
            || self.ended_well(event)
            || self.went_on_without(event)
    }

    /// Marks of a kind that stand later in the same source.
    fn later(&self, id: &str, read: usize, number: u64) -> impl Iterator<Item = &'s Event> {
        let marks = self.marks.get(id).into_iter().flatten().copied();
        marks.filter(move |mark| mark.read == read && mark.number > number)
    }

    /// The number of lines of a source.
    fn end(&self, read: usize) -> u64 {
        self.story.ends.get(read).copied().unwrap_or(0)
    }

    /// PyTorch says at every attempt that a name cannot be looked up, once also where it goes on by IPv4: only where all attempts said so, and
    /// time ran out, the name is the cause.
    fn nameless(&self, event: &Event) -> bool {
        if event.id() != NAME_UNKNOWN {
            return false;
        }
        let of = |id| {
            let host = event.captured("host");
            let same = move |other: &&Event| other.read == event.read && other.captured("host") == host;
            self.story.of(id).filter(same).count()
        };
        of(NAME_UNKNOWN) < ATTEMPTS
            || of("torch-store-connect-timeout") == 0
            || of("torch-store-connect-refused") > 0
    }

    /// What ended an attempt of torchrun after which it started the ranks anew: it never said that it gave up, and they went on.
    fn restarted(&self, event: &Event) -> bool {
        let told = self.agents.get(&event.read).into_iter().flatten();
        let told: Vec<&&Event> = told.filter(|one| one.number >= event.number).collect();
        let Some(last) = told.iter().map(|one| one.number).max() else { return false };
        let attempt =
            |one: &&&Event| one.text.contains("failed (exitcode: ") || one.text.contains(" closing signal ");
        self.end(event.read).saturating_sub(last) > RESTARTED && told.iter().all(attempt)
    }

    /// A fault of the network after which the log went on and no process is said to have ended.
    fn went_on_without(&self, event: &Event) -> bool {
        if !matches!(event.signature.component, Component::Network | Component::Ssh)
            || self.exits.contains(&event.read)
        {
            return false;
        }
        let Some(last) = self.last.get(&event.read) else { return false };
        let own = last.get(event.id()).copied().unwrap_or(event.number);
        self.end(event.read).saturating_sub(own) > QUIET
            && self.unknown.get(&event.read).is_none_or(|number| *number <= event.number)
            && last.iter().all(|(id, number)| *id == event.id() || *number <= event.number)
    }

    /// A try of curl after which it says that it will try again, or of pip, which installed what was asked for in the end.
    fn tried_again(&self, event: &Event) -> bool {
        let (read, number) = (event.read, event.number);
        let curl = event.text.contains("curl: (") || event.text.contains("returned error: ");
        let again = |after: &Event| after.number <= number + SOON;
        (curl && self.later("curl-will-retry", read, number).any(again))
            || (event.text.contains("Retrying (Retry(total=")
                && self.later("pip-installed", read, number).next().is_some())
    }

    /// Inside of a session of tests that passed: what they print they provoked.
    fn tested(&self, read: usize, number: u64) -> bool {
        let Some(end) = self.later("tests-passed", read, number).next() else { return false };
        // unittest and ctest tell no beginning; pytest does.
        let whole = end.captured("ran").or_else(|| end.captured("ctest")).is_some();
        let began = |mark: &&Event| mark.read == read && mark.number < number;
        let began = self.marks.get("tests-began").is_some_and(|marks| marks.iter().any(began));
        (whole || began) && self.later(FAILED, read, number).next().is_none()
    }

    /// In a build that made its image, after which nothing failed: the step tolerated it.
    fn built(&self, read: usize, number: u64) -> bool {
        let Some(built) = self.later("image-built", read, number).last() else { return false };
        let last = self.last.get(&read).and_then(|last| last.values().max());
        last.is_none_or(|last| *last < built.number)
    }

    /// Said by a container that ended with 0. One that raised an exception or said something fatal may end so too, where a shell script goes
    /// on after a failure: that is not overcome.
    fn ended_well(&self, event: &Event) -> bool {
        let Some(node) = &event.origin.node else { return false };
        let well = |end: &Event| end.captured("container") == Some(node.as_str());
        let grave = |other: &Event| {
            other.read == event.read
                && other.origin.node.as_ref() == Some(node)
                && other.role != Role::Context
                && other.signature.severity >= Severity::Fatal
        };
        self.later("container-ended-well", event.read, event.number).any(well)
            && !self.story.events.iter().any(grave)
    }
}
