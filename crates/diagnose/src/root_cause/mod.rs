//! From many matches to one root cause. Pure: from what was read, and the facts of the machine, to a
//! [`Diagnosis`].
//!
//! The first failure causes others: ranks wait until their timeout, connections close, launchers terminate
//! the rest. So the earliest root counts that no other root explains (`leads_to` of the signatures), on the
//! rank that failed first; without one, an exception of the program; then the signal that ended a rank; then
//! the rank that was silent or elsewhere while the others waited; and last a symptom, as a candidate and
//! never as the cause.

mod analysis;
mod context;
mod derived;
mod error_line;
pub mod machine_evidence;
mod ranking;
pub mod ranks;
pub mod recovered;
pub mod timeline;
mod traceback;
mod whose;

use crate::read::{self, Read};
use crate::scan::Scanner;
use analysis::Analysis;
use catalog::Catalog;
use catalog::signatures::{Cause as Choice, Component, Role, Signature};
use host::redact::hide_named_credentials;
use timeline::Timeline;

pub use machine_evidence::{Machine, MachineEvidence};
pub use whose::{Processes, Whose};

/// How certain a cause is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// The log states it, and nothing in it suggests another cause.
    Certain,
    /// It explains the log; another cause might too.
    Likely,
    /// The log does not show the cause: a possible one, and how to confirm it.
    Candidate,
}

impl Confidence {
    pub fn id(self) -> &'static str {
        match self {
            Confidence::Certain => "certain",
            Confidence::Likely => "likely",
            Confidence::Candidate => "candidate",
        }
    }
}

/// A log line that supports a cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The file as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    pub text: String,
    /// Where in the text of a long line the words are that tell most, in bytes; `None` also for a line that
    /// no signature matches.
    pub focus: Option<usize>,
}

/// Lines up to this length need no [`Evidence::focus`], in bytes: reports show them whole.
const SHORT_LINE_BYTES: usize = 240;

/// What evidence is made with.
#[derive(Debug)]
struct Sources<'a> {
    /// The names of the sources, by index.
    names: Vec<&'a str>,
    scanner: Scanner,
}

impl<'a> Sources<'a> {
    fn new(catalog: &'static Catalog, reads: &'a [Read]) -> Sources<'a> {
        let names = reads.iter().map(|read| read.name.as_str()).collect();
        Sources { names, scanner: Scanner::new(catalog) }
    }

    /// A line of a source as evidence.
    fn evidence(&self, read: usize, line: u64, text: &str) -> Evidence {
        let text = hide_named_credentials(text.trim_end());
        let words = text.trim_start();
        let indent = text.len() - words.len();
        let focus = match words.len() > SHORT_LINE_BYTES {
            true => self.scanner.offset(words).map(|offset| indent + offset),
            false => None,
        };
        let file = self.names.get(read).copied().unwrap_or("").to_owned();
        Evidence { file, line, text, focus }
    }
}

/// A root cause, with the events that show it.
#[derive(Debug, Clone)]
pub struct Cause {
    /// Id of its signature; `xid-79` for a fault that the driver numbers.
    pub id: String,
    /// The component that failed.
    pub component: Component,
    /// A root, or what is only known to be a symptom.
    pub role: Role,
    pub confidence: Confidence,
    /// The rank and node that failed: `rank 3 on node-2`.
    pub whose: Option<Whose>,
    /// What happened, in a sentence.
    pub message: String,
    pub meaning: String,
    /// Where that was read.
    pub source: &'static str,
    /// The lines it is based on, the most relevant first.
    pub evidence: Vec<Evidence>,
    /// Context of the first of them, where that line alone says little.
    pub context: Vec<Evidence>,
    /// The possible causes, how to confirm each, and how to fix it.
    pub choices: &'static [Choice],
    /// Results of the checks that the choices name.
    pub machine_evidence: Vec<MachineEvidence>,
}

/// Something that happened, for the timeline.
#[derive(Debug, Clone)]
pub struct Moment {
    /// Seconds after the first moment that can be compared with it; `None` where the line has no time.
    pub seconds: Option<f64>,
    /// The rank and node.
    pub whose: Option<Whose>,
    pub id: String,
    /// The signature that matched its first event.
    pub signature: &'static Signature,
    /// A root, a symptom or context.
    pub role: Role,
    pub message: String,
    /// The first line that tells it.
    pub evidence: Evidence,
    /// How many lines tell the same.
    pub count: usize,
}

#[derive(Debug, Clone, Default)]
pub struct Diagnosis {
    /// The first is the root cause; the others would be next.
    pub causes: Vec<Cause>,
    /// Error lines that match no signature, the first of each wording.
    pub unmatched_errors: Vec<Evidence>,
    /// Lines that look like errors but may be harmless.
    pub suspicious: Vec<Evidence>,
    /// Without a known failure: the last lines of the sources, if there are few sources.
    pub last: Vec<Evidence>,
    /// Ranks that logged no failure while others failed.
    pub silent: Vec<u32>,
    /// What happened, in order.
    pub timeline: Vec<Moment>,
    /// Sources that could not be read: name, and why.
    pub unread: Vec<(String, String)>,
    /// Remarks on the files.
    pub remarks: Vec<String>,
    /// How many lines were read.
    pub lines: u64,
    /// Machine names found in the lines.
    pub nodes: Vec<String>,
}

impl Diagnosis {
    pub fn failed(&self) -> bool {
        !self.causes.is_empty() || !self.unmatched_errors.is_empty()
    }
}

/// Limit of reported lines that match no signature.
const UNMATCHED: usize = 50;

/// The diagnosis of several sources; with the machine, the checks that a cause names are run on its facts.
pub fn diagnose(catalog: &'static Catalog, reads: &[Read], machine: Option<Machine<'_>>) -> Diagnosis {
    let timeline = complete_timeline(catalog, reads);
    let analysis = Analysis::of(&timeline);
    let chosen = ranking::causes(&analysis);
    let sources = Sources::new(catalog, reads);
    let mut causes: Vec<Cause> = chosen.iter().map(|one| one.cause(&timeline, &sources)).collect();
    // Messages repeat words of the log.
    causes.iter_mut().for_each(|cause| cause.message = hide_named_credentials(&cause.message));
    if let Some((cause, one)) = causes.first_mut().zip(chosen.first())
        && (cause.confidence == Confidence::Candidate || one.needs_more())
    {
        cause.context = context::around(reads, &sources, &cause.evidence);
    }
    if let Some(machine) = machine {
        causes
            .iter_mut()
            .for_each(|cause| cause.machine_evidence = machine_evidence::evaluate(cause.choices, machine));
        machine_evidence::order(&mut causes);
    }
    let failed = !causes.is_empty();
    let (unmatched_errors, suspicious) = unmatched(&timeline, &sources);
    let shows_failure = failed || !unmatched_errors.is_empty();
    Diagnosis {
        // Only where others waited is silence telling.
        silent: if failed && !analysis.waited.is_empty() { analysis.silent.clone() } else { Vec::new() },
        last: if shows_failure { Vec::new() } else { context::last(reads, &sources) },
        causes,
        unmatched_errors,
        suspicious,
        timeline: moments(&timeline, &sources),
        remarks: reads
            .iter()
            .flat_map(|read| read.remarks.iter().map(|remark| format!("{}: {remark}", read.name)))
            .collect(),
        unread: reads.iter().filter_map(|read| Some((read.name.clone(), read.unread.clone()?))).collect(),
        lines: reads.iter().map(|read| read.lines).sum(),
        nodes: timeline.nodes(),
    }
}

/// All events, and the roles that they have for the job as a whole.
fn complete_timeline(catalog: &'static Catalog, reads: &[Read]) -> Timeline {
    let mut timeline = timeline::from_reads(catalog, reads);
    derived::add(&mut timeline, reads);
    timeline::complete(&mut timeline);
    recovered::downgrade(&mut timeline);
    timeline
}

/// The diagnosis of a text.
pub fn diagnose_text(catalog: &'static Catalog, name: &str, text: &str) -> Diagnosis {
    diagnose(catalog, &[read::text(catalog, name, text)], None)
}

/// Error lines that match no signature, and lines that only look like errors; each wording once.
fn unmatched(timeline: &Timeline, sources: &Sources<'_>) -> (Vec<Evidence>, Vec<Evidence>) {
    let mut seen = std::collections::HashSet::new();
    let (mut sure, mut others) = (Vec::new(), Vec::new());
    for line in &timeline.unknown {
        // The same wording with other numbers is the same.
        let wording: String = line.text.chars().filter(|c| !c.is_ascii_digit()).collect();
        if !seen.insert(wording) {
            continue;
        }
        let list = if line.sure { &mut sure } else { &mut others };
        if list.len() < UNMATCHED {
            list.push(sources.evidence(line.read, line.number, &line.text));
        }
    }
    (sure, others)
}

/// One moment per signature and rank, by time where the lines have one, else by line.
fn moments(timeline: &Timeline, sources: &Sources<'_>) -> Vec<Moment> {
    let mut order = timeline.ids_where(|_| true);
    timeline.sort_by_time(&mut order);
    let start = order.iter().find_map(|id| timeline[*id].prefix.time);
    let mut moments: Vec<(Option<u32>, Moment)> = Vec::new();
    for event in order.into_iter().map(|id| &timeline[id]) {
        let rank = event.prefix.rank;
        if let Some((_, known)) =
            moments.iter_mut().find(|(by, moment)| *by == rank && moment.id == event.id())
        {
            known.count += 1;
            continue;
        }
        let seconds = event.prefix.time.zip(start).and_then(|(time, start)| time.since(start));
        let moment = Moment {
            seconds,
            whose: Whose::of(event),
            id: event.id().to_owned(),
            signature: event.signature,
            role: event.role,
            message: hide_named_credentials(&event.message),
            evidence: sources.evidence(event.read, event.number, &event.text),
            count: 1,
        };
        moments.push((rank, moment));
    }
    moments.into_iter().map(|(_, moment)| moment).collect()
}
