//! Processes that were ended by a signal.

use super::{Chosen, Weighed, Weight, candidates};
use crate::weigh::Confidence;
use crate::weigh::ranks::{self, Exit};
use crate::weigh::story::Story;
use catalog::signatures::{self, Role};

/// What ends a process from outside or by itself, without a word of why.
const SIGNALS: &[&str] = &[
    "torch-agent-lost",
    "torch-sigkill",
    "ds-exit-sigkill",
    "docker-oom-137",
    "mpi-rank-ended",
    "torch-sigbus",
    "ds-exit-sigbus",
    "torch-dataloader-killed",
    "torch-sigsegv",
    "ds-exit-sigsegv",
    "kernel-segfault",
    "torch-sigabrt",
];

/// Processes that were ended by a signal: those that the launcher names, else those of which lines tell.
pub fn signals(story: &Story, exits: &[Exit]) -> Vec<Weighed> {
    let waited = story.events.iter().any(|event| ranks::WAITS.contains(&event.id()));
    // PyTorch ends a rank that waited too long by SIGABRT, and the agent those that do not stop by SIGKILL.
    // What the launcher calls the first failure may be a rank that lost its peer: then it was not.
    let lost = story.events.iter().any(|event| candidates::LOST.contains(&event.id()));
    let first_is_other = !lost && exits.iter().any(|exit| exit.first && ranks::signal(exit.code).is_none());
    let fits = |id: &str| !(first_is_other || (id == "torch-sigabrt" && waited));
    let mut found = Vec::new();
    let mut listed: Vec<&Exit> =
        exits.iter().filter(|exit| ranks::signal(exit.code).is_some_and(fits)).collect();
    listed.sort_by_key(|exit| !exit.first);
    if let Some(exit) = listed.first()
        && let Some(signature) = ranks::signal(exit.code).and_then(signatures::signature)
    {
        let mut events: Vec<usize> = vec![exit.event];
        events.extend((0..story.events.len()).filter(|place| story.events[*place].id() == signature.id));
        let event = &story.events[exit.event];
        let rank = exit.rank.map_or_else(
            || "A rank".to_owned(),
            |rank| match event.captured("local") {
                None if event.id() == "torch-elastic-childfailed" => format!("Local rank {rank}"),
                _ => format!("Rank {rank}"),
            },
        );
        let node = event.origin.node.as_ref().map_or(String::new(), |node| format!(" on {node}"));
        found.push((
            Weight::Signal,
            Chosen {
                id: signature.id.to_owned(),
                signature,
                says: format!(
                    "{rank}{node} ended by signal {}{}.",
                    signal_name(exit.code),
                    place(story, exit)
                ),
                meaning: None,
                confidence: Confidence::Likely,
                events,
                lines: Vec::new(),
                whose: Some(format!("{}{node}", rank.to_lowercase())),
            },
        ));
        return found;
    }
    for id in SIGNALS.iter().filter(|id| fits(id)) {
        let group: Vec<usize> = (0..story.events.len())
            .filter(|place| story.events[*place].id() == *id && story.events[*place].role != Role::Context)
            .collect();
        if !group.is_empty() {
            found.push((Weight::Signal, Chosen::of(story, &group, Confidence::Likely)));
        }
    }
    found
}

/// Where Python was then, in words. Nothing runs on when SIGKILL comes, and so nothing tells.
fn place(story: &Story, exit: &Exit) -> String {
    let of_rank = |one: &&(Option<u32>, String)| one.0.is_none() || one.0 == exit.rank;
    match story.crashed.iter().find(of_rank) {
        Some((_, place)) if !matches!(exit.code, -9 | 137) => format!(" while Python was in {place}"),
        _ => String::new(),
    }
}

/// The number and name of the signal behind an exit code.
fn signal_name(code: i32) -> &'static str {
    match code {
        -9 | 137 => "9 (SIGKILL)",
        -11 | 139 => "11 (SIGSEGV)",
        -6 | 134 => "6 (SIGABRT)",
        _ => "7 (SIGBUS)",
    }
}
