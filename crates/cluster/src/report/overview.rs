//! The nodes of a cluster next to each other, for Markdown and pages: how each is, which were not inspected
//! and why, what differs between them, and what is the same.

use crate::check::{Access, Inspection, NodeResults};
use diagnostic::report::{Body, Column, NodeRow, Nodes, Outcome, Report, Row, Section, Summary};
use diagnostic::rule::{Group, Rule as _};
pub(super) use diagnostic::words::few;
use diagnostic::{Fix, Subject};
use facts::Fact;
use facts::fleet::Member;
use facts::fleet::traits::{TRAITS, Trait, value};
use judge::fleet::FleetResult;

/// More nodes than these are `all others`, if they are most nodes.
const MANY: usize = 4;

const NOT_INSPECTED: &[Column] =
    &[Column::words("node"), Column::words("access"), Column::words("reason"), Column::words("what to do")];
const DIFFERENCES: &[Column] =
    &[Column::words("property"), Column::words("value"), Column::number("count"), Column::words("nodes")];

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
    let Compared { same, different, unknown } = compared(&inspection.fleet.members);
    let all = [
        ("Nodes", Body::Nodes(nodes(&inspection.nodes))),
        ("Not inspected", not_inspected(&inspection.nodes)),
        ("Differences between the nodes", Body::Table { columns: DIFFERENCES, rows: different }),
        ("Identical on all nodes that could be read", Body::List(same)),
        ("Unknown on every node", Body::List(unknown)),
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
    let is_inspected = |node: &NodeResults| node.access == Access::Inspected;
    let none = !all.iter().any(is_inspected);
    let has_column = |group: &Group| {
        let shows = |node: &NodeResults| {
            let summary = of_group(node, group);
            summary.error + summary.warning + summary.note > 0 || is_inspected(node) && summary.unknown > 0
        };
        none || all.iter().any(shows)
    };
    let (groups, others): (Vec<Group>, Vec<Group>) = groups.into_iter().partition(has_column);
    let has_passed =
        |group: &Group| all.iter().any(|node| is_inspected(node) && of_group(node, group).pass > 0);
    let (passed, not_applicable) = others.into_iter().partition(has_passed);
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
    Nodes { rows, groups, passed, not_applicable }
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

/// The properties of the nodes.
#[derive(Debug, Default)]
struct Compared {
    /// What all nodes have, or lack, that could be read; with those that could not.
    same: Vec<String>,
    /// A row for each value of what differs.
    different: Vec<Row>,
    /// What no node's inspection says.
    unknown: Vec<String>,
}

/// Values of one property, each with the nodes that have it.
pub(super) type Values<'m> = Vec<(Fact<String>, Vec<&'m str>)>;

/// How the nodes compare in one property.
pub(super) enum Comparison<'m> {
    /// There are no nodes, or all lack it: that nodes without GPUs have no driver tells nothing.
    Nothing,
    /// No node's inspection says.
    Unknown,
    /// The nodes that could be read have the same, or all lack it. `but`: those that could not, as
    /// ` (unknown on node2)`, or empty.
    Same { value: String, but: String },
    /// At least two values are known.
    Different(Values<'m>),
}

pub(super) fn comparison<'m>(one: &Trait, members: &'m [Member]) -> Comparison<'m> {
    let values = values(one, members);
    let (unknown, read): (Vec<_>, Vec<_>) =
        values.iter().partition(|(found, _)| matches!(found, Fact::Unknown(_)));
    match &read[..] {
        [] if unknown.is_empty() => Comparison::Nothing,
        [] => Comparison::Unknown,
        [(Fact::Absent, _)] if unknown.is_empty() => Comparison::Nothing,
        [(found, _)] => {
            let but = unknown.iter().map(|(_, nodes)| format!(" (unknown on {})", few(nodes))).collect();
            Comparison::Same { value: value(found), but }
        }
        _ => Comparison::Different(values),
    }
}

fn compared(members: &[Member]) -> Compared {
    let mut all = Compared::default();
    for one in TRAITS {
        match comparison(one, members) {
            Comparison::Nothing => {}
            Comparison::Unknown => all.unknown.push(one.name.to_owned()),
            Comparison::Same { value, but } => all.same.push(format!("{}: {value}{but}", one.name)),
            Comparison::Different(values) => all.different.extend(values.iter().map(|(found, nodes)| {
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
    all
}

/// Each value with the nodes that have it, the one of most nodes first; unknown is one value, for whatever
/// reason.
fn values<'m>(one: &Trait, members: &'m [Member]) -> Values<'m> {
    let mut values: Values<'m> = Vec::new();
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
    use diagnostic::layout::Layout;
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
        let rows = compared(&inspection.fleet.members).different;
        let kernels: Vec<Vec<String>> =
            rows.into_iter().map(|row| row.cells).filter(|cells| cells[0] == "kernel").collect();
        let expected = [
            ["kernel", "5.15.0", "2", "node2, node4"],
            ["kernel", "6.8.0", "1", "node1"],
            ["kernel", "unknown", "1", "node3"],
        ];
        assert_eq!(kernels, expected);
    }

    #[test]
    fn what_one_side_does_not_show_is_no_difference() {
        let node = |name, kernel| (name, with_kernel(kernel), Access::Inspected);
        let unread = || ("node2", unknown(), Access::Unreachable);
        let layout = Layout { width: 10_000, unicode: true, verbose: false, root: false };
        let shown = |nodes| {
            let inspection = inspection(nodes);
            let report = crate::report::check::json(&inspection, &[], Vec::new());
            let times: Vec<bool> = report.nodes.iter().map(|node| node.time.is_some()).collect();
            (crate::report::check::text(&inspection, &[], layout), times)
        };
        let (two, times) = shown(vec![node("node1", "6.8.0"), unread()]);
        assert!(!two.contains("differs") && two.contains("the same (unknown on node2): "), "{two}");
        assert!(two.contains("kernel 6.8.0"), "{two}");
        assert_eq!(times, [true, false]);
        let (three, _) = shown(vec![node("node1", "6.8.0"), unread(), node("node3", "5.15.0")]);
        let (_, table) = three.split_once("differs").unwrap();
        let rows = table.lines().skip(1).take_while(|line| !line.is_empty()).collect::<Vec<_>>();
        assert!(matches!(rows[..], [row] if row.starts_with("kernel")), "{three}");
    }

    /// What one node lacks and another does not show is not left out, and what no node shows is no property
    /// of all.
    #[test]
    fn unknown_properties_are_shown() {
        let without = |facts: &mut Facts| facts.system.kernel = Fact::Absent;
        let inspection = inspection(vec![
            ("node1", server::server(without), Access::Inspected),
            ("node2", unknown(), Access::Unreachable),
        ]);
        let compared = compared(&inspection.fleet.members);
        assert!(compared.same.contains(&"kernel: none (unknown on node2)".to_owned()), "{compared:?}");
        let nobody = super::compared(&[]);
        assert!(nobody.same.is_empty() && nobody.unknown.is_empty(), "{nobody:?}");
        let dark = self::inspection(vec![("node2", unknown(), Access::Unreachable)]);
        let dark = super::compared(&dark.fleet.members);
        assert!(dark.same.is_empty() && dark.unknown.contains(&"kernel".to_owned()), "{dark:?}");
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
        // A node of which only the engine was asked can have findings, which no group may hide.
        let engine_only =
            inspection(vec![one("node1", machine()), ("node2", roles::gpu_node(), Access::NotInspected)]);
        let both = nodes(&engine_only.nodes);
        assert!(both.rows.iter().all(|row| row.groups.len() == both.groups.len()), "{both:?}");
        let idle = nodes(&inspection(vec![("node1", roles::build_host(), Access::Inspected)]).nodes);
        assert!(idle.passed.iter().all(|group| !idle.not_applicable.contains(group)));
        let titles: Vec<&str> = idle.not_applicable.iter().map(|group| group.title).collect();
        assert!(titles.contains(&"GPUs"), "not applicable is no pass: {titles:?}");
        let nothing = nodes(&inspection(vec![("node2", unknown(), Access::Unreachable)]).nodes);
        assert!(nothing.passed.is_empty(), "nothing was inspected");
    }
}
