//! Events that no single line states: what a flight recorder dump has, a module that is missing in a build,
//! an exception that no signature explains.

use super::timeline::{Event, Timeline};
use super::traceback::Raised;
use crate::log_prefix::{self, LogPrefix};
use crate::message;
use crate::read::Read;
use catalog::signatures::{Derived, Role, Signature};

/// Adds them to the events that lines state.
pub(super) fn add(timeline: &mut Timeline, reads: &[Read]) {
    for (source, read) in reads.iter().enumerate() {
        recorded(timeline, source, read);
        builds(timeline, source);
        exceptions(timeline, source);
    }
}

/// An event for every process group of a flight recorder dump.
fn recorded(timeline: &mut Timeline, source: usize, read: &Read) {
    let rank = log_prefix::rank_of_file(&read.name);
    let Some(signature) = timeline.signatures().derived(Derived::FlightRecorder) else { return };
    for (number, recorded) in (1..).zip(&read.recorded) {
        let numbers = [recorded.sequence, recorded.enqueued].map(|number| number.to_string());
        let value = |name: &str| match name {
            "operation" => recorded.operation.as_deref(),
            "state" => Some(recorded.state.id()),
            "sequence" => Some(numbers[0].as_str()),
            "enqueued" => Some(numbers[1].as_str()),
            _ => None,
        };
        timeline.ranks.extend(rank);
        timeline.events.push(Event {
            read: source,
            number,
            text: recorded.to_string(),
            prefix: LogPrefix { rank, ..LogPrefix::default() },
            signature,
            captures: Vec::new(),
            message: message::fill(signature.message, &value).unwrap_or_default(),
            role: signature.role,
            xid: None,
            recorded: Some(recorded.clone()),
        });
    }
}

/// An event for every module missing in a package build: the traceback shows where it was searched, its last
/// line does not.
fn builds(timeline: &mut Timeline, source: usize) {
    let Some(signature) = timeline.signatures().derived(Derived::ModuleMissingInBuild) else { return };
    for raised in timeline.raised.iter().filter(|raised| raised.read == source) {
        if let Some(missing) = raised.missing_in_build() {
            timeline.events.push(derived(raised, signature, "missing", missing));
        }
    }
}

/// An event derived from a traceback, with one capture.
fn derived(raised: &Raised, signature: &'static Signature, group: &'static str, reported: &str) -> Event {
    let message = message::fill(signature.message, &|name| (name == group).then_some(reported));
    let captures = vec![(group, reported.to_owned())];
    event(raised, signature, captures, message.unwrap_or_default(), signature.role)
}

fn event(
    raised: &Raised,
    signature: &'static Signature,
    captures: Vec<(&'static str, String)>,
    message: String,
    role: Role,
) -> Event {
    Event {
        read: raised.read,
        number: raised.number,
        text: raised.text.clone(),
        prefix: raised.prefix.clone(),
        signature,
        captures,
        message,
        role,
        xid: None,
        recorded: None,
    }
}

/// An event for every exception that no signature explains. What a launcher's table repeats counts where it
/// stands nowhere else.
fn exceptions(timeline: &mut Timeline, source: usize) {
    let Some(signature) = timeline.signatures().derived(Derived::Exception) else { return };
    let shadowed = timeline.signatures().derived(Derived::StdlibShadowed);
    let explained = |raised: &Raised| {
        timeline.events.iter().any(|event| {
            event.read == source
                && event.role != Role::Context
                && (raised.began..=raised.number).contains(&event.number)
                && raised.same_origin(&event.prefix)
        })
    };
    let here: Vec<&Raised> = timeline
        .raised
        .iter()
        .filter(|raised| raised.read == source && raised.of_program(timeline.catalog.tracebacks()))
        .collect();
    let repeated = |raised: &Raised| {
        let same =
            |other: &&Raised| !other.in_table && other.name == raised.name && other.message == raised.message;
        raised.in_table && here.iter().copied().any(|other| same(&other))
    };
    let passed_on = timeline.raised.iter().filter(|raised| raised.read == source && raised.passes_on());
    let reported: Vec<u64> = here.iter().copied().chain(passed_on).map(|raised| raised.number).collect();
    let of = |raised: &Raised| match (raised.hidden_module(), shadowed) {
        (Some(module), Some(shadowed)) => derived(raised, shadowed, "module", module),
        _ => exception(raised, signature),
    };
    let new = here.iter().copied().filter(|raised| !explained(raised) && !repeated(raised));
    let new: Vec<Event> = new.map(of).collect();
    timeline.events.extend(new);
    timeline.events.sort_by_key(|event| (event.read, event.number));
    // The last line of an exception that is reported is no unknown line.
    timeline.unknown.retain(|line| line.read != source || !reported.contains(&line.number));
}

/// An event for an exception of the program.
fn exception(raised: &Raised, signature: &'static Signature) -> Event {
    let captures = vec![("exception", raised.name.clone()), ("message", raised.message.clone())];
    event(raised, signature, captures, raised.sentence(), Role::Root)
}
