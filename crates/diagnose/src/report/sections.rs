//! What Markdown and HTML show besides the causes: the possible causes with how to confirm each, the log
//! around the failure, the timeline.

use super::{confirmation, noticed, seconds};
use crate::root_cause::{Diagnosis, Evidence, Moment, Whose};
use diagnostic::report::{Body, Column, Row, Section};

const TIMELINE: &[Column] = &[
    Column::number("seconds"),
    Column::words("rank and node"),
    Column::words("event"),
    Column::words("first line"),
];

/// The sections of a diagnosis; the timeline only where it is asked for.
pub(super) fn sections(diagnosis: &Diagnosis, timeline: bool) -> Vec<Section> {
    let root = diagnosis.causes.first();
    let choices = root.map_or(&[][..], |cause| cause.choices);
    let choices = choices.iter().map(|choice| confirmation(choice, ""));
    let silent: Vec<String> = diagnosis.silent.iter().map(|rank| format!("rank {rank}")).collect();
    let all = [
        ("Possible causes", Body::List(choices.collect())),
        ("Log context", lines(root.map_or(&[][..], |cause| &cause.context))),
        ("The log ends with", lines(&diagnosis.last)),
        ("Ranks that logged no failure", Body::List(silent)),
        ("Timeline", Body::Table { columns: TIMELINE, rows: rows(diagnosis, timeline) }),
        ("No failure, but worth knowing", Body::List(notes(diagnosis))),
    ];
    all.into_iter().filter_map(|(heading, body)| Section::new(heading, body)).collect()
}

fn rows(diagnosis: &Diagnosis, timeline: bool) -> Vec<Row> {
    let moments = if timeline { &diagnosis.timeline[..] } else { &[] };
    let row = |moment: &Moment| {
        Row::from(vec![
            seconds(moment.seconds),
            moment.whose.as_ref().map_or(String::new(), Whose::to_string),
            moment.id.clone(),
            format!("{}:{}", moment.evidence.file, moment.evidence.line),
        ])
    };
    moments.iter().map(row).collect()
}

fn notes(diagnosis: &Diagnosis) -> Vec<String> {
    let note = |moment: &&Moment| {
        format!("{} ({}, {}:{})", moment.message, moment.id, moment.evidence.file, moment.evidence.line)
    };
    noticed(diagnosis).iter().map(note).collect()
}

fn lines(evidence: &[Evidence]) -> Body {
    let line = |one: &Evidence| format!("{}:{}: {}", one.file, one.line, one.text);
    Body::Lines(evidence.iter().map(line).collect())
}
