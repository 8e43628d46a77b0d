//! Which of many events is the root cause.

mod candidates;
mod signals;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::ranks::{self, Exit};
use super::story::{Event, Story};
use super::{Cause, Confidence, evidence};
use crate::origin::{Level, Time};
use catalog::signatures::{self, Component, Derived, MachineFault, Report, Role, Signature};
use catalog::xids;

/// A cause, before it is told.
#[derive(Debug, Clone)]
pub struct Chosen {
    /// Its id where that is more than the signature's.
    id: String,
    signature: &'static Signature,
    /// In a sentence.
    says: String,
    meaning: Option<String>,
    confidence: Confidence,
    /// Events that it rests on, the most telling first.
    events: Vec<usize>,
    /// Lines that are no event: source, number and text.
    lines: Vec<(usize, u64, String)>,
    whose: Option<String>,
}

/// Evidence of one cause is so many lines at most.
const EVIDENCE: usize = 6;
/// So many causes are told.
const CAUSES: usize = 4;

impl Chosen {
    fn of(story: &Story, group: &[usize], confidence: Confidence) -> Chosen {
        let event = &story.events[group[0]];
        let (id, meaning) = match xid(event).and_then(xids::xid) {
            Some(row) => (
                format!("xid-{}", row.number),
                Some(format!("Xid {}, {}: {} {}", row.number, row.name, row.meaning, row.action)),
            ),
            None => (event.id().to_owned(), None),
        };
        Chosen {
            id,
            signature: event.signature,
            says: event.says.clone(),
            meaning,
            confidence,
            events: group.to_vec(),
            lines: Vec::new(),
            whose: ranks::who(event),
        }
    }

    /// Whether the line that it rests on tells little without those beside it.
    pub fn needs_more(&self) -> bool {
        self.signature.around
    }

    /// As it is told.
    pub fn cause(&self, story: &Story, names: &[&str]) -> Cause {
        let told = self.lines.iter().map(|(read, number, text)| evidence(names, *read, *number, text));
        let mut lines: Vec<super::Evidence> = told.collect();
        for event in self.events.iter().map(|place| &story.events[*place]) {
            let line = evidence(names, event.read, event.number, &event.text);
            if lines.len() < EVIDENCE && !lines.contains(&line) {
                lines.push(line);
            }
        }
        Cause {
            id: self.id.clone(),
            component: self.signature.component,
            role: self.signature.role,
            confidence: self.confidence,
            whose: self.whose.clone(),
            says: self.says.clone(),
            meaning: self.meaning.clone().unwrap_or_else(|| self.signature.meaning.to_owned()),
            evidence: lines,
            around: Vec::new(),
            choices: self.signature.causes,
            looked: Vec::new(),
        }
    }
}

/// Orders events by time where every one of them has a wall clock's, else by source and line.
pub fn by_time(events: &mut [&Event]) {
    let wall = |event: &Event| match event.origin.time {
        Some(Time::Wall(seconds)) => Some(seconds),
        _ => None,
    };
    let timed = events.iter().all(|event| wall(event).is_some());
    events.sort_by(|one, other| {
        let lines = (one.read, one.number).cmp(&(other.read, other.number));
        match timed {
            true => wall(one).partial_cmp(&wall(other)).unwrap_or(std::cmp::Ordering::Equal).then(lines),
            false => lines,
        }
    });
}

/// The causes, the root cause first.
pub fn causes(story: &Story) -> Vec<Chosen> {
    let exits = ranks::exits(story);
    let mut found = roots(story, &exits);
    found.extend(signals::signals(story, &exits));
    found.extend(yielding(story));
    found.extend(waits(story));
    found.sort_by_key(|one| std::cmp::Reverse(one.0));
    let mut causes: Vec<Chosen> = Vec::new();
    for (_, one) in found {
        if !causes.iter().any(|known| known.id == one.id) {
            causes.push(one);
        }
    }
    if causes.is_empty() {
        causes = candidates::symptoms(story);
    }
    // What comes after a cause that is sure can only be less so.
    let first = causes.first().map(|cause| cause.confidence);
    causes.iter_mut().skip(1).for_each(|cause| {
        let least =
            if first == Some(Confidence::Certain) { Confidence::Likely } else { Confidence::Candidate };
        cause.confidence = cause.confidence.max(least);
    });
    causes.truncate(CAUSES);
    causes
}

/// How much speaks for a cause; the greatest is the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// The launcher was stopped.
    Stopped,
    /// One rank stood still or was elsewhere.
    Stalled,
    /// A peer is gone.
    Lost,
    /// A process was ended.
    Signal,
    /// The program raised an exception of its own.
    Program,
    /// A root that its own line calls a warning.
    Mild,
    /// A root that was survived: much happened after it.
    Survived,
    /// A root.
    Root,
    /// The program's exception on the rank that failed first, while roots are on others.
    First,
    /// The machine's own fault.
    Machine,
}

type Weighed = (Weight, Chosen);

/// Roots that no other root explains, each with all its events in order, the earliest first.
fn roots(story: &Story, exits: &[Exit]) -> Vec<Weighed> {
    let events: Vec<&Event> = story.events.iter().filter(|event| event.role == Role::Root).collect();
    let firm = |event: &&&Event| !event.signature.yields;
    let (own, firm): (Vec<&Event>, Vec<&Event>) = events
        .iter()
        .filter(firm)
        .copied()
        .partition(|event| event.signature.derived == Some(Derived::Exception));
    let mut weighed = Vec::new();
    let mut groups = unexplained(story, firm);
    // What lies lower brings down what lies on it; of commands that failed one after the other the last is what is left.
    groups.sort_by_key(|group| layer(story.events[group[0]].signature.component));
    let commands = |group: &Vec<usize>| story.events[group[0]].text.contains("Error response from daemon");
    if groups.iter().all(commands) {
        groups.sort_by_key(|group| {
            let event = &story.events[group[0]];
            std::cmp::Reverse((event.read, event.number))
        });
    }
    let several = groups.len() > 1;
    for group in groups {
        let event = &story.events[group[0]];
        let weight = match event.origin.level {
            // Where ranks ended badly, tracebacks are long: there a warning may still be what began it.
            Some(Level::Info | Level::Warning) if exits.is_empty() && went_on(story, &group) => continue,
            Some(Level::Info | Level::Warning) => Weight::Mild,
            _ if of_machine(event) => Weight::Machine,
            _ if survived(story, event) => Weight::Survived,
            _ => Weight::Root,
        };
        let confidence = match (weight, several) {
            (Weight::Mild | Weight::Survived, _) | (_, true) => Confidence::Likely,
            _ => Confidence::Certain,
        };
        weighed.push((weight, Chosen::of(story, &group, confidence)));
    }
    weighed.extend(exception(story, own, exits, &weighed));
    weighed
}

/// So many lines without it after what a line calls a warning: it was no failure.
const QUIET_AFTER_WARNING: u64 = 200;

/// Whether what lines call warnings was overcome: in every source a process of the job ended well after the last of them, or much was logged.
fn went_on(story: &Story, group: &[usize]) -> bool {
    let mut last: BTreeMap<usize, u64> = BTreeMap::new();
    for event in group.iter().map(|place| &story.events[*place]) {
        let number = last.entry(event.read).or_default();
        *number = event.number.max(*number);
    }
    !last.is_empty()
        && last.into_iter().all(|(read, number)| {
            let end = story.ends.get(read).copied().unwrap_or(0);
            let well = |event: &Event| event.read == read && event.number > number;
            end.saturating_sub(number) > QUIET_AFTER_WARNING
                || story.reports(Report::ProcessSuccess).any(well)
        })
}

/// How deep a component lies.
fn layer(component: Component) -> u8 {
    match component {
        Component::Kernel | Component::Driver | Component::Memory | Component::Disk => 0,
        Component::Network | Component::Ssh | Component::Swarm | Component::Toolkit | Component::Docker => 1,
        Component::Cuda => 2,
        Component::Nccl | Component::Python => 3,
        Component::Torch => 4,
        Component::Deepspeed => 5,
    }
}

/// Groups of events of one kind, in order of their first, without those that another of them leads to.
fn unexplained(story: &Story, mut events: Vec<&Event>) -> Vec<Vec<usize>> {
    by_time(&mut events);
    let places: HashMap<*const Event, usize> =
        story.events.iter().enumerate().map(|(place, event)| (std::ptr::from_ref(event), place)).collect();
    let mut groups: Vec<(&'static str, Vec<usize>)> = Vec::new();
    for event in events {
        let Some(place) = places.get(&std::ptr::from_ref(event)) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == event.id()) {
            Some((_, group)) => group.push(*place),
            None => groups.push((event.id(), vec![*place])),
        }
    }
    let follow: BTreeSet<&str> = groups.iter().flat_map(|(id, _)| leads(id)).collect();
    groups.retain(|(id, _)| !follow.contains(id));
    let mut groups: Vec<Vec<usize>> = groups.into_iter().map(|(_, group)| group).collect();
    groups.iter_mut().for_each(|group| worst_first(story, group));
    groups
}

/// Everything that follows from a signature, in one step or several.
fn leads(id: &str) -> BTreeSet<&'static str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&'static str> =
        signatures::signature(id).map_or(Vec::new(), |one| one.leads_to.to_vec());
    while let Some(next) = open.pop() {
        if next != id && reached.insert(next) {
            open.extend(signatures::signature(next).into_iter().flat_map(|one| one.leads_to.iter().copied()));
        }
    }
    reached
}

/// The number of the fault that a line of the driver tells, or of the one before that it names as its cause.
fn xid(event: &Event) -> Option<u32> {
    event.captured("previous").or_else(|| event.captured("xid"))?.parse().ok()
}

/// Of the driver's faults the first comes first, but for those that follow from another: a process that is ended (43, 45), memory that
/// is set aside (63), the action that is asked for (154), and what is a notice only.
fn worst_first(story: &Story, group: &mut [usize]) {
    let follows = |place: &usize| {
        let event = &story.events[*place];
        let Some(number) = xid(event) else { return 0 };
        match (number, xids::xid(number).map(|row| row.severity)) {
            (43 | 45 | 154, _) => 2,
            (_, Some(xids::Severity::Info)) => 1,
            _ => 0,
        }
    };
    group.sort_by_key(follows);
}

/// Whether an event is a fault of the machine itself, which nothing in a program brings about.
fn of_machine(event: &Event) -> bool {
    match event.signature.machine_fault {
        Some(MachineFault::ByXid) => {
            xid(event).and_then(xids::xid).is_some_and(|row| row.severity >= xids::Severity::Error)
        }
        Some(MachineFault::Always) => true,
        None => {
            event.signature.component == Component::Kernel
                && event.signature.severity >= signatures::Severity::Fatal
        }
    }
}

/// So many lines without any failure after a root, and a failure later: it was not what ended the job.
const QUIET: u64 = 400;

fn survived(story: &Story, event: &Event) -> bool {
    let later = story.events.iter().filter(|other| {
        other.read == event.read && other.role != Role::Context && other.number > event.number
    });
    later.map(|other| other.number).min().is_some_and(|next| next - event.number > QUIET)
        && story.events.iter().any(|other| {
            other.read == event.read
                && other.role == Role::Root
                && other.number > event.number + QUIET
                && other.id() != event.id()
        })
}

/// The exception of the rank that failed first.
fn exception(story: &Story, mut own: Vec<&Event>, exits: &[Exit], roots: &[Weighed]) -> Option<Weighed> {
    by_time(&mut own);
    // Ranks that were told to stop did not fail of their own.
    let first = exits.iter().find(|exit| exit.first && exit.code != -15);
    let first_rank = first.and_then(|exit| exit.rank);
    let of_first = own.iter().find(|event| first_rank.is_some() && event.origin.rank == first_rank);
    let event = *of_first.or(own.first())?;
    let alike = |other: &&&Event| other.captured("exception") == event.captured("exception");
    let same: Vec<&Event> = own.iter().filter(alike).copied().collect();
    let sure = of_first.is_some() || same.len() == own.len();
    let elsewhere = |one: &Weighed| {
        let rank = story.events[one.1.events[0]].origin.rank;
        rank.is_some() && rank != event.origin.rank && one.0 < Weight::Machine
    };
    let weight = match of_first.is_some() && !roots.is_empty() && roots.iter().all(elsewhere) {
        true => Weight::First,
        false => Weight::Program,
    };
    let mut group: Vec<usize> = vec![place(story, event)];
    group.extend(same.iter().filter(|other| !std::ptr::eq(**other, event)).map(|other| place(story, other)));
    // Who tells the first failure is evidence too.
    group.extend(exits.iter().filter(|exit| exit.first && of_first.is_some()).map(|exit| exit.event));
    let mut chosen = Chosen::of(story, &group, if sure { Confidence::Certain } else { Confidence::Likely });
    // One exception and one process that ended with 1: it was that one's.
    if chosen.whose.is_none() && same.len() == own.len() && first.is_some_and(|exit| exit.code == 1) {
        chosen.whose = first_rank.map(|rank| format!("rank {rank}"));
    }
    Some((weight, chosen))
}

fn place(story: &Story, event: &Event) -> usize {
    story.events.iter().position(|one| std::ptr::eq(one, event)).unwrap_or(0)
}

/// Roots that are one only where nothing else failed.
fn yielding(story: &Story) -> Vec<Weighed> {
    let events = story.events.iter().filter(|event| event.role == Role::Root && event.signature.yields);
    let groups = unexplained(story, events.collect());
    let several = groups.len() > 1;
    groups
        .into_iter()
        .map(|group| {
            let first = &story.events[group[0]];
            let stopped = first.signature.reports(Report::StopRequest);
            let weight = if stopped { Weight::Stopped } else { Weight::Lost };
            let followed = comes_after(story, first);
            let confidence = if several || followed { Confidence::Candidate } else { Confidence::Likely };
            (weight, Chosen::of(story, &group, confidence))
        })
        .collect()
}

/// Whether what makes it a candidate came before it: a launcher that is stopped after a task failed is stopped because of that.
fn comes_after(story: &Story, event: &Event) -> bool {
    let before = |other: &Event| other.read == event.read && other.number < event.number;
    event.signature.candidate_after.iter().any(|id| story.of(id).any(before))
}

/// The rank that the others waited for, where the log tells it.
fn waits(story: &Story) -> Option<Weighed> {
    let waited = ranks::waited(story);
    let derived = |kind: Derived, says: String, events: Vec<usize>, whose: String| {
        let signature = signatures::derived(kind)?;
        let chosen = Chosen {
            id: signature.id.to_owned(),
            signature,
            says,
            meaning: None,
            confidence: Confidence::Likely,
            events,
            lines: Vec::new(),
            whose: Some(whose),
        };
        Some((Weight::Stalled, chosen))
    };
    if let Some((behind, says, events)) = ranks::recorded(story) {
        let names = behind.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let says = format!("The ranks are not in the same collective: {says}.");
        return derived(Derived::Desync, says, events, format!("rank {names}"));
    }
    if let Some((rank, says, events)) = ranks::apart(&waited).or_else(|| ranks::elsewhere(story, &waited)) {
        return derived(
            Derived::Desync,
            format!("The ranks are not in the same collective: {says}."),
            events,
            format!("rank {rank}"),
        );
    }
    let silent = ranks::silent(story, &waited);
    // One or a few that say nothing while most others wait are those waited for; of half a log nothing can be said.
    if silent.is_empty() || waited.len() < 2 || silent.len() * 2 > waited.len() + 1 {
        return None;
    }
    let names = silent.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let ranks = if silent.len() == 1 { "Rank" } else { "Ranks" };
    let says = format!(
        "{ranks} {names} did not come, and told of no failure, while {} others waited until time was up.",
        waited.len()
    );
    let events = waited.iter().map(|one| one.event).collect();
    derived(Derived::RankStalled, says, events, format!("{} {names}", ranks.to_lowercase()))
}
