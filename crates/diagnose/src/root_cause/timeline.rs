//! The events of a log in order: one for every signature that a line matches, every exception that no
//! signature explains, and every exit that a launcher reports.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::{Index, IndexMut};
use std::sync::LazyLock;

use regex::Regex;

use super::error_line::sure;
use super::traceback::{self, Raised};
use crate::expression::constant;
use crate::log_prefix::{self, Level, LogPrefix, Time};
use crate::message;
use crate::read::{Found, Read, Recorded};
use catalog::Catalog;
use catalog::signatures::{Component, Derived, Report, Role, Signature, Signatures};
use catalog::{severity::Severity, xids::Xid};

/// Groups of signatures that hold the name of a machine.
const MACHINES: &[&str] = &[
    "host", "node", "node2", "peer", "here", "server", "anyhost", "tcphost", "lookup", "wget", "unknown",
    "pinged", "nslookup", "dead", "dead2", "leader", "remote", "target",
];

/// Whether a captured word can be the name of a machine without its domain.
fn is_short_name(word: &str) -> bool {
    word.len() > 3
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// Which event of a [`Timeline`]: its index in the order of sources and lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(usize);

/// What a line reports.
#[derive(Debug, Clone)]
pub struct Event {
    /// Which of the sources.
    pub read: usize,
    /// The line, from 1.
    pub number: u64,
    /// Its words.
    pub text: String,
    /// Rank, node and time.
    pub prefix: LogPrefix,
    /// What it is.
    pub signature: &'static Signature,
    /// Groups of the signature.
    pub captures: Vec<(&'static str, String)>,
    /// The signature's sentence.
    pub message: String,
    /// What it is here: a root that the line itself calls a warning is context.
    pub role: Role,
    /// The driver's fault whose number the line has.
    pub xid: Option<&'static Xid>,
    /// What a flight recorder dump has of a process group; such an event has no line.
    pub recorded: Option<Recorded>,
}

impl Event {
    /// The number of the fault that a line of the driver tells, or of the one before that it names as its
    /// cause.
    fn xid_number(&self) -> Option<u32> {
        self.captured("previous").or_else(|| self.captured("xid"))?.parse().ok()
    }

    pub fn captured(&self, name: &str) -> Option<&str> {
        self.captures.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str())
    }

    pub fn id(&self) -> &'static str {
        self.signature.id
    }
}

/// A line that looks like an error and matches nothing.
#[derive(Debug, Clone)]
pub struct Unknown {
    /// Which of the sources.
    pub read: usize,
    /// The line, from 1.
    pub number: u64,
    /// Its words.
    pub text: String,
    /// Who said it.
    pub prefix: LogPrefix,
    /// Whether a program certainly failed with it, and does not only mention errors.
    pub sure: bool,
}

/// Everything that was read, as events.
#[derive(Debug)]
pub struct Timeline {
    /// Which programs start others, and what only follows from a failure.
    pub catalog: &'static Catalog,
    /// In the order of sources and lines.
    pub events: Vec<Event>,
    /// Lines that look like errors and match nothing.
    pub unknown: Vec<Unknown>,
    /// What was raised, with the place in the program.
    pub raised: Vec<Raised>,
    /// Where Python was when a signal ended it, and the rank if known.
    pub crashed: Vec<(Option<u32>, String)>,
    /// Ranks that logged a line, or that a launcher mentions.
    pub ranks: Vec<u32>,
    /// The world size, if known.
    pub world: Option<u32>,
    /// By source, how many lines it has.
    pub ends: Vec<u64>,
}

impl Index<EventId> for Timeline {
    type Output = Event;

    fn index(&self, id: EventId) -> &Event {
        &self.events[id.0]
    }
}

impl IndexMut<EventId> for Timeline {
    fn index_mut(&mut self, id: EventId) -> &mut Event {
        &mut self.events[id.0]
    }
}

impl Timeline {
    /// The signatures that its events are of.
    pub fn signatures(&self) -> &'static Signatures {
        self.catalog.signatures()
    }

    /// All events with their ids.
    pub fn ids(&self) -> impl Iterator<Item = (EventId, &Event)> {
        self.events.iter().enumerate().map(|(index, event)| (EventId(index), event))
    }

    /// The ids of the events for which this holds.
    pub fn ids_where(&self, holds: impl Fn(&Event) -> bool) -> Vec<EventId> {
        self.ids().filter(|(_, event)| holds(event)).map(|(id, _)| id).collect()
    }

    /// Orders events by time where every one of them has a wall clock's, else by source and line.
    pub fn sort_by_time(&self, ids: &mut [EventId]) {
        let wall = |id: EventId| match self[id].prefix.time {
            Some(Time::Wall(seconds)) => Some(seconds),
            _ => None,
        };
        let timed = ids.iter().all(|id| wall(*id).is_some());
        ids.sort_by(|one, other| {
            let line = |id: EventId| (self[id].read, self[id].number);
            let lines = line(*one).cmp(&line(*other));
            match timed {
                true => wall(*one).partial_cmp(&wall(*other)).unwrap_or(Ordering::Equal).then(lines),
                false => lines,
            }
        });
    }

    /// Events that report this.
    pub fn reports(&self, report: Report) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(move |event| event.signature.reports(report))
    }

    /// Names of machines in the lines, each once: of those that wrote them, and of those that signatures
    /// capture.
    pub fn nodes(&self) -> Vec<String> {
        let origins =
            self.events.iter().map(|event| &event.prefix).chain(self.unknown.iter().map(|line| &line.prefix));
        let captured = self.events.iter().flat_map(|event| &event.captures);
        let captured = captured.filter(|(group, name)| MACHINES.contains(group) && is_short_name(name));
        let mut nodes: Vec<String> = origins.filter_map(|prefix| prefix.node.clone()).collect();
        nodes.extend(captured.map(|(_, name)| name.clone()));
        nodes.sort();
        nodes.dedup();
        nodes
    }

    /// Events with this id.
    pub fn of<'s>(&'s self, id: &'s str) -> impl Iterator<Item = &'s Event> {
        self.events.iter().filter(move |event| event.id() == id)
    }
}

/// The traceback of an exception that Python ignores begins so many lines after its first line at most.
const NEXT: u64 = 3;

static WORLD: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)\bworld[_ ]size(?:'?:| is|=| =)? ?(\d{1,6})\b|\bnranks (\d{1,6})\b|dist_world_size=(\d{1,6})",
    )
});

/// The timeline of some sources: events that a line states, without what [`complete`] adds.
pub fn from_reads(catalog: &'static Catalog, reads: &[Read]) -> Timeline {
    let nodes = nodes(reads);
    let is_node = |word: &str| nodes.get(word).is_some_and(|count| *count >= 2);
    let mut timeline = Timeline {
        catalog,
        events: Vec::new(),
        unknown: Vec::new(),
        raised: Vec::new(),
        crashed: Vec::new(),
        ranks: Vec::new(),
        world: None,
        ends: reads.iter().map(|read| read.lines).collect(),
    };
    for (source, read) in reads.iter().enumerate() {
        let of_file = log_prefix::rank_of_file(&read.name);
        let from = |text: &str| {
            let (mut prefix, rest) = log_prefix::parse(text, &is_node);
            prefix.rank = prefix.rank.or(of_file);
            (prefix, rest.to_owned())
        };
        for line in read.head.iter().chain(&read.tail) {
            known(&mut timeline, &from(line).0, line);
        }
        one_read(&mut timeline, source, read, &from);
    }
    timeline
}

/// Completes the events of all sources: faults by number, times, ranks.
pub fn complete(timeline: &mut Timeline) {
    for event in &mut timeline.events {
        event.xid = event.xid_number().and_then(|number| timeline.catalog.xids().xid(number));
    }
    times(timeline);
    timeline.ranks.sort_unstable();
    timeline.ranks.dedup();
}

/// The words before a colon that begin lines, and how often each does.
fn nodes(reads: &[Read]) -> HashMap<String, usize> {
    let mut nodes: HashMap<String, usize> = HashMap::new();
    for read in reads {
        let found = read.found.iter().flat_map(|found| std::iter::once(&found.text).chain(&found.after));
        for line in read.head.iter().chain(&read.tail).chain(found) {
            let Some((word, _)) = line.trim_start().split_once(':') else { continue };
            if word.len() <= 64 && !word.contains(' ') && log_prefix::like_a_node(word) {
                *nodes.entry(word.to_owned()).or_default() += 1;
            }
        }
    }
    nodes
}

/// Records the rank and world size of a line.
fn known(timeline: &mut Timeline, prefix: &LogPrefix, line: &str) {
    timeline.ranks.extend(prefix.rank);
    if ["orld", "ORLD", "nranks"].iter().any(|part| line.contains(part))
        && let Some(found) = WORLD.captures(line)
    {
        let reported = (1..=3).find_map(|group| found.get(group)).and_then(|text| text.as_str().parse().ok());
        timeline.world = timeline.world.max(reported);
    }
}

fn one_read(timeline: &mut Timeline, source: usize, read: &Read, from: &dyn Fn(&str) -> (LogPrefix, String)) {
    let mut covered: Vec<(u64, u64)> = Vec::new();
    // What a destructor raised while everything ended is no failure: the interpreter says so before its
    // traceback.
    let mut ignored: Option<u64> = None;
    let mut before: Option<&Found> = None;
    for found in &read.found {
        let again = before
            .replace(found)
            .is_some_and(|before| before.number + 1 == found.number && before.text == found.text);
        if traceback::is_ignored(&found.text) {
            ignored = Some(found.number);
        }
        let (prefix, _) = from(&found.text);
        known(timeline, &prefix, &found.text);
        for hit in &found.hits {
            if let Some(rank) = hit.captured("rank").filter(|_| hit.signature.reports(Report::FailureTable)) {
                timeline.ranks.extend(rank.parse::<u32>().ok());
            }
            timeline.events.push(Event {
                read: source,
                number: found.number,
                text: found.text.clone(),
                role: role(hit.signature, &prefix),
                prefix: prefix.clone(),
                signature: hit.signature,
                captures: hit.captures.clone(),
                message: hit.message(),
                xid: None,
                recorded: None,
            });
        }
        timeline.crashed.extend(traceback::crashed(found).map(|location| (prefix.rank, location)));
        if let Some(raised) = traceback::raised(source, found, &prefix, from).filter(|_| !again) {
            let is_ignored = ignored.take_if(|line| found.number - *line <= NEXT).is_some();
            covered.push((raised.began, if is_ignored { raised.last + 1 } else { raised.number }));
            if !is_ignored {
                let rank = raised.prefix.rank.or_else(|| table_rank(timeline, &raised));
                timeline.raised.push(Raised { prefix: LogPrefix { rank, ..raised.prefix }, ..raised });
            }
        }
    }
    for found in read.found.iter().filter(|found| found.error_like && found.hits.is_empty()) {
        // A traceback is reported by its last line.
        if traceback::is_ignored(&found.text)
            || covered.iter().any(|(from, to)| (*from..*to).contains(&found.number))
        {
            continue;
        }
        let (prefix, rest) = from(&found.text);
        if rest.trim().trim_matches('*') == "Killed"
            && let Some(signature) = timeline.signatures().derived(Derived::Killed)
        {
            timeline.events.push(Event {
                read: source,
                number: found.number,
                text: found.text.clone(),
                role: signature.role,
                prefix,
                signature,
                captures: Vec::new(),
                message: message::fill(signature.message, &|_| None).unwrap_or_default(),
                xid: None,
                recorded: None,
            });
            continue;
        }
        let sure = sure(found, &rest, &prefix);
        timeline.unknown.push(Unknown {
            read: source,
            number: found.number,
            text: found.text.clone(),
            prefix,
            sure,
        });
    }
}

/// What a signature is on this line: what the line itself calls a notice or a warning is not where something
/// failed.
fn role(signature: &Signature, prefix: &LogPrefix) -> Role {
    // The kernel puts "INFO: " before what is none.
    let mild = matches!(prefix.level, Some(Level::Info | Level::Warning))
        && signature.component != Component::Kernel;
    match signature.role {
        Role::Symptom if mild && signature.severity <= Severity::Error => Role::Context,
        Role::Root if signature.severity <= Severity::Warning => Role::Context,
        other => other,
    }
}

/// The rank whose entry in a launcher's table a traceback belongs to.
fn table_rank(timeline: &Timeline, raised: &Raised) -> Option<u32> {
    if !raised.in_table {
        return None;
    }
    let before = |event: &&Event| event.read == raised.read && event.number <= raised.began;
    let reported =
        timeline.reports(Report::FailureTable).filter(before).filter_map(|event| event.captured("rank"));
    reported.last()?.parse().ok()
}

/// Completes times without a year with the year of other lines; a line without a time gets that of the line
/// before.
fn times(timeline: &mut Timeline) {
    let year = timeline.events.iter().find_map(|event| match event.prefix.time {
        Some(Time::Wall(seconds)) => log_prefix::year_of(seconds),
        _ => None,
    });
    let mut last: HashMap<(usize, Option<u32>), Time> = HashMap::new();
    for event in &mut timeline.events {
        if let (Some(Time::Yearless(seconds)), Some(year)) = (event.prefix.time, year) {
            event.prefix.time = log_prefix::in_year(seconds, year).map(Time::Wall);
        }
        let key = (event.read, event.prefix.rank);
        match event.prefix.time {
            Some(time) => drop(last.insert(key, time)),
            None => event.prefix.time = last.get(&key).copied(),
        }
    }
}
