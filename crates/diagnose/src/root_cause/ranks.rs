//! How each rank ended, which collective it waited in, and whether it logged a failure.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::timeline::{EventId, Timeline};
use crate::expression::constant;
use crate::read::recorder::{Recorded, RecordedState};
use crate::torchrun;
use catalog::signatures::{Report, Role, Signal, Signature, Signatures};

/// The end of a rank as a launcher reports it.
#[derive(Debug, Clone, PartialEq)]
pub struct Exit {
    /// The rank, or the local rank where the line has only that.
    pub rank: Option<u32>,
    /// The exit code; negative: the number of a signal.
    pub code: i32,
    /// The event that reports it.
    pub event: EventId,
    /// Whether the launcher calls it the first failure.
    pub first: bool,
}

/// The collective that a rank waited in at its timeout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waited {
    pub rank: u32,
    /// The collective's number in its group.
    pub sequence: Option<u64>,
    pub operation: String,
    /// How many elements.
    pub elements: Option<u64>,
    pub event: EventId,
}

/// A number of ranks above this is believed of no log.
const LARGEST_JOB: u32 = 4096;

/// Lines that an entry of torchrun's failure table spans at most.
const TABLE: u64 = 200;

/// How ranks ended, from elastic's table, its lines and those of other launchers.
pub fn exits(timeline: &Timeline) -> Vec<Exit> {
    let mut exits: Vec<Exit> = Vec::new();
    let mut rank: Option<(usize, u64, u32)> = None;
    let mut first: Option<(usize, u64)> = None;
    for (id, event) in timeline.ids() {
        match event.signature {
            signature if signature.reports(Report::FailureTable) => {
                if torchrun::names_first_failure(&event.text) {
                    first = Some((event.read, event.number));
                }
                if let Some(number) = event.captured("rank").and_then(|rank| rank.parse().ok()) {
                    rank = Some((event.read, event.number, number));
                }
                let Some(code) = event.captured("code").and_then(|code| code.parse().ok()) else { continue };
                // Lines of other ranks may stand between those of the table: each is used once.
                let near = |at: (usize, u64)| at.0 == event.read && event.number - at.1 <= TABLE;
                exits.push(Exit {
                    rank: rank
                        .take()
                        .filter(|(read, number, _)| near((*read, *number)))
                        .map(|(_, _, rank)| rank),
                    code,
                    event: id,
                    first: first.take().is_some_and(near),
                });
            }
            // An attempt after which the ranks were started again is no end.
            signature if signature.reports(Report::RankExit) && event.role != Role::Context => {
                if let Some(code) = event.captured("code").and_then(|code| code.parse().ok()) {
                    let rank = event.captured("rank").and_then(|rank| rank.parse().ok());
                    exits.push(Exit { rank, code, event: id, first: false });
                }
            }
            _ => {}
        }
    }
    exits
}

/// The signal behind an exit code, and the signature of such an end.
pub fn signal(signatures: &'static Signatures, code: i32) -> Option<(&'static Signature, Signal)> {
    let signature = signatures.of_exit_code(code)?;
    Some((signature, signature.signal?))
}

/// What each rank waited in, the first of each rank.
pub fn waited(timeline: &Timeline) -> Vec<Waited> {
    static ELEMENTS: LazyLock<Regex> = LazyLock::new(|| constant(r"NumelIn=(\d+)|TensorShape=\[(\d+)"));
    let mut by_rank: BTreeMap<u32, Waited> = BTreeMap::new();
    for (id, event) in timeline.ids() {
        let Some(rank) = event.prefix.rank else { continue };
        if !event.signature.reports(Report::CollectiveTimeout) {
            continue;
        }
        let found = ELEMENTS.captures(&event.text);
        let elements = found.and_then(|found| found.get(1).or(found.get(2))?.as_str().parse().ok());
        let new = Waited {
            rank,
            sequence: event.captured("sequence").and_then(|text| text.parse().ok()),
            operation: event.captured("operation").unwrap_or("").to_owned(),
            elements,
            event: id,
        };
        let old = by_rank.entry(rank).or_insert_with(|| new.clone());
        // The first collective that did not end is the one that counts.
        if new.sequence.is_some() && (old.sequence.is_none() || new.sequence < old.sequence) {
            *old = new;
        }
    }
    by_rank.into_values().collect()
}

/// Ranks of the job that logged no failure while the others waited: the ones waited for.
pub fn silent(timeline: &Timeline, waited: &[Waited]) -> Vec<u32> {
    let mut all: Vec<u32> = timeline.ranks.clone();
    // The number of ranks is believed where it fits the ranks that were seen.
    if let Some(world) =
        timeline.world.filter(|world| all.iter().all(|rank| rank < world) && *world <= LARGEST_JOB)
    {
        all = (0..world).collect();
    }
    let speaks = |rank: u32| {
        waited.iter().any(|one| one.rank == rank)
            || timeline.events.iter().any(|event| {
                event.prefix.rank == Some(rank) && event.role != Role::Context
            })
            // Where its own lines are missing, a launcher's table may tell what it raised.
            || timeline.raised.iter().any(|raised| raised.prefix.rank == Some(rank))
    };
    all.retain(|rank| !speaks(*rank));
    all
}

/// Where a rank is in a process group, by its flight recorder dump.
struct OfRank<'t> {
    rank: u32,
    id: EventId,
    recorded: &'t Recorded,
}

/// The ranks that flight recorder dumps show behind the others of their group, or that wrote no dump while
/// others wait: the ranks, a sentence, and the events that it is based on.
pub fn recorded(timeline: &Timeline) -> Option<(Vec<u32>, String, Vec<EventId>)> {
    let mut groups: BTreeMap<&str, Vec<OfRank<'_>>> = BTreeMap::new();
    for (id, event) in timeline.ids() {
        if let (Some(rank), Some(recorded)) = (event.prefix.rank, &event.recorded) {
            groups.entry(&recorded.group).or_default().push(OfRank { rank, id, recorded });
        }
    }
    groups.values().find_map(|ranks| lagging(ranks))
}

fn lagging(ranks: &[OfRank<'_>]) -> Option<(Vec<u32>, String, Vec<EventId>)> {
    let last = ranks.iter().filter(|one| one.recorded.waits()).max_by_key(|one| one.recorded.sequence)?;
    let (last_id, furthest) = (last.id, last.recorded);
    let sequence = furthest.sequence;
    let name = furthest.operation.as_deref().unwrap_or("a collective");
    let behind: Vec<&OfRank<'_>> = ranks.iter().filter(|one| one.recorded.is_behind(sequence)).collect();
    if let Some(slowest) = behind.first() {
        let list: Vec<u32> = behind.iter().map(|one| one.rank).collect();
        let message = format!(
            "flight recorder: rank {} last called number {} and {} others {} number {sequence} ({name})",
            numbers(&list),
            slowest.recorded.enqueued,
            ranks.len() - behind.len(),
            if furthest.state == RecordedState::Retired { "called" } else { "wait in" }
        );
        return Some((list, message, behind.iter().map(|one| one.id).chain([last_id]).collect()));
    }
    let differs = |one: &&OfRank<'_>| {
        one.recorded.sequence == sequence
            && one.recorded.waits()
            && one.recorded.operation != furthest.operation
    };
    if let Some(other) = ranks.iter().find(differs) {
        let message = format!(
            "flight recorder: rank {} is in {} and others in {name}, both number {sequence}",
            other.rank,
            other.recorded.operation.as_deref().unwrap_or("another")
        );
        return Some((vec![other.rank], message, vec![other.id, last_id]));
    }
    // A retired entry has ended, successfully or not: no rank waits in it.
    if furthest.state == RecordedState::Retired || furthest.size > LARGEST_JOB {
        return None;
    }
    let absent: Vec<u32> =
        (0..furthest.size).filter(|rank| ranks.iter().all(|one| one.rank != *rank)).collect();
    (furthest.is_default_group() && !absent.is_empty() && absent.len() < ranks.len()).then(|| {
        let message = format!(
            "the flight recorder dump of rank {} is missing, \
             and {} others wait in number {sequence} ({name})",
            numbers(&absent),
            ranks.len()
        );
        (absent, message, vec![last_id])
    })
}

/// `0, 3, 7`.
fn numbers(ranks: &[u32]) -> String {
    ranks.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// The sentence that compares ranks by the collectives they waited in, and the rank that lags; `None` where
/// they are at the same.
pub fn apart(waited: &[Waited]) -> Option<(u32, String, Vec<EventId>)> {
    let numbered: Vec<&Waited> = waited.iter().filter(|one| one.sequence.is_some()).collect();
    let least = numbered.iter().min_by_key(|one| (one.sequence, one.rank))?;
    let most = numbered.iter().max_by_key(|one| (one.sequence, one.rank))?;
    let say = |one: &Waited| {
        let elements = one.elements.map_or(String::new(), |count| format!(" of {count} elements"));
        format!(
            "rank {} waits in number {} ({}{elements})",
            one.rank,
            one.sequence.unwrap_or(0),
            one.operation
        )
    };
    if least.sequence != most.sequence {
        return Some((least.rank, format!("{}, {}", say(least), say(most)), vec![least.event, most.event]));
    }
    // The same number of another collective, or of other sizes where those must agree.
    let alike = ["ALLREDUCE", "BROADCAST", "REDUCE"];
    let other = numbered.iter().find(|one| {
        one.operation != least.operation
            || (alike.contains(&one.operation.as_str()) && one.elements != least.elements)
    })?;
    // Which of two is wrong, the majority tells.
    let same = |one: &Waited| {
        numbered.iter().filter(|all| all.operation == one.operation && all.elements == one.elements).count()
    };
    let odd = if same(other) < same(least) { other } else { least };
    Some((odd.rank, format!("{}, {}", say(least), say(other)), vec![least.event, other.event]))
}

/// Of ranks that waited the one that was at another place of the program than all the others, by their
/// tracebacks.
pub fn elsewhere(timeline: &Timeline, waited: &[Waited]) -> Option<(u32, String, Vec<EventId>)> {
    let mut locations: BTreeMap<u32, &str> = BTreeMap::new();
    for raised in timeline.raised.iter().filter(|raised| !raised.handled) {
        if let (Some(rank), Some(location)) = (raised.prefix.rank, raised.location())
            && waited.iter().any(|one| one.rank == rank)
        {
            locations.entry(rank).or_insert(location);
        }
    }
    if locations.len() < 3 {
        return None;
    }
    let count = |location: &str| locations.values().filter(|other| **other == location).count();
    let (rank, location) = locations.iter().find(|(_, location)| count(location) == 1)?;
    let (others, most) = locations
        .iter()
        .map(|(rank, location)| (rank, *location))
        .max_by_key(|(_, location)| count(location))?;
    if count(most) + 1 != locations.len() {
        return None;
    }
    let event = |rank: u32| waited.iter().find(|one| one.rank == rank).map(|one| one.event);
    let message = format!("rank {rank} was at {location} while {} others were at {most}", count(most));
    Some((*rank, message, [event(*rank), event(*others)].into_iter().flatten().collect()))
}
