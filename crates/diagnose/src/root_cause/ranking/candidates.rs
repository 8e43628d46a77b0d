//! Candidates where no root is known: what a log ends with, symptoms, an exception without its traceback, and
//! error lines that match no signature.

use std::sync::LazyLock;

use regex::Regex;

use super::{RankedCause, unexplained, went_on};
use crate::expression::constant;
use crate::log_prefix::Level;
use crate::root_cause::analysis::Analysis;
use crate::root_cause::timeline::{EventId, Timeline, Unknown};
use crate::root_cause::{Confidence, Whose, traceback};
use catalog::signatures::{Derived, Report, Role, Signal, Signature, Unfinished};

/// Symptoms as candidates, the most specific first.
pub(super) fn symptoms(analysis: &Analysis<'_>) -> Vec<RankedCause> {
    let timeline = analysis.timeline;
    let symptoms = timeline.ids_where(|event| event.role == Role::Symptom);
    let mut groups = unexplained(timeline, symptoms);
    let rank = |group: &Vec<EventId>| {
        let signature = timeline[group[0]].signature;
        match () {
            // PyTorch ends a rank that waited too long by SIGABRT.
            () if signature.reports(Report::End)
                || (signature.signal == Some(Signal::Abrt) && analysis.any_waited) =>
            {
                2
            }
            () if signature.reports(Report::Wait) => 1,
            () => 0,
        }
    };
    groups.sort_by_key(rank);
    let mut causes: Vec<RankedCause> =
        groups.iter().map(|group| RankedCause::of(timeline, group, Confidence::Candidate)).collect();
    if groups.is_empty()
        && let Some(cause) = given_up(timeline)
    {
        causes.push(cause);
    }
    // An exception without its traceback, or any line that says that something failed, tells more than that
    // something ended or that a peer is gone.
    let lost = |group: &Vec<EventId>| timeline[group[0]].signature.reports(Report::PeerLost);
    if groups.first().is_none_or(|group| rank(group) == 2 || lost(group))
        && let Some(cause) = bare_exception(timeline).or_else(|| own_words(timeline, !groups.is_empty()))
    {
        causes.insert(0, cause);
    }
    causes
}

/// The first error line that matches no signature and says more than that something ended, quoted. Where a
/// symptom already reports an end, a line that says what could not be done suffices.
fn own_words(timeline: &Timeline, ended_so: bool) -> Option<RankedCause> {
    static UNDONE: LazyLock<Regex> = LazyLock::new(|| {
        constant(
            r"(?x)\b(?:[Uu]nable|[Ff]ailed|FAILED)\ to\ \w|\b(?:[Cc]annot|[Cc]an't|[Cc]ould\ ?n[o']t)\ \w
            |\b[Nn]o\ such\ |\b(?:denied|refused)\b
            |\bnot\ (?:found|permitted|supported)\b|level=(?:error|fatal)|\bNCCL\ WARN\ ",
        )
    });
    static ENDED: LazyLock<Regex> = LazyLock::new(|| {
        constant(
            r"(?ix)exit(?:ed|s|ing|code)?\W+
            (?:with\ )?(?:non-zero\ )?(?:exit\ |return\ |error\ )?(?:code|status|[1-9])
            |non-zero\ exit|exit\ status|failed\ to\ solve|failed\ building|failed\ to\ build
            |could\ not\ build
            |subprocess-exited|build\ stopped|make(?:\[\d+\])?:\ \*\*\*|KeyboardInterrupt|(?-i:\bFAILED\b)
            |an\ error\ occurred|see\ (?:the\ )?(?:above|below|log)|error\ waiting\ for\ container|:\s*$
            |^\s*(?:raise|return|assert|abort|print|logg(?:er|ing)|warnings)\b[.\ (]",
        )
    });
    let signature = timeline.signatures().derived(Derived::QuotedLine)?;
    let known = timeline.catalog.tracebacks();
    let informative = |text: &str| {
        let raised = traceback::named(text);
        // ssh -v tries many files that need not be there.
        let trial =
            ["debug1: ", "debug2: ", "debug3: "].iter().any(|start| text.trim_start().starts_with(start));
        !trial
            && !ENDED.is_match(text.trim_end())
            && raised.is_none_or(|(name, message)| !known.is_consequence(name, message))
    };
    let mild = |line: &Unknown| matches!(line.prefix.level, Some(Level::Info | Level::Warning));
    let sure = timeline.unknown.iter().filter(|line| line.sure).find(|line| informative(&line.text));
    // An excerpt of a few lines is shown because of a failure.
    let excerpt = timeline.events.is_empty() && timeline.ends.iter().sum::<u64>() <= EXCERPT;
    let line = sure.or_else(|| {
        let others = timeline.unknown.iter().filter(|line| !line.sure && !mild(line));
        let mut others = others.filter(|_| ended_so || excerpt);
        others.find(|line| UNDONE.is_match(&line.text) && informative(&line.text))
    })?;
    let words = line.text.trim();
    let cut = words.char_indices().nth(WORDS).map_or(words, |(end, _)| &words[..end]);
    Some(RankedCause {
        id: signature.id.to_owned(),
        signature,
        message: format!("Unrecognized error: {cut}{}", if cut.len() < words.len() { "…" } else { "" }),
        meaning: None,
        confidence: Confidence::Candidate,
        events: Vec::new(),
        lines: vec![(line.read, line.number, line.text.clone())],
        whose: line.prefix.rank.map(|rank| Whose::ranks(&[rank])),
    })
}

/// Up to this many lines, a text is an excerpt that a person cut out of a log.
const EXCERPT: u64 = 60;

/// Characters of a line that are quoted in a sentence.
const WORDS: usize = 200;

/// A log that ends while an operation is still being retried.
fn given_up(timeline: &Timeline) -> Option<RankedCause> {
    let rules =
        timeline.signatures().all().iter().flat_map(|one| one.unfinished.iter().map(move |rule| (one, rule)));
    rules.into_iter().find_map(|(tried, rule)| ends_with(timeline, tried, rule))
}

fn ends_with(timeline: &Timeline, tried: &Signature, rule: &Unfinished) -> Option<RankedCause> {
    let tries = timeline.ids_where(|event| event.id() == tried.id);
    let last = &timeline[*tries.last()?];
    let end = timeline.ends.get(last.read).copied().unwrap_or(0);
    let signature = timeline.signatures().signature(rule.becomes)?;
    let ends = tries.len() >= rule.times
        && end.saturating_sub(last.number) <= rule.lines_after
        && !went_on(timeline, &tries);
    ends.then(|| {
        let base = RankedCause::of(timeline, &tries, Confidence::Candidate);
        let message = rule.message.map_or_else(|| base.message.clone(), str::to_owned);
        RankedCause { id: signature.id.to_owned(), signature, message, ..base }
    })
}

/// The first line that is an exception's last, where the traceback before it is missing.
fn bare_exception(timeline: &Timeline) -> Option<RankedCause> {
    let signature = timeline.signatures().derived(Derived::Exception)?;
    let (line, raised) = timeline.unknown.iter().filter(|line| line.sure).find_map(|line| {
        let raised = traceback::bare(timeline.catalog.tracebacks(), &line.text)?;
        Some((line, raised))
    })?;
    Some(RankedCause {
        id: signature.id.to_owned(),
        signature,
        message: format!("A program raised {raised}."),
        meaning: Some("The traceback is missing in the log, so the location is unknown.".into()),
        confidence: Confidence::Candidate,
        events: Vec::new(),
        lines: vec![(line.read, line.number, line.text.clone())],
        whose: line.prefix.rank.map(|rank| Whose::ranks(&[rank])),
    })
}
