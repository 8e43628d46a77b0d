//! Results that are no findings: what could not be checked, steps, what passed, what does not apply.

use std::collections::BTreeMap;

use super::{Contents, names};
use crate::Verdict;
use crate::layout::Mark;
use crate::page::{Cell, Part, Table, badge, class, escape};
use crate::report::Outcome;

/// Each reason once, with the checks that it stopped and the nodes where.
pub(super) fn unknown(contents: &Contents) -> Option<Part> {
    // Reason and check, then the nodes; checks with the same reason on the same nodes share a row.
    let mut nodes: BTreeMap<(&str, &str), (&Outcome, Vec<String>)> = BTreeMap::new();
    for outcome in contents.results() {
        if let Verdict::Unknown(why) = &outcome.verdict {
            let entry = nodes.entry((&why.detail, &outcome.rule.id)).or_insert((outcome, Vec::new()));
            entry.1.extend(outcome.subject.node.clone());
        }
    }
    let mut rows: BTreeMap<(&str, Vec<String>), Vec<&Outcome>> = BTreeMap::new();
    for ((reason, _), (outcome, nodes)) in nodes {
        rows.entry((reason, nodes)).or_default().push(outcome);
    }
    if rows.is_empty() {
        return None;
    }
    let several = contents.nodes > 1;
    let headers = ["Reason", "Checks", "Nodes"].map(Cell::text);
    let caption = "These checks could not run: their results are unknown, not passed.";
    let mut table = Table::new("unknown", caption, false, &headers[..if several { 3 } else { 2 }]);
    for ((reason, nodes), outcomes) in rows {
        let check = |outcome: &&Outcome| {
            format!("<li>{} {}</li>", contents.id(&outcome.rule.id), escape(&outcome.rule.summary))
        };
        let checks: String = outcomes.iter().map(check).collect();
        let mut cells =
            vec![Cell::text(reason), Cell::html("text", format!("<ul class=\"ids\">{checks}</ul>"))];
        if several {
            cells.push(Cell::html(
                "text",
                match nodes.is_empty() {
                    true => "cluster-wide".to_owned(),
                    false => format!("<ul class=\"places\">{}</ul>", names(&nodes)),
                },
            ));
        }
        table.row("", &cells);
    }
    Some(Part::new("unknown", "Could not check", table.end()))
}

/// The results that are steps of a test, in the order in which they ran.
pub(super) fn steps(contents: &Contents) -> Option<Part> {
    let steps: Vec<&Outcome> =
        contents.report.results.iter().filter(|outcome| outcome.step.is_some()).collect();
    if steps.is_empty() {
        return None;
    }
    let by_node = steps.iter().any(|outcome| outcome.subject.node.is_some());
    let headers = ["Step", "Node", "Status", "Time", "Result"].map(|title| match title {
        "Time" => Cell::html("number", title),
        _ => Cell::html("", title),
    });
    let headers: Vec<Cell> = headers.into_iter().filter(|header| by_node || header.html != "Node").collect();
    let mut table = Table::new("steps", "Steps in the order in which they ran", false, &headers);
    for outcome in steps {
        let Some(step) = &outcome.step else { continue };
        let (mark, word) = step.mark.unwrap_or((outcome.verdict.mark(), outcome.verdict.status()));
        let mut cells = vec![Cell::html("", contents.id(&outcome.rule.id))];
        if by_node {
            cells.push(Cell::html("", escape(outcome.subject.node.as_deref().unwrap_or("all"))));
        }
        cells.push(Cell::html("", badge(mark, word)));
        cells.push(Cell::html("number", format!("{:.2} s", step.seconds)));
        cells.push(Cell::text(&step.observed));
        let row = if mark >= Mark::Warning { class(mark) } else { "" };
        table.row(row, &cells);
    }
    Some(Part::new("steps", "Steps", table.end()))
}

/// The checks that passed, with the number of nodes where there are several.
pub(super) fn passed(contents: &Contents) -> Option<Part> {
    let chosen = contents.results().filter(|outcome| matches!(outcome.verdict, Verdict::Pass));
    listed(contents, chosen, ("passed", "Passed"), |outcome| &outcome.rule.summary)
}

/// What means nothing here, and why; of several nodes, each with reasons of its own, on how many.
pub(super) fn not_applicable(contents: &Contents) -> Option<Part> {
    let chosen = contents.results().filter(|outcome| matches!(outcome.verdict, Verdict::NotApplicable(_)));
    listed(contents, chosen, ("not-applicable", "Not applicable"), |outcome| match contents.nodes > 1 {
        true => &outcome.rule.summary,
        false => outcome.verdict.message(),
    })
}

/// A closed table: group, check, text; the same once.
fn listed<'r>(
    contents: &Contents<'r>,
    chosen: impl Iterator<Item = &'r Outcome>,
    (id, title): (&str, &str),
    text: impl Fn(&'r Outcome) -> &'r str,
) -> Option<Part> {
    let mut rows: Vec<(&Outcome, &str, usize)> = Vec::new();
    let mut known: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut count = 0;
    for outcome in chosen {
        count += 1;
        let shown = text(outcome);
        let index = *known.entry((&outcome.rule.id, shown)).or_insert_with(|| {
            rows.push((outcome, shown, 0));
            rows.len() - 1
        });
        rows[index].2 += 1;
    }
    if rows.is_empty() {
        return None;
    }
    let several = contents.nodes > 1;
    let second = match (id, several) {
        ("passed", _) => "Expected",
        (_, true) => "What is checked",
        (_, false) => "Why",
    };
    let headers = ["Check", second, "Group", "Nodes"].map(Cell::text);
    let mut table = Table::new("listed", title, false, &headers[..if several { 4 } else { 3 }]);
    for (outcome, shown, nodes) in rows {
        let texts = [contents.id(&outcome.rule.id), escape(shown), escape(outcome.rule.group.title)];
        let mut cells = texts.map(|html| Cell::html("", html)).to_vec();
        if several {
            let nodes = outcome.subject.node.is_some().then(|| nodes.to_string());
            cells.push(Cell::html("number", nodes.unwrap_or_default()));
        }
        table.row("", &cells);
    }
    Some(Part { closed: true, ..Part::new(id, format!("{title} ({count})"), table.end()) })
}
