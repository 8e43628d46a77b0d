//! What `envdoc cluster check` found: a table of what differs, what is wrong between the machines, and on
//! each.

use std::collections::BTreeMap;
use std::fmt::Write;

pub use super::entries::{ClusterCheckReport, FleetEntry, NodeEntry};
pub use super::overview::report;
use super::overview::{Comparison, Values, comparison, few};
use super::unreached::{self, Marks, Row, Unreached};
use crate::check::{Access, Inspection, NodeResults};
use anstyle::Style;
use diagnostic::Fix;
use diagnostic::layout::{Layout, Mark, wrapped};
use diagnostic::render::json::{FixEntry, IgnoredEntry, evidence, fixes, old_fix};
use diagnostic::render::text::finding;
use diagnostic::report::Summary;
use facts::Fact;
use facts::fleet::Member;
use facts::fleet::traits::{TRAITS, Trait, value};
use judge::Verdict;
use judge::fleet::FleetResult;
use judge::report::{json as check_json, machine};

/// Version of the format.
pub const SCHEMA: u32 = 2;
/// The widest a table gets before machines go into rows.
const COLUMNS_MAX: usize = 4;

/// The verdicts on one machine.
fn verdicts(node: &NodeResults) -> impl Iterator<Item = &Verdict> {
    node.results.iter().map(|result| &result.verdict)
}

/// All results together.
pub fn summary(inspection: &Inspection, results: &[FleetResult]) -> Summary {
    let own = inspection.nodes.iter().flat_map(|node| node.results.iter().map(|result| &result.verdict));
    Summary::of(own.chain(results.iter().map(|result| &result.verdict)))
}

/// The report of some results. `ignored`: what settings leave out of them.
pub fn json(
    inspection: &Inspection,
    results: &[FleetResult],
    ignored: Vec<IgnoredEntry>,
) -> ClusterCheckReport {
    let mut table: BTreeMap<String, BTreeMap<String, Option<String>>> = BTreeMap::new();
    for one in TRAITS {
        let row = table.entry(one.name.to_owned()).or_default();
        for member in &inspection.fleet.members {
            let found = match (one.of)(&member.facts) {
                Fact::Unknown(_) => None,
                known => Some(value(&known)),
            };
            row.insert(member.name.clone(), found);
        }
    }
    let entry = |result: &FleetResult| {
        let verdict = &result.verdict;
        FleetEntry {
            check: result.check.id.into(),
            status: verdict.status().into(),
            message: verdict.message().into(),
            evidence: evidence(verdict),
            fixes: fixes(verdict),
            fix: old_fix(verdict),
        }
    };
    let node = |(node, member): (&NodeResults, &Member)| NodeEntry {
        name: node.name.clone(),
        engine: node.engine.clone(),
        access: node.access,
        closed: node.closed.clone(),
        hints: node.fixes.iter().map(Fix::to_string).collect(),
        fixes: node.fixes.iter().map(FixEntry::from).collect(),
        seconds: node.seconds,
        time: machine::time(&member.facts),
        clock_ahead: member.skew.known().map(|skew| skew.seconds),
        summary: Summary::of(verdicts(node)),
        results: node.results.iter().map(check_json::of_check).collect(),
    };
    ClusterCheckReport {
        schema: SCHEMA,
        envdoc: env!("CARGO_PKG_VERSION").into(),
        summary: summary(inspection, results),
        results: results.iter().map(entry).collect(),
        table,
        nodes: inspection.nodes.iter().zip(&inspection.fleet.members).map(node).collect(),
        ignored,
        notes: inspection.notes.clone(),
    }
}

pub fn text(inspection: &Inspection, results: &[FleetResult], layout: Layout) -> String {
    let mut text = access(&inspection.nodes, layout);
    if inspection.nodes.iter().all(unknown) {
        // Whatever is unknown now, is so for the reasons above.
        let checks = results.len();
        let message = format!("{checks} checks between the machines could not run: no machine is reachable");
        wrapped(&mut text, &message, "? ", "  ", layout);
        let _ = writeln!(text, "\n{}", summary(inspection, results).words());
        return text;
    }
    table(&mut text, inspection, layout);
    for node in inspection.nodes.iter().filter(|node| !unknown(node)) {
        machine(&mut text, node, layout);
    }
    text.push('\n');
    let bold = Style::new().bold();
    let _ = writeln!(text, "{bold}All machines together{bold:#}");
    for result in results {
        verdict(&mut text, result.check.id, result.check.summary, &result.verdict, layout);
    }
    for note in &inspection.notes {
        wrapped(&mut text, note, "  note: ", "    ", layout);
    }
    let own = summary(inspection, results);
    let _ = writeln!(text, "\n{}", own.words());
    text
}

/// Whether nothing is known of a machine.
fn unknown(node: &NodeResults) -> bool {
    matches!(node.access, Access::Unreachable | Access::Unreadable)
}

/// Which machines were reached, and one line for each reason why some were not; nothing where all were
/// inspected.
pub fn access(nodes: &[NodeResults], layout: Layout) -> String {
    let mut text = String::new();
    if nodes.iter().all(|node| node.access == Access::Inspected) {
        return text;
    }
    let access = |node: &NodeResults| match node.access {
        Access::Inspected => "inspected",
        Access::NotInspected => "connected, not inspected",
        Access::Unreachable => "UNREACHABLE",
        Access::Unreadable => "UNREADABLE",
    };
    let rows = nodes.iter().map(|node| Row { node: &node.name, engine: &node.engine, access: access(node) });
    unreached::table(&mut text, &rows.collect::<Vec<_>>());
    let unreached = nodes.iter().filter(|node| unknown(node)).map(|node| Unreached {
        node: &node.name,
        why: node.closed.as_deref().unwrap_or("no connection"),
        cause: node.cause,
        fixes: &node.fixes,
    });
    let marks = Marks { sign: "?", style: Mark::Unknown.style(), hint: "hint: " };
    unreached::causes(&mut text, unreached, &marks, layout);
    text.push('\n');
    text
}

/// What is the same or unknown in a line each; what is known to differ, a row each. Many machines go into
/// groups.
fn table(text: &mut String, inspection: &Inspection, layout: Layout) {
    let members = &inspection.fleet.members;
    let different = alike(text, members, layout);
    if different.is_empty() {
        return;
    }
    if members.len() > COLUMNS_MAX {
        for (one, values) in different {
            wrapped(text, &grouped(&values), &format!("{}: ", one.name), "  ", layout);
        }
        return;
    }
    let names: Vec<String> = members.iter().map(|member| member.name.clone()).collect();
    let mut rows = vec![("differs", names)];
    rows.extend(different.iter().map(|(one, _)| {
        (one.name, members.iter().map(|member| value(&(one.of)(&member.facts))).collect::<Vec<_>>())
    }));
    let first = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let width =
        |column: usize| rows.iter().map(|(_, values)| values[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..members.len()).map(width).collect();
    for (index, (name, values)) in rows.iter().enumerate() {
        let cells: Vec<String> =
            values.iter().zip(&widths).map(|(value, &width)| format!("{value:width$}")).collect();
        let style = if index == 0 { Style::new().bold() } else { Style::new() };
        let _ = writeln!(text, "{style}{name:first$}  {}{style:#}", cells.join("  ").trim_end());
    }
}

/// Writes what is the same or unknown; what is known to differ, with the machines of each value.
fn alike<'m>(text: &mut String, members: &'m [Member], layout: Layout) -> Vec<(&'static Trait, Values<'m>)> {
    // What is the same, by the machines that it is unknown of.
    let mut same: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (mut unknown, mut different) = (Vec::new(), Vec::new());
    for &one in TRAITS {
        match comparison(one, members) {
            Comparison::Nothing => {}
            Comparison::Unknown => unknown.push(one.name),
            Comparison::Same { value, but } => {
                same.entry(but).or_default().push(format!("{} {value}", one.name));
            }
            Comparison::Different(values) => different.push((one, values)),
        }
    }
    for (but, same) in same {
        wrapped(text, &same.join(", "), &format!("the same{but}: "), "  ", layout);
    }
    if !unknown.is_empty() && members.len() > 1 {
        wrapped(text, &unknown.join(", "), "unknown on every machine: ", "  ", layout);
    }
    different
}

/// `580.95.05: node1, node2 and 60 more; 550.54.14: node7`.
fn grouped(values: &[(Fact<String>, Vec<&str>)]) -> String {
    let group = |(found, names): &(Fact<String>, Vec<&str>)| format!("{}: {}", value(found), few(names));
    values.iter().map(group).collect::<Vec<_>>().join("; ")
}

/// One machine: its counts, and what is wrong with it.
fn machine(text: &mut String, node: &NodeResults, layout: Layout) {
    let bold = Style::new().bold();
    let summary = Summary::of(verdicts(node));
    let _ = writeln!(text, "\n{bold}{}{bold:#} ({}): {}", node.name, node.engine, summary.words());
    if let Some(why) = &node.closed {
        let style = Mark::Unknown.style();
        wrapped(text, &format!("could not check: {why}"), &format!("  {style}?{style:#} "), "      ", layout);
        for fix in &node.fixes {
            wrapped(text, &fix.to_string(), "      hint: ", "      ", layout);
        }
    }
    for result in &node.results {
        if let Verdict::Found(found) = &result.verdict {
            finding(text, result.check.id, found, layout);
        }
    }
    if node.closed.is_none() && summary.unknown > 0 {
        let unknown = node.results.iter().filter_map(|result| match &result.verdict {
            Verdict::Unknown(_) => Some(result.check.id),
            _ => None,
        });
        let ids: Vec<&str> = unknown.collect();
        let shown = if layout.verbose { ids.join(", ") } else { few(&ids) };
        let style = Mark::Unknown.style();
        wrapped(
            text,
            &format!("could not check: {shown}"),
            &format!("    {style}?{style:#} "),
            "      ",
            layout,
        );
    }
}

fn verdict(text: &mut String, id: &str, summary: &str, verdict: &Verdict, layout: Layout) {
    let mark = verdict.mark();
    let (style, sign) = (mark.style(), mark.sign(layout.unicode));
    let mut line = |words: &str| wrapped(text, words, &format!("  {style}{sign}{style:#} "), "    ", layout);
    match verdict {
        Verdict::Found(found) => finding(text, id, found, layout),
        Verdict::Pass => line(summary),
        Verdict::Unknown(why) => line(&format!("{id}: could not check: {why}")),
        Verdict::NotApplicable(why) if layout.verbose => line(&format!("{id}: not applicable: {why}")),
        Verdict::NotApplicable(_) => {}
    }
}
