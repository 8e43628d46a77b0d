//! Processes that were ended by a signal.

use std::collections::BTreeMap;

use super::{Chosen, Weighed, Weight};
use crate::weigh::Confidence;
use crate::weigh::ranks::{self, Exit};
use crate::weigh::story::Story;
use catalog::signatures::{Report, Role, Signal, Signature};

/// Processes that were ended by a signal: those that the launcher names, else those of which lines tell.
pub fn signals(story: &Story, exits: &[Exit]) -> Vec<Weighed> {
    let waited = story.reports(Report::Wait).next().is_some();
    // PyTorch ends a rank that waited too long by SIGABRT, and the agent those that do not stop by SIGKILL.
    // What the launcher calls the first failure may be a rank that lost its peer: then it was not.
    let lost = story.reports(Report::PeerLost).next().is_some();
    let first_is_other = !lost && exits.iter().any(|exit| exit.first && ranks::signal(exit.code).is_none());
    let fits = |signal: Signal| !(first_is_other || (signal == Signal::Abrt && waited));
    let mut listed: Vec<(&Exit, &'static Signature, Signal)> = exits
        .iter()
        .filter_map(|exit| ranks::signal(exit.code).map(|(signature, signal)| (exit, signature, signal)))
        .filter(|(_, _, signal)| fits(*signal))
        .collect();
    listed.sort_by_key(|(exit, ..)| !exit.first);
    if let Some((exit, signature, signal)) = listed.first() {
        return vec![(Weight::Signal, listed_exit(story, exit, signature, *signal))];
    }
    let mut ended: BTreeMap<(Signal, &str), Vec<usize>> = BTreeMap::new();
    for (place, event) in story.events.iter().enumerate().filter(|(_, event)| event.role != Role::Context) {
        if let Some(signal) = event.signature.signal.filter(|signal| fits(*signal)) {
            ended.entry((signal, event.id())).or_default().push(place);
        }
    }
    let chosen = |group: &Vec<usize>| (Weight::Signal, Chosen::of(story, group, Confidence::Likely));
    ended.values().map(chosen).collect()
}

/// A process that the launcher's table lists.
fn listed_exit(story: &Story, exit: &Exit, signature: &'static Signature, signal: Signal) -> Chosen {
    let mut events: Vec<usize> = vec![exit.event];
    events.extend((0..story.events.len()).filter(|place| story.events[*place].id() == signature.id));
    let event = &story.events[exit.event];
    let rank = exit.rank.map_or_else(
        || "A rank".to_owned(),
        |rank| match event.captured("local") {
            None if event.signature.reports(Report::RankExit) => format!("Local rank {rank}"),
            _ => format!("Rank {rank}"),
        },
    );
    let node = event.origin.node.as_ref().map_or(String::new(), |node| format!(" on {node}"));
    Chosen {
        id: signature.id.to_owned(),
        signature,
        says: format!("{rank}{node} ended by signal {}{}.", signal.name(), place(story, exit, signal)),
        meaning: None,
        confidence: Confidence::Likely,
        events,
        lines: Vec::new(),
        whose: Some(format!("{}{node}", rank.to_lowercase())),
    }
}

/// Where Python was then, in words. Nothing runs on when SIGKILL comes, and so nothing tells.
fn place(story: &Story, exit: &Exit, signal: Signal) -> String {
    let of_rank = |one: &&(Option<u32>, String)| one.0.is_none() || one.0 == exit.rank;
    match story.crashed.iter().find(of_rank) {
        Some((_, place)) if signal != Signal::Kill => format!(" while Python was in {place}"),
        _ => String::new(),
    }
}
