//! The sections of a report, each by its kind.

use super::causes::fix;
use super::nodes;
use crate::page::{Cell, Part, Table, badge, class, escape};
use crate::render::json::IgnoredEntry;
use crate::report::{Body, Column, Row, Section};

pub(super) fn part(section: &Section) -> Part {
    let heading = section.heading.as_ref();
    let body = match &section.body {
        Body::Table { columns, rows } => table(heading, columns, rows),
        Body::Nodes(of) => nodes::table(of),
        Body::Lines(lines) => format!("<pre>{}</pre>\n", escape(&lines.join("\n"))),
        Body::List(points) => {
            let points: String = points.iter().map(|point| format!("<li>{}</li>\n", escape(point))).collect();
            format!("<ul>\n{points}</ul>\n")
        }
        Body::Fixes(fixes) => {
            let mut text = String::new();
            fixes.iter().for_each(|one| fix(&mut text, one));
            text
        }
        Body::Ignored(entries) => {
            let entry = |one: &IgnoredEntry| {
                format!("<li><code>{}</code> ({})</li>\n", escape(&one.id), escape(&one.file))
            };
            format!("<ul>\n{}</ul>\n", entries.iter().map(entry).collect::<String>())
        }
        Body::Chart(chart) => chart.in_page(),
    };
    Part::new(format!("section-{heading}"), heading, body)
}

fn table(heading: &str, columns: &[Column], rows: &[Row]) -> String {
    let headers: Vec<Cell> = columns.iter().map(|column| Cell::of(column, column.title)).collect();
    let mut table = Table::new("section", heading, false, &headers);
    for row in rows {
        let mut cells: Vec<Cell> =
            columns.iter().zip(&row.cells).map(|(column, cell)| Cell::of(column, cell)).collect();
        if let (Some((mark, word)), Some(first)) = (row.mark, cells.first_mut()) {
            first.html = format!("{} {}", first.html, badge(mark, word));
        }
        table.row(row.mark.map_or("", |(mark, _)| class(mark)), &cells);
    }
    table.end()
}
