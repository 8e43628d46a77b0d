//! What the lines tell, in the order in which it happened: one event for every signature that a line matches, every exception that no
//! signature explains, and every exit that a launcher reports.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::overcome;
use super::traceback::{self, Raised};
use crate::expression::constant;
use crate::origin::{self, Level, Origin, Time};
use crate::read::{Found, Read};
use crate::says;
use catalog::signatures::{self, Component, Derived, Report, Role, Severity, Signature};

/// Something that a line tells.
#[derive(Debug, Clone)]
pub struct Event {
    /// Which of the sources.
    pub read: usize,
    /// The line, from 1.
    pub number: u64,
    /// Its words.
    pub text: String,
    /// Who said it, and when.
    pub origin: Origin,
    /// What it is.
    pub signature: &'static Signature,
    /// Groups of the signature.
    pub captures: Vec<(&'static str, String)>,
    /// The signature's sentence.
    pub says: String,
    /// What it is here: a root that the line itself calls a warning is context.
    pub role: Role,
}

impl Event {
    /// What the line told for a group.
    pub fn captured(&self, name: &str) -> Option<&str> {
        self.captures.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str())
    }

    /// The id.
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
    pub origin: Origin,
    /// Whether a program surely failed with it, and does not only speak of errors.
    pub sure: bool,
}

/// Everything that was read, as events.
#[derive(Debug, Default)]
pub struct Story {
    /// In the order of sources and lines.
    pub events: Vec<Event>,
    /// Lines that look like errors and match nothing.
    pub unknown: Vec<Unknown>,
    /// What was raised, with the place in the program.
    pub raised: Vec<Raised>,
    /// Where Python was when a signal ended it, and the rank where that is told.
    pub crashed: Vec<(Option<u32>, String)>,
    /// Ranks that said anything, or of which a launcher speaks.
    pub ranks: Vec<u32>,
    /// How many ranks there are, where that is told.
    pub world: Option<u32>,
    /// By source, how many lines it has.
    pub ends: Vec<u64>,
}

impl Story {
    /// Events that report this.
    pub fn reports(&self, report: Report) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(move |event| event.signature.reports(report))
    }

    /// Names of machines that the lines tell, each once.
    pub fn nodes(&self) -> Vec<String> {
        let origins =
            self.events.iter().map(|event| &event.origin).chain(self.unknown.iter().map(|line| &line.origin));
        let mut nodes: Vec<String> = origins.filter_map(|origin| origin.node.clone()).collect();
        nodes.sort();
        nodes.dedup();
        nodes
    }

    /// Events with this id.
    pub fn of<'s>(&'s self, id: &'s str) -> impl Iterator<Item = &'s Event> {
        self.events.iter().filter(move |event| event.id() == id)
    }
}

/// What Python says before an exception that ends nothing.
const IGNORED: &str = "Exception ignored in";
/// Its traceback begins so many lines after it at most.
const NEXT: u64 = 3;

static WORLD: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)\bworld[_ ]size(?:'?:| is|=| =)? ?(\d{1,6})\b|\bnranks (\d{1,6})\b|dist_world_size=(\d{1,6})",
    )
});

/// The story of some sources.
pub fn story(reads: &[Read]) -> Story {
    let nodes = nodes(reads);
    let is_node = |word: &str| nodes.get(word).is_some_and(|count| *count >= 2);
    let mut story = Story { ends: reads.iter().map(|read| read.lines).collect(), ..Story::default() };
    for (place, read) in reads.iter().enumerate() {
        let of_file = origin::rank_of_file(&read.name);
        let from = |text: &str| {
            let (mut origin, rest) = origin::origin(text, &is_node);
            origin.rank = origin.rank.or(of_file);
            (origin, rest.to_owned())
        };
        for line in read.head.iter().chain(&read.tail) {
            known(&mut story, &from(line).0, line);
        }
        one_read(&mut story, place, read, &from);
    }
    overcome::overcome(&mut story);
    times(&mut story);
    story.ranks.sort_unstable();
    story.ranks.dedup();
    story
}

/// The words before a colon that begin lines, and how often each does.
fn nodes(reads: &[Read]) -> HashMap<String, usize> {
    let mut nodes: HashMap<String, usize> = HashMap::new();
    for read in reads {
        let found = read.found.iter().flat_map(|found| std::iter::once(&found.text).chain(&found.after));
        for line in read.head.iter().chain(&read.tail).chain(found) {
            let Some((word, _)) = line.trim_start().split_once(':') else { continue };
            if word.len() <= 64 && !word.contains(' ') && origin::like_a_node(word) {
                *nodes.entry(word.to_owned()).or_default() += 1;
            }
        }
    }
    nodes
}

/// Notes the rank and the number of ranks that a line tells.
fn known(story: &mut Story, origin: &Origin, line: &str) {
    story.ranks.extend(origin.rank);
    if ["orld", "ORLD", "nranks"].iter().any(|part| line.contains(part))
        && let Some(found) = WORLD.captures(line)
    {
        let told = (1..=3).find_map(|group| found.get(group)).and_then(|text| text.as_str().parse().ok());
        story.world = story.world.max(told);
    }
}

fn one_read(story: &mut Story, place: usize, read: &Read, from: &dyn Fn(&str) -> (Origin, String)) {
    let mut covered: Vec<(u64, u64)> = Vec::new();
    // What a destructor raised while everything ended is no failure: the interpreter says so before its traceback.
    let mut ignored: Option<u64> = None;
    let mut before: Option<&Found> = None;
    for found in &read.found {
        let again = before
            .replace(found)
            .is_some_and(|before| before.number + 1 == found.number && before.text == found.text);
        if found.text.contains(IGNORED) {
            ignored = Some(found.number);
        }
        let (origin, _) = from(&found.text);
        known(story, &origin, &found.text);
        for hit in &found.hits {
            if let Some(rank) = hit.captured("rank").filter(|_| hit.signature.reports(Report::FailureTable)) {
                story.ranks.extend(rank.parse::<u32>().ok());
            }
            story.events.push(Event {
                read: place,
                number: found.number,
                text: found.text.clone(),
                role: role(hit.signature, &origin),
                origin: origin.clone(),
                signature: hit.signature,
                captures: hit.captures.clone(),
                says: hit.says(),
            });
        }
        story.crashed.extend(traceback::crashed(found).map(|place| (origin.rank, place)));
        if let Some(raised) = traceback::raised(place, found, &origin, from).filter(|_| !again) {
            let is_ignored = ignored.take_if(|line| found.number - *line <= NEXT).is_some();
            covered.push((raised.began, if is_ignored { raised.last + 1 } else { raised.number }));
            if !is_ignored {
                let rank = raised.origin.rank.or_else(|| table_rank(story, &raised));
                story.raised.push(Raised { origin: Origin { rank, ..raised.origin }, ..raised });
            }
        }
    }
    for found in read.found.iter().filter(|found| found.error_like && found.hits.is_empty()) {
        // What stands inside of a traceback is told by its last line.
        if found.text.contains(IGNORED)
            || covered.iter().any(|(from, to)| (*from..*to).contains(&found.number))
        {
            continue;
        }
        let (origin, rest) = from(&found.text);
        if rest.trim().trim_matches('*') == "Killed"
            && let Some(signature) = signatures::derived(Derived::Killed)
        {
            story.events.push(Event {
                read: place,
                number: found.number,
                text: found.text.clone(),
                role: signature.role,
                origin,
                signature,
                captures: Vec::new(),
                says: says::fill(signature.says, &|_| None).unwrap_or_default(),
            });
            continue;
        }
        let sure = sure(found, &rest, &origin);
        story.unknown.push(Unknown {
            read: place,
            number: found.number,
            text: found.text.clone(),
            origin,
            sure,
        });
    }
    builds(story, place);
    exceptions(story, place);
}

/// An event for every module that is missing where a package is built: the traceback tells where it was looked for, its last line does not.
fn builds(story: &mut Story, place: usize) {
    let Some(signature) = signatures::derived(Derived::ModuleMissingInBuild) else { return };
    for raised in story.raised.iter().filter(|raised| raised.read == place) {
        if let Some(missing) = raised.missing_in_build() {
            story.events.push(derived(raised, signature, "missing", missing));
        }
    }
}

/// An event of a traceback for a signature, of which one group is told.
fn derived(raised: &Raised, signature: &'static Signature, group: &'static str, told: &str) -> Event {
    let says = says::fill(signature.says, &|name| (name == group).then_some(told));
    Event {
        read: raised.read,
        number: raised.number,
        text: raised.text.clone(),
        origin: raised.origin.clone(),
        signature,
        captures: vec![(group, told.to_owned())],
        says: says.unwrap_or_default(),
        role: signature.role,
    }
}

/// What a signature is on this line: what the line itself calls a notice or a warning is not where something failed.
fn role(signature: &Signature, origin: &Origin) -> Role {
    // The kernel puts "INFO: " before what is none.
    let mild = matches!(origin.level, Some(Level::Info | Level::Warning))
        && signature.component != Component::Kernel;
    match signature.role {
        Role::Symptom if mild && signature.severity <= Severity::Error => Role::Context,
        Role::Root if signature.severity <= Severity::Warning => Role::Context,
        other => other,
    }
}

/// An event for every exception that no signature explains. What a launcher's table repeats counts where it stands nowhere else.
fn exceptions(story: &mut Story, place: usize) {
    let Some(signature) = signatures::derived(Derived::Exception) else { return };
    let shadowed = signatures::derived(Derived::StdlibShadowed);
    let explained = |raised: &Raised| {
        story.events.iter().any(|event| {
            event.read == place
                && event.role != Role::Context
                && (raised.began..=raised.number).contains(&event.number)
                && raised.beside(&event.origin)
        })
    };
    let here: Vec<&Raised> =
        story.raised.iter().filter(|raised| raised.read == place && raised.of_program()).collect();
    let repeated = |raised: &Raised| {
        let same =
            |other: &&Raised| !other.in_table && other.name == raised.name && other.message == raised.message;
        raised.in_table && here.iter().copied().any(|other| same(&other))
    };
    let passed_on = story.raised.iter().filter(|raised| raised.read == place && raised.passes_on());
    let told: Vec<u64> = here.iter().copied().chain(passed_on).map(|raised| raised.number).collect();
    let mut new: Vec<Event> = Vec::new();
    for raised in here.iter().filter(|raised| !explained(raised) && !repeated(raised)) {
        if let (Some(module), Some(shadowed)) = (raised.hidden_module(), shadowed) {
            new.push(derived(raised, shadowed, "module", module));
            continue;
        }
        new.push(Event {
            read: place,
            number: raised.number,
            text: raised.text.clone(),
            origin: raised.origin.clone(),
            signature,
            captures: vec![("exception", raised.name.clone()), ("message", raised.message.clone())],
            says: raised.says(),
            role: Role::Root,
        });
    }
    story.events.extend(new);
    story.events.sort_by_key(|event| (event.read, event.number));
    // The last line of an exception that is told is no unknown line.
    story.unknown.retain(|line| line.read != place || !told.contains(&line.number));
}

/// The rank whose entry in a launcher's table a traceback belongs to.
fn table_rank(story: &Story, raised: &Raised) -> Option<u32> {
    if !raised.in_table {
        return None;
    }
    let before = |event: &&Event| event.read == raised.read && event.number <= raised.began;
    let told = story.reports(Report::FailureTable).filter(before).filter_map(|event| event.captured("rank"));
    told.last()?.parse().ok()
}

/// Whether a line says that a program failed: not that errors were counted, expected, or are possible.
fn sure(found: &Found, rest: &str, origin: &Origin) -> bool {
    static SURE: LazyLock<Regex> = LazyLock::new(|| {
        constant(
            r"(?x)^\s*(?:ERROR|Error|error|FATAL|Fatal|fatal|FAILED|panic|PANIC|CRITICAL)(?:\ ?:|\ \[)
            |^\s*[Ee]rror\ (?:\w+ing|while|when|in|from|on|at)\b[^:]{0,80}:\ 
            |^\s*[\w.+/-]+:\ (?:[Ff]atal\ )?[Ee]rror(?::|\ -)\ 
            |\b(?:fatal\ error|panic):
            |(?:^|[]|>]\ )\s*(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)(?::\ |:?$)
            |^(?:[a-z_]\w*\.)+(?:exceptions|errors|exc|error)\.[A-Z]\w+:\ 
            |\bexit(?:ed|s|ing)?\ (?:with\ )?(?:non-zero\ )?(?:exit\ |return\ |error\ )?(?:code|status)[:\ =]*-?[1-9]
            |^terminate\ called|\bcore\ dumped\b|\bcommand\ not\ found$|^make(?:\[\d+\])?:\ \*\*\*
            |Error\ response\ from\ daemon|^E:\ |:\ cannot\ open\ shared\ object|:\ fatal\ error:",
        )
    });
    found.error_like
        && !matches!(origin.level, Some(Level::Info | Level::Warning))
        && (SURE.is_match(rest) || SURE.is_match(&found.text))
}

/// Moments without a year are put into the year that other lines tell; lines without a time have that of the line before.
fn times(story: &mut Story) {
    let year = story.events.iter().find_map(|event| match event.origin.time {
        Some(Time::Wall(seconds)) => Some(origin::year_of(seconds)),
        _ => None,
    });
    let mut last: HashMap<(usize, Option<u32>), Time> = HashMap::new();
    for event in &mut story.events {
        if let (Some(Time::Yearless(seconds)), Some(year)) = (event.origin.time, year) {
            event.origin.time = Some(Time::Wall(origin::in_year(seconds, year)));
        }
        let key = (event.read, event.origin.rank);
        match event.origin.time {
            Some(time) => drop(last.insert(key, time)),
            None => event.origin.time = last.get(&key).copied(),
        }
    }
}
