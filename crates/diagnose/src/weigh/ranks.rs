//! What became of each rank: how it ended, which collective it waited in, and whether it said anything at all.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::story::{Event, Story};
use crate::expression::constant;
use catalog::signatures::{self, Report, Role, Signal, Signature};

/// The end of a rank, as a launcher tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct Exit {
    /// The rank, or its place on the node where only that is told.
    pub rank: Option<u32>,
    /// The exit code; negative: the number of a signal.
    pub code: i32,
    /// The event that tells it.
    pub event: usize,
    /// Whether the launcher calls it the first failure.
    pub first: bool,
}

/// What a rank waited for when time was up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waited {
    /// The rank.
    pub rank: u32,
    /// The collective's number in its group.
    pub sequence: Option<u64>,
    /// Which collective.
    pub operation: String,
    /// How many elements.
    pub elements: Option<u64>,
    /// The event.
    pub event: usize,
}

/// An entry of elastic's table ends at most so many lines after it began.
const TABLE: u64 = 200;

/// How ranks ended, from elastic's table, its lines and those of other launchers.
pub fn exits(story: &Story) -> Vec<Exit> {
    let mut exits: Vec<Exit> = Vec::new();
    let mut rank: Option<(usize, u64, u32)> = None;
    let mut first: Option<(usize, u64)> = None;
    for (place, event) in story.events.iter().enumerate() {
        match event.signature {
            signature if signature.reports(Report::FailureTable) => {
                if event.text.contains("Root Cause (first observed failure)") {
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
                    event: place,
                    first: first.take().is_some_and(near),
                });
            }
            // An attempt after which the ranks were started anew is no end.
            signature if signature.reports(Report::RankExit) && event.role != Role::Context => {
                if let Some(code) = event.captured("code").and_then(|code| code.parse().ok()) {
                    let rank = event.captured("rank").and_then(|rank| rank.parse().ok());
                    exits.push(Exit { rank, code, event: place, first: false });
                }
            }
            _ => {}
        }
    }
    exits
}

/// The signal behind an exit code, and the signature of such an end.
pub fn signal(code: i32) -> Option<(&'static Signature, Signal)> {
    let signature = signatures::all().iter().find(|one| one.exit_codes.contains(&code))?;
    Some((signature, signature.signal?))
}

/// What each rank waited in, the first of each rank.
pub fn waited(story: &Story) -> Vec<Waited> {
    static ELEMENTS: LazyLock<Regex> = LazyLock::new(|| constant(r"NumelIn=(\d+)|TensorShape=\[(\d+)"));
    let mut by_rank: BTreeMap<u32, Waited> = BTreeMap::new();
    for (place, event) in story.events.iter().enumerate() {
        let Some(rank) = event.origin.rank else { continue };
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
            event: place,
        };
        let old = by_rank.entry(rank).or_insert_with(|| new.clone());
        // The first collective that did not end is the one that counts.
        if new.sequence.is_some() && (old.sequence.is_none() || new.sequence < old.sequence) {
            *old = new;
        }
    }
    by_rank.into_values().collect()
}

/// The ranks of the job of which nothing speaks of a failure of their own while the others waited: they are the ones waited for.
pub fn silent(story: &Story, waited: &[Waited]) -> Vec<u32> {
    let mut all: Vec<u32> = story.ranks.clone();
    // The number of ranks is believed where it fits the ranks that were seen.
    if let Some(world) = story.world.filter(|world| all.iter().all(|rank| rank < world) && *world <= 4096) {
        all = (0..world).collect();
    }
    let speaks = |rank: u32| {
        waited.iter().any(|one| one.rank == rank)
            || story.events.iter().any(|event| {
                event.origin.rank == Some(rank) && event.role != Role::Context
            })
            // Where its own lines are missing, a launcher's table may tell what it raised.
            || story.raised.iter().any(|raised| raised.origin.rank == Some(rank))
    };
    all.retain(|rank| !speaks(*rank));
    all
}

/// The ranks that the flight recorders' dumps show behind the others of their group, or that wrote none while others wait: who, a
/// sentence, and the events that it rests on.
pub fn recorded(story: &Story) -> Option<(Vec<u32>, String, Vec<usize>)> {
    let mut groups: BTreeMap<&str, Vec<(u32, usize, &Event)>> = BTreeMap::new();
    for (place, event) in
        story.events.iter().enumerate().filter(|(_, event)| event.signature.reports(Report::FlightRecorder))
    {
        if let (Some(rank), Some(group)) = (event.origin.rank, event.captured("group")) {
            groups.entry(group).or_default().push((rank, place, event));
        }
    }
    let number = |event: &Event, name: &str| {
        event.captured(name).and_then(|text| text.parse::<i64>().ok()).unwrap_or(-1)
    };
    groups.values().find_map(|ranks| {
        let waits = |event: &Event| !["completed", "unknown"].contains(&event.captured("state").unwrap_or("unknown"));
        let (_, at, furthest) = ranks.iter().filter(|one| waits(one.2)).max_by_key(|one| number(one.2, "sequence"))?;
        let sequence = number(furthest, "sequence");
        let operation = furthest.captured("operation").unwrap_or("a collective");
        let behind: Vec<&(u32, usize, &Event)> =
            ranks.iter().filter(|one| number(one.2, "enqueued") < sequence || number(one.2, "sequence") < sequence && waits(one.2)).collect();
        let others = ranks.len() - behind.len();
        let names = |list: &[u32]| list.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        if let Some((_, _, slowest)) = behind.first() {
            let list: Vec<u32> = behind.iter().map(|one| one.0).collect();
            let says = format!(
                "by the flight recorder, rank {} last called number {} and {others} others {} number {sequence} ({operation})",
                names(&list),
                number(slowest, "enqueued"),
                if furthest.captured("state") == Some("retired") { "called" } else { "wait in" }
            );
            let events = behind.iter().map(|one| one.1).chain([*at]).collect();
            return Some((list, says, events));
        }
        let other = ranks.iter().find(|one| {
            number(one.2, "sequence") == sequence && waits(one.2) && one.2.captured("operation") != furthest.captured("operation")
        });
        if let Some((rank, place, event)) = other {
            let says = format!(
                "by the flight recorder, rank {rank} is in {} and others in {operation} as number {sequence}",
                event.captured("operation").unwrap_or("another")
            );
            return Some((vec![*rank], says, vec![*place, *at]));
        }
        // What was put away has ended, well or not: nobody waits in it.
        if furthest.captured("state") == Some("retired") {
            return None;
        }
        let size = u32::try_from(number(furthest, "size")).ok().filter(|size| *size <= 4096)?;
        let absent: Vec<u32> = (0..size).filter(|rank| ranks.iter().all(|one| one.0 != *rank)).collect();
        let enough = !absent.is_empty() && absent.len() < ranks.len() && furthest.captured("desc") == Some("default_pg");
        enough.then(|| {
            let says = format!(
                "the flight recorder of rank {} is missing, and {} others wait in number {sequence} ({operation})",
                names(&absent), ranks.len()
            );
            (absent, says, vec![*at])
        })
    })
}

/// The sentence that compares ranks by the collectives they waited in, and the rank that lags; `None` where they are at the same.
pub fn apart(waited: &[Waited]) -> Option<(u32, String, Vec<usize>)> {
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

/// Of ranks that waited the one that was at another place of the program than all the others, by their tracebacks.
pub fn elsewhere(story: &Story, waited: &[Waited]) -> Option<(u32, String, Vec<usize>)> {
    let mut places: BTreeMap<u32, &str> = BTreeMap::new();
    for raised in story.raised.iter().filter(|raised| !raised.handled) {
        if let (Some(rank), Some(place)) = (raised.origin.rank, raised.place())
            && waited.iter().any(|one| one.rank == rank)
        {
            places.entry(rank).or_insert(place);
        }
    }
    if places.len() < 3 {
        return None;
    }
    let count = |place: &str| places.values().filter(|other| **other == place).count();
    let (rank, place) = places.iter().find(|(_, place)| count(place) == 1)?;
    let (others, most) =
        places.iter().map(|(rank, place)| (rank, *place)).max_by_key(|(_, place)| count(place))?;
    if count(most) + 1 != places.len() {
        return None;
    }
    let event = |rank: u32| waited.iter().find(|one| one.rank == rank).map(|one| one.event);
    let says = format!("rank {rank} was at {place} while {} others were at {most}", count(most));
    Some((*rank, says, [event(*rank), event(*others)].into_iter().flatten().collect()))
}

/// The rank and node of an event, in words: `rank 3 on node-2`.
pub fn who(event: &Event) -> Option<String> {
    let rank = match (event.origin.rank, event.origin.local_rank) {
        (Some(rank), _) => Some(format!("rank {rank}")),
        (None, Some(local)) => Some(format!("local rank {local}")),
        (None, None) => None,
    };
    match (rank, &event.origin.node) {
        (Some(rank), Some(node)) => Some(format!("{rank} on {node}")),
        (Some(rank), None) => Some(rank),
        (None, Some(node)) => Some(node.clone()),
        (None, None) => None,
    }
}
