//! Which of many events is the root cause.

mod candidates;
mod signals;

use std::collections::{BTreeMap, BTreeSet};

use super::analysis::Analysis;
use super::ranks::{self, Exit};
use super::timeline::{Event, EventId, Timeline};
use super::{Cause, Confidence, Sources, Whose};
use crate::log_prefix::Level;
use catalog::severity::Severity;
use catalog::signatures::{Component, Derived, MachineFault, Report, Role, Signature};

/// A cause with the events that support it.
#[derive(Debug, Clone)]
pub(super) struct RankedCause {
    /// The id; `xid-79` where the signature has many.
    id: String,
    signature: &'static Signature,
    message: String,
    meaning: Option<String>,
    confidence: Confidence,
    /// The events it is based on, the most relevant first.
    events: Vec<EventId>,
    /// Lines without an event: source, number and text.
    lines: Vec<(usize, u64, String)>,
    whose: Option<Whose>,
}

/// Evidence lines of one cause, at most.
const EVIDENCE: usize = 6;
/// Causes in a diagnosis, at most.
const CAUSES: usize = 4;

impl RankedCause {
    fn of(timeline: &Timeline, group: &[EventId], confidence: Confidence) -> RankedCause {
        let event = &timeline[group[0]];
        let (id, meaning) = match event.xid {
            Some(row) => (
                format!("xid-{}", row.number),
                Some(format!("Xid {}, {}: {} {}", row.number, row.name, row.meaning, row.action)),
            ),
            None => (event.id().to_owned(), None),
        };
        RankedCause {
            id,
            signature: event.signature,
            message: event.message.clone(),
            meaning,
            confidence,
            events: group.to_vec(),
            lines: Vec::new(),
            whose: Whose::of(event),
        }
    }

    /// Whether its line needs context lines.
    pub(super) fn needs_more(&self) -> bool {
        self.signature.context_lines
    }

    /// The cause for the report.
    pub(super) fn cause(&self, timeline: &Timeline, sources: &Sources<'_>) -> Cause {
        let own_lines = self.lines.iter().map(|(read, number, text)| sources.evidence(*read, *number, text));
        let mut lines: Vec<super::Evidence> = own_lines.collect();
        for event in self.events.iter().map(|id| &timeline[*id]) {
            if lines.len() == EVIDENCE {
                break;
            }
            let line = sources.evidence(event.read, event.number, &event.text);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        Cause {
            id: self.id.clone(),
            component: self.signature.component,
            role: self.signature.role,
            confidence: self.confidence,
            whose: self.whose.clone(),
            message: self.message.clone(),
            meaning: self.meaning.clone().unwrap_or_else(|| self.signature.meaning.to_owned()),
            source: self.signature.source,
            evidence: lines,
            context: Vec::new(),
            choices: &self.signature.causes,
            machine_evidence: Vec::new(),
        }
    }
}

/// The causes, the root cause first.
pub(super) fn causes(analysis: &Analysis<'_>) -> Vec<RankedCause> {
    let mut found = roots(analysis);
    found.extend(signals::signals(analysis));
    found.extend(yielding(analysis.timeline));
    found.extend(waits(analysis));
    found.sort_by_key(|one| std::cmp::Reverse(one.0));
    let mut causes: Vec<RankedCause> = Vec::new();
    for (_, one) in found {
        if !causes.iter().any(|known| known.id == one.id) {
            causes.push(one);
        }
    }
    if causes.is_empty() {
        causes = candidates::symptoms(analysis);
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

/// The weight of a cause; the greatest is the root cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    Stopped,
    /// One rank stood still or was elsewhere.
    Stalled,
    /// A peer is gone.
    Lost,
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

type Weighted = (Weight, RankedCause);

/// Roots that no other root explains, each with all its events in order, the earliest first.
fn roots(analysis: &Analysis<'_>) -> Vec<Weighted> {
    let (timeline, exits) = (analysis.timeline, analysis.exits.as_slice());
    let firm = timeline.ids_where(|event| event.role == Role::Root && !event.signature.yields);
    let (own, firm): (Vec<EventId>, Vec<EventId>) =
        firm.into_iter().partition(|id| timeline[*id].signature.derived == Some(Derived::Exception));
    let mut weighted = Vec::new();
    let mut groups = unexplained(timeline, firm);
    // What lies lower brings down what lies on it; of commands that failed one after the other the last is
    // what is left.
    groups.sort_by_key(|group| layer(timeline[group[0]].signature.component));
    let commands = |group: &Vec<EventId>| timeline[group[0]].text.contains("Error response from daemon");
    if groups.iter().all(commands) {
        groups.sort_by_key(|group| {
            let event = &timeline[group[0]];
            std::cmp::Reverse((event.read, event.number))
        });
    }
    let several = groups.len() > 1;
    for group in groups {
        let event = &timeline[group[0]];
        let weight = match event.prefix.level {
            // Where ranks ended badly, tracebacks are long: there a warning may still be what began it.
            Some(Level::Info | Level::Warning) if exits.is_empty() && went_on(timeline, &group) => continue,
            Some(Level::Info | Level::Warning) => Weight::Mild,
            _ if of_machine(event) => Weight::Machine,
            _ if survived(timeline, event) => Weight::Survived,
            _ => Weight::Root,
        };
        let confidence = match (weight, several) {
            (Weight::Mild | Weight::Survived, _) | (_, true) => Confidence::Likely,
            _ => Confidence::Certain,
        };
        weighted.push((weight, RankedCause::of(timeline, &group, confidence)));
    }
    weighted.extend(exception(timeline, own, exits, &weighted));
    weighted
}

/// So many lines without it after what a line calls a warning: it was no failure.
const QUIET_AFTER_WARNING: u64 = 200;

/// Whether the job went on after warnings: in every source a process of the job ended well after the
/// last of them, or much was logged.
fn went_on(timeline: &Timeline, group: &[EventId]) -> bool {
    let mut last: BTreeMap<usize, u64> = BTreeMap::new();
    for event in group.iter().map(|id| &timeline[*id]) {
        let number = last.entry(event.read).or_default();
        *number = event.number.max(*number);
    }
    !last.is_empty()
        && last.into_iter().all(|(read, number)| {
            let end = timeline.ends.get(read).copied().unwrap_or(0);
            let well = |event: &Event| event.read == read && event.number > number;
            end.saturating_sub(number) > QUIET_AFTER_WARNING
                || timeline.reports(Report::ProcessSuccess).any(well)
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
fn unexplained(timeline: &Timeline, mut events: Vec<EventId>) -> Vec<Vec<EventId>> {
    timeline.sort_by_time(&mut events);
    let mut groups: Vec<(&'static str, Vec<EventId>)> = Vec::new();
    for id in events {
        let signature = timeline[id].id();
        match groups.iter_mut().find(|(known, _)| *known == signature) {
            Some((_, group)) => group.push(id),
            None => groups.push((signature, vec![id])),
        }
    }
    let follow: BTreeSet<&str> =
        groups.iter().flat_map(|(id, _)| timeline.signatures().consequences(id)).collect();
    groups.retain(|(id, _)| !follow.contains(id));
    let mut groups: Vec<Vec<EventId>> = groups.into_iter().map(|(_, group)| group).collect();
    groups.iter_mut().for_each(|group| worst_first(timeline, group));
    groups
}

/// Of the driver's faults the first comes first, but for those that follow from another: a process that is
/// ended (43, 45), memory that is set aside (63), the action that is asked for (154), and what is a notice
/// only.
fn worst_first(timeline: &Timeline, group: &mut [EventId]) {
    let follows = |id: &EventId| {
        let Some(row) = timeline[*id].xid else { return 0 };
        match (row.number, row.severity) {
            (43 | 45 | 154, _) => 2,
            (_, Severity::Info) => 1,
            _ => 0,
        }
    };
    group.sort_by_key(follows);
}

/// Whether an event is a fault of the machine itself, which nothing in a program brings about.
fn of_machine(event: &Event) -> bool {
    match event.signature.machine_fault {
        Some(MachineFault::ByXid) => event.xid.is_some_and(|row| row.severity >= Severity::Error),
        Some(MachineFault::Always) => true,
        None => event.signature.component == Component::Kernel && event.signature.severity >= Severity::Fatal,
    }
}

/// So many lines without any failure after a root, and a failure later: it was not what ended the job.
const QUIET: u64 = 400;

fn survived(timeline: &Timeline, event: &Event) -> bool {
    let later = timeline.events.iter().filter(|other| {
        other.read == event.read && other.role != Role::Context && other.number > event.number
    });
    later.map(|other| other.number).min().is_some_and(|next| next - event.number > QUIET)
        && timeline.events.iter().any(|other| {
            other.read == event.read
                && other.role == Role::Root
                && other.number > event.number + QUIET
                && other.id() != event.id()
        })
}

/// The exception of the rank that failed first.
fn exception(
    timeline: &Timeline,
    mut own: Vec<EventId>,
    exits: &[Exit],
    roots: &[Weighted],
) -> Option<Weighted> {
    timeline.sort_by_time(&mut own);
    // Ranks that were told to stop did not fail of their own.
    let first = exits.iter().find(|exit| exit.first && exit.code != -15);
    let first_rank = first.and_then(|exit| exit.rank);
    let of_first = own.iter().find(|id| first_rank.is_some() && timeline[**id].prefix.rank == first_rank);
    let id = *of_first.or(own.first())?;
    let event = &timeline[id];
    let alike = |other: &&EventId| timeline[**other].captured("exception") == event.captured("exception");
    let same: Vec<EventId> = own.iter().filter(alike).copied().collect();
    let sure = of_first.is_some() || same.len() == own.len();
    let elsewhere = |one: &Weighted| {
        let rank = timeline[one.1.events[0]].prefix.rank;
        rank.is_some() && rank != event.prefix.rank && one.0 < Weight::Machine
    };
    let weight = match of_first.is_some() && !roots.is_empty() && roots.iter().all(elsewhere) {
        true => Weight::First,
        false => Weight::Program,
    };
    let mut group = vec![id];
    group.extend(same.iter().filter(|other| **other != id));
    // Who tells the first failure is evidence too.
    group.extend(exits.iter().filter(|exit| exit.first && of_first.is_some()).map(|exit| exit.event));
    let mut chosen =
        RankedCause::of(timeline, &group, if sure { Confidence::Certain } else { Confidence::Likely });
    // One exception and one process that ended with 1: it was that one's.
    if chosen.whose.is_none() && same.len() == own.len() && first.is_some_and(|exit| exit.code == 1) {
        chosen.whose = first_rank.map(|rank| Whose::ranks(&[rank]));
    }
    Some((weight, chosen))
}

/// Roots that are one only where nothing else failed.
fn yielding(timeline: &Timeline) -> Vec<Weighted> {
    let events = timeline.ids_where(|event| event.role == Role::Root && event.signature.yields);
    let groups = unexplained(timeline, events);
    let several = groups.len() > 1;
    groups
        .into_iter()
        .map(|group| {
            let first = &timeline[group[0]];
            let stopped = first.signature.reports(Report::StopRequest);
            let weight = if stopped { Weight::Stopped } else { Weight::Lost };
            let followed = comes_after(timeline, first);
            let confidence = if several || followed { Confidence::Candidate } else { Confidence::Likely };
            (weight, RankedCause::of(timeline, &group, confidence))
        })
        .collect()
}

/// Whether a line came before that makes it a candidate: a launcher that is stopped after a task failed is
/// stopped because of that.
fn comes_after(timeline: &Timeline, event: &Event) -> bool {
    let before = |other: &Event| other.read == event.read && other.number < event.number;
    event.signature.candidate_after.iter().any(|id| timeline.of(id).any(before))
}

/// The rank that the others waited for, where the log tells it.
fn waits(analysis: &Analysis<'_>) -> Option<Weighted> {
    let (timeline, waited) = (analysis.timeline, analysis.waited.as_slice());
    let derived = |kind: Derived, message: String, events: Vec<EventId>, whose: Whose| {
        let signature = timeline.signatures().derived(kind)?;
        let chosen = RankedCause {
            id: signature.id.to_owned(),
            signature,
            message,
            meaning: None,
            confidence: Confidence::Likely,
            events,
            lines: Vec::new(),
            whose: Some(whose),
        };
        Some((Weight::Stalled, chosen))
    };
    if let Some((behind, message, events)) = ranks::recorded(timeline) {
        let message = format!("The ranks are in different collectives: {message}.");
        return derived(Derived::Desync, message, events, Whose::ranks(&behind));
    }
    if let Some((rank, message, events)) = ranks::apart(waited).or_else(|| ranks::elsewhere(timeline, waited))
    {
        let message = format!("The ranks are in different collectives: {message}.");
        return derived(Derived::Desync, message, events, Whose::ranks(&[rank]));
    }
    let silent = &analysis.silent;
    // One or a few that say nothing while most others wait are those waited for; of half a log nothing can be
    // said.
    if silent.is_empty() || waited.len() < 2 || silent.len() * 2 > waited.len() + 1 {
        return None;
    }
    let whose = Whose::ranks(silent);
    let message = format!(
        "{} logged no failure while {} others waited until the timeout.",
        whose.at_start(),
        waited.len()
    );
    let events = waited.iter().map(|one| one.event).collect();
    derived(Derived::RankStalled, message, events, whose)
}
