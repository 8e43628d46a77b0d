//! The nodes of a cluster next to each other, for Markdown and pages: how each is, which were not inspected
//! and why, what differs between them, and what is the same.

use crate::check::{Access, Inspection, NodeResults};
use diagnostic::report::{Body, Column, NodeRow, Nodes, Outcome, Report, Row, Section, Summary};
use diagnostic::rule::{Group, Rule as _};
use diagnostic::{Fix, Subject};
use facts::Fact;
use facts::fleet::Member;
use facts::fleet::traits::{TRAITS, Trait, value};
use judge::fleet::FleetResult;

/// From more nodes on than these, the value of most nodes is listed without their names.
const MANY: usize = 4;

const NOT_INSPECTED: &[Column] =
    &[Column::words("node"), Column::words("access"), Column::words("reason"), Column::words("what to do")];
const DIFFERENCES: &[Column] =
    &[Column::words("what"), Column::words("value"), Column::number("nodes"), Column::words("which")];

/// The results between the machines and of each, for every renderer.
pub fn report(inspection: &Inspection, results: &[FleetResult]) -> Report {
    let fleet = results.iter().map(|result| Outcome::new(result.check, result.verdict.clone()));
    let own = inspection.nodes.iter().flat_map(|node| {
        let on_node = |outcome: Outcome| outcome.on(Subject::node(&node.name));
        node.results.iter().map(move |one| on_node(Outcome::new(one.check, one.verdict.clone())))
    });
    Report {
        command: "envdoc cluster check",
        about: vec![counts(&inspection.nodes)],
        properties: vec![("nodes", inspection.nodes.len().to_string())],
        overview: sections(inspection),
        results: fleet.chain(own).collect(),
        sections: Section::new("Notes", Body::List(inspection.notes.clone())).into_iter().collect(),
    }
}

/// How many nodes there are, and how many of them were inspected.
fn counts(nodes: &[NodeResults]) -> String {
    let accesses = [Access::Inspected, Access::NotInspected, Access::Unreachable, Access::Unreadable];
    let count = |access: &Access| nodes.iter().filter(|node| node.access == *access).count();
    let counted = accesses.iter().map(|access| (count(access), word(*access)));
    let words: Vec<String> =
        counted.filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    let noun = if nodes.len() == 1 { "node" } else { "nodes" };
    format!("{} {noun}: {}", nodes.len(), words.join(", "))
}

/// The sections before the results.
fn sections(inspection: &Inspection) -> Vec<Section> {
    let (same, different) = compared(&inspection.fleet.members);
    let all = [
        ("Nodes", Body::Nodes(nodes(&inspection.nodes))),
        ("Not inspected", not_inspected(&inspection.nodes)),
        ("Differences between the nodes", Body::Table { columns: DIFFERENCES, rows: different }),
        ("The same on all nodes", Body::List(same)),
    ];
    let shown = |(heading, body)| Section::new(heading, body);
    all.into_iter().filter_map(shown).collect()
}

fn word(access: Access) -> &'static str {
    match access {
        Access::Inspected => "inspected",
        Access::NotInspected => "connected, not inspected",
        Access::Unreachable => "unreachable",
        Access::Unreadable => "unreadable",
    }
}

fn nodes(all: &[NodeResults]) -> Nodes {
    let mut groups: Vec<Group> = Vec::new();
    for result in all.iter().flat_map(|node| &node.results) {
        if !groups.contains(&result.check.group()) {
            groups.push(result.check.group());
        }
    }
    let of_group = |node: &NodeResults, group: &Group| {
        let results = node.results.iter().filter(|result| result.check.group() == *group);
        Summary::of(results.map(|result| &result.verdict))
    };
    // Nothing is known of the other nodes in any group.
    let inspected = || all.iter().filter(|node| node.access == Access::Inspected);
    let has_column = |group: &Group| {
        inspected().count() == 0 || inspected().any(|node| !of_group(node, group).is_passed())
    };
    let (groups, passed): (Vec<Group>, Vec<Group>) = groups.into_iter().partition(has_column);
    let row = |node: &NodeResults| NodeRow {
        name: node.name.clone(),
        detail: match node.access {
            Access::Inspected => node.engine.clone(),
            other => format!("{} ({})", node.engine, word(other)),
        },
        all: Summary::of(node.results.iter().map(|result| &result.verdict)),
        groups: groups.iter().map(|group| of_group(node, group)).collect(),
    };
    let mut rows: Vec<NodeRow> = all.iter().map(row).collect();
    // Of many nodes most have nothing to show.
    rows.sort_by_key(|row| std::cmp::Reverse((row.all.error, row.all.warning, row.all.unknown)));
    Nodes { rows, groups, passed }
}

fn not_inspected(nodes: &[NodeResults]) -> Body {
    let row = |node: &NodeResults| {
        let fixes: Vec<String> = node.fixes.iter().map(Fix::to_string).collect();
        let reason = node.closed.as_deref().unwrap_or("no connection");
        Row::from(vec![node.name.clone(), word(node.access).into(), reason.into(), fixes.join(" ")])
    };
    let nodes = nodes.iter().filter(|node| node.access != Access::Inspected);
    Body::Table { columns: NOT_INSPECTED, rows: nodes.map(row).collect() }
}

/// What all nodes have, and a row for each value of what they do not.
fn compared(members: &[Member]) -> (Vec<String>, Vec<Row>) {
    let (mut same, mut different) = (Vec::new(), Vec::new());
    for one in TRAITS {
        let values = values(one, members);
        match &values[..] {
            [] | [(Fact::Absent, _)] => {}
            [(Fact::Known(known), _)] => same.push(format!("{}: {known}", one.name)),
            _ => different.extend(values.iter().map(|(found, nodes)| {
                let found = match found {
                    Fact::Unknown(_) => "unknown".to_owned(),
                    known => value(known),
                };
                // The names of the few tell more than those of the many.
                let which = match nodes.len() > MANY && nodes.len() * 2 > members.len() {
                    true => "all others".to_owned(),
                    false => nodes.join(", "),
                };
                Row::from(vec![one.name.to_owned(), found, nodes.len().to_string(), which])
            })),
        }
    }
    (same, different)
}

/// Each value with the nodes that have it, the one of most nodes first; unknown is one value, for whatever
/// reason.
fn values<'m>(one: &Trait, members: &'m [Member]) -> Vec<(Fact<String>, Vec<&'m str>)> {
    let mut values: Vec<(Fact<String>, Vec<&str>)> = Vec::new();
    for member in members {
        let found = (one.of)(&member.facts);
        let same = |known: &Fact<String>| match (known, &found) {
            (Fact::Unknown(_), Fact::Unknown(_)) => true,
            (known, found) => known == found,
        };
        match values.iter_mut().find(|(known, _)| same(known)) {
            Some((_, nodes)) => nodes.push(&member.name),
            None => values.push((found, vec![&member.name])),
        }
    }
    values.sort_by_key(|(_, nodes)| std::cmp::Reverse(nodes.len()));
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::Facts;
    use facts::fleet::Fleet;
    use facts::testing::{roles, server, unknown};

    fn inspection(machines: Vec<(&str, Facts, Access)>) -> Inspection {
        let node = |(name, facts, access): &(&str, Facts, Access)| NodeResults {
            name: (*name).to_owned(),
            engine: format!("ssh://{name}"),
            access: *access,
            closed: (*access != Access::Inspected).then(|| "no route to host".to_owned()),
            fixes: Vec::new(),
            cause: None,
            results: judge::judge(checks::CHECKS, facts),
            seconds: 0.0,
        };
        let nodes = machines.iter().map(node).collect();
        let why = || "not asked".to_owned();
        let member = |(name, facts, _): (&str, Facts, Access)| Member {
            name: name.to_owned(),
            address: name.to_owned(),
            facts,
            identity: Fact::unknown(why()),
            skew: Fact::unknown(why()),
            contents: Default::default(),
            image: Fact::unknown(why()),
        };
        let members = machines.into_iter().map(member).collect();
        let fleet = Fleet {
            members,
            pairs: Vec::new(),
            not_tried: Some(why()),
            same_content: Vec::new(),
            image: None,
        };
        Inspection { fleet, nodes, notes: Vec::new() }
    }

    fn with_kernel(kernel: &str) -> Facts {
        server::server(|facts| facts.system.kernel = Fact::Known(kernel.to_owned()))
    }

    #[test]
    fn a_row_for_each_value_and_the_most_common_first() {
        let inspection = inspection(vec![
            ("node1", with_kernel("6.8.0"), Access::Inspected),
            ("node2", with_kernel("5.15.0"), Access::Inspected),
            ("node3", unknown(), Access::Unreachable),
            ("node4", with_kernel("5.15.0"), Access::Inspected),
        ]);
        assert_eq!(counts(&inspection.nodes), "4 nodes: 3 inspected, 1 unreachable");
        let (_, rows) = compared(&inspection.fleet.members);
        let kernels: Vec<Vec<String>> =
            rows.into_iter().map(|row| row.cells).filter(|cells| cells[0] == "kernel").collect();
        let expected = [
            ["kernel", "5.15.0", "2", "node2, node4"],
            ["kernel", "6.8.0", "1", "node1"],
            ["kernel", "unknown", "1", "node3"],
        ];
        assert_eq!(kernels, expected);
    }

    /// Everything of an unreachable node is unknown: that is said once, not by a column for every group.
    #[test]
    fn an_unreachable_node_adds_no_columns_and_is_no_pass() {
        let machine = || (roles::gpu_node(), Access::Inspected);
        let one = |name, (facts, access)| (name, facts, access);
        let alone = nodes(&inspection(vec![one("node1", machine())]).nodes);
        let all = inspection(vec![one("node1", machine()), ("node2", unknown(), Access::Unreachable)]);
        let together = nodes(&all.nodes);
        assert_eq!(together.groups, alone.groups);
        let unreached = together.rows.iter().find(|row| row.name == "node2").unwrap();
        assert!(unreached.detail.ends_with("(unreachable)"), "{unreached:?}");
        assert!(unreached.all.unknown > 0 && unreached.all.pass == 0, "{unreached:?}");
        let Body::Table { rows, .. } = not_inspected(&all.nodes) else { panic!("a table") };
        assert_eq!(rows[0].cells[..3], ["node2", "unreachable", "no route to host"]);
        let nothing = nodes(&inspection(vec![("node2", unknown(), Access::Unreachable)]).nodes);
        assert!(nothing.passed.is_empty(), "nothing was inspected");
    }
}
