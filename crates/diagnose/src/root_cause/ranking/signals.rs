//! Processes that were ended by a signal.

use std::collections::BTreeMap;

use super::{RankedCause, Weight, Weighted};
use crate::root_cause::analysis::Analysis;
use crate::root_cause::ranks::{self, Exit};
use crate::root_cause::timeline::{EventId, Timeline};
use crate::root_cause::{Confidence, Processes, Whose};
use catalog::signatures::{Report, Role, Signal, Signature};

/// Processes that were ended by a signal: those that the launcher names, else those of which lines tell.
pub(super) fn signals(analysis: &Analysis<'_>) -> Vec<Weighted> {
    let (timeline, exits) = (analysis.timeline, analysis.exits.as_slice());
    let signal = |exit: &Exit| ranks::signal(timeline.signatures(), exit.code);
    // PyTorch ends a rank that waited too long by SIGABRT, and the agent those that do not stop by SIGKILL.
    // What the launcher calls the first failure may be a rank that lost its peer: then it was not.
    let first_is_other =
        !analysis.any_lost_peer && exits.iter().any(|exit| exit.first && signal(exit).is_none());
    let fits = |signal: Signal| !(first_is_other || (signal == Signal::Abrt && analysis.any_waited));
    let mut listed: Vec<(&Exit, &'static Signature, Signal)> = exits
        .iter()
        .filter_map(|exit| signal(exit).map(|(signature, signal)| (exit, signature, signal)))
        .filter(|(_, _, signal)| fits(*signal))
        .collect();
    listed.sort_by_key(|(exit, ..)| !exit.first);
    if let Some((exit, signature, signal)) = listed.first() {
        return vec![(Weight::Signal, listed_exit(timeline, exit, signature, *signal))];
    }
    let mut ended: BTreeMap<(Signal, &str), Vec<EventId>> = BTreeMap::new();
    for (id, event) in timeline.ids().filter(|(_, event)| event.role != Role::Context) {
        if let Some(signal) = event.signature.signal.filter(|signal| fits(*signal)) {
            ended.entry((signal, event.id())).or_default().push(id);
        }
    }
    let chosen =
        |group: &Vec<EventId>| (Weight::Signal, RankedCause::of(timeline, group, Confidence::Likely));
    ended.values().map(chosen).collect()
}

/// A process that the launcher's table lists.
fn listed_exit(
    timeline: &Timeline,
    exit: &Exit,
    signature: &'static Signature,
    signal: Signal,
) -> RankedCause {
    let mut events = vec![exit.event];
    events.extend(timeline.ids_where(|event| event.id() == signature.id));
    let event = &timeline[exit.event];
    let processes = match (exit.rank, event.captured("local")) {
        (None, _) => Processes::Unnumbered,
        (Some(rank), None) if event.signature.reports(Report::RankExit) => Processes::LocalRank(rank),
        (Some(rank), _) => Processes::Ranks(vec![rank]),
    };
    let whose = Whose::Processes(processes, event.prefix.node.clone());
    RankedCause {
        id: signature.id.to_owned(),
        signature,
        message: format!(
            "{} was terminated by signal {}{}.",
            whose.at_start(),
            signal.name(),
            location(timeline, exit, signal)
        ),
        meaning: None,
        confidence: Confidence::Likely,
        events,
        lines: Vec::new(),
        whose: Some(whose),
    }
}

/// Where Python was then, in words. Nothing runs on when SIGKILL comes, and so nothing tells.
fn location(timeline: &Timeline, exit: &Exit, signal: Signal) -> String {
    let of_rank = |one: &&(Option<u32>, String)| one.0.is_none() || one.0 == exit.rank;
    match timeline.crashed.iter().find(of_rank) {
        Some((_, location)) if signal != Signal::Kill => format!(" while Python was in {location}"),
        _ => String::new(),
    }
}
