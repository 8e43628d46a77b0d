//! Nodes next to each other: a row a node, a column a group.

use crate::layout::Mark;
use crate::page::{Cell, Table, class, escape, sign};
use crate::report::{NodeRow, Nodes, Summary};

pub(super) fn table(nodes: &Nodes) -> String {
    let titles = ["Node", "All"].into_iter().chain(nodes.groups.iter().map(|group| group.title));
    let headers: Vec<Cell> = titles.chain(["Endpoint"]).map(|title| Cell::html("", escape(title))).collect();
    let caption = "Results of each node by group, the worst first. \
        ✗ errors, ! warnings, ? could not check, i notes, ✓ passed, – not applicable";
    let mut table = Table::new("nodes stick", caption, true, &headers);
    for row in &nodes.rows {
        table.row("", &cells(row));
    }
    let mut text = table.end();
    for sentence in nodes.without_column() {
        text += &format!("<p>{}</p>\n", escape(&sentence));
    }
    text
}

fn cells(row: &NodeRow) -> Vec<Cell> {
    let mut cells = vec![Cell::html("", escape(&row.name)), cell(&row.all, usize::MAX)];
    cells.extend(row.groups.iter().map(|group| cell(group, 1)));
    cells.push(Cell::html("", escape(&row.detail)));
    cells
}

/// The worst of a group with its number, in signs; in words for those who do not see the signs.
fn cell(summary: &Summary, most: usize) -> Cell {
    let mut counts = summary.counts();
    counts.sort_by_key(|(mark, ..)| std::cmp::Reverse(*mark));
    let Some(worst) = counts.first().map(|(mark, ..)| *mark) else {
        return Cell::html("", format!("{}<i>not applicable</i>", sign(Mark::NotApplicable)));
    };
    let not_passed = counts.iter().filter(|(mark, ..)| *mark > Mark::Pass).take(most);
    let shown: Vec<String> =
        not_passed.map(|(mark, count, _)| format!("{}\u{a0}{count}", sign(*mark))).collect();
    let shown = if shown.is_empty() { sign(Mark::Pass).to_owned() } else { shown.join(" ") };
    Cell::html(class(worst), format!("{shown}<i>{}</i>", escape(&summary.words())))
}
