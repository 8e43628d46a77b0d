//! The table as a page that needs nothing else.

use std::fmt::Write;

use diagnostic::render::html::escape;

use super::{Cell, LEGEND, Matrix};

/// The page around the table.
const PAGE: &str = include_str!("page.html");

/// Renders the matrix as a page that needs no other file.
pub fn report(matrix: &Matrix) -> String {
    let mut table = String::from("<thead><tr><th>torch</th><th>released</th><th>Python</th><th>glibc</th>");
    for cuda in &matrix.cudas {
        let _ = write!(table, "<th>CUDA {}</th>", escaped(cuda));
    }
    table.push_str("</tr></thead>\n<tbody>\n");
    for row in &matrix.rows {
        let _ = write!(
            table,
            "<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td>",
            escaped(&row.torch),
            escaped(&row.released),
            escaped(&row.pythons),
            escaped(&row.glibc)
        );
        row.cells.iter().for_each(|one| table.push_str(&cell(one)));
        table.push_str("</tr>\n");
    }
    table.push_str("</tbody>");
    let legend: String = LEGEND
        .iter()
        .map(|(sign, meaning)| format!("<dt>{}</dt><dd>{}</dd>\n", escaped(sign), escaped(meaning)))
        .collect();
    PAGE.replace("{title}", &escaped(&matrix.title()))
        .replace("{checked}", &escaped(&matrix.checked))
        .replace("{version}", env!("CARGO_PKG_VERSION"))
        .replace("{legend}", legend.trim_end())
        .replace("{table}", &table)
}

fn cell(cell: &Cell) -> String {
    let signs = escaped(&cell.signs());
    match cell {
        Cell::None => format!("<td class=\"none\">{signs}</td>"),
        Cell::Unknown => format!("<td class=\"unknown\">{signs}</td>"),
        Cell::Build { pypi, details, .. } => {
            let class = if *pypi { "build pypi" } else { "build" };
            format!("<td class=\"{class}\" title=\"{}\">{signs}</td>", escaped(&details.join("\n")))
        }
    }
}

/// Text in an attribute; its line ends are kept.
fn escaped(text: &str) -> String {
    escape(text).replace('\n', "&#10;")
}
