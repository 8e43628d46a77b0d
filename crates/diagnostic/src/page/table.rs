//! A table with a caption, and headers that say what they head.

use std::fmt::Write;

use super::escape;
use crate::report::Column;

/// Characters of a cell up to which its column takes no more room than the longest word.
const SHORT: usize = 20;

/// A table in the making: the first cell of a row is its header.
#[derive(Debug)]
pub struct Table {
    text: String,
}

/// A cell: HTML, and its class in the stylesheet.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    pub class: String,
    pub html: String,
}

impl Cell {
    /// Text of anywhere; a long one is given room before its words are broken.
    pub fn text(text: &str) -> Cell {
        let class = if text.chars().count() > SHORT { "text" } else { "" };
        Cell { class: class.into(), html: escape(text) }
    }

    /// HTML that is escaped already.
    pub fn html(class: &str, html: impl Into<String>) -> Cell {
        Cell { class: class.into(), html: html.into() }
    }

    /// As the column aligns it.
    pub fn of(column: &Column, text: &str) -> Cell {
        match column.number {
            true => Cell::html("number", escape(text)),
            false => Cell::text(text),
        }
    }

    fn attribute(&self) -> String {
        if self.class.is_empty() { String::new() } else { format!(" class=\"{}\"", self.class) }
    }
}

impl Table {
    /// With these headers. `class` chooses the look. A table that scrolls by itself takes the focus, so that
    /// the keyboard can scroll it.
    pub fn new(class: &str, caption: &str, scrolls: bool, headers: &[Cell]) -> Table {
        let caption = escape(caption);
        let mut text = match scrolls {
            true => {
                format!("<div class=\"scroll\" role=\"region\" aria-label=\"{caption}\" tabindex=\"0\">\n")
            }
            false => "<div class=\"scroll\">\n".to_owned(),
        };
        let _ = writeln!(text, "<table class=\"{class}\">\n<caption>{caption}</caption>\n<thead><tr>");
        for header in headers {
            let _ = write!(text, "<th scope=\"col\"{}>{}</th>", header.attribute(), header.html);
        }
        text.push_str("</tr></thead>\n<tbody>\n");
        Table { text }
    }

    /// Adds a row; `class` is the class of the whole row, or empty.
    pub fn row(&mut self, class: &str, cells: &[Cell]) {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let _ = write!(self.text, "<tr{class}>");
        for (index, cell) in cells.iter().enumerate() {
            let attribute = cell.attribute();
            let _ = match index {
                0 => write!(self.text, "<th scope=\"row\"{attribute}>{}</th>", cell.html),
                _ => write!(self.text, "<td{attribute}>{}</td>", cell.html),
            };
        }
        self.text.push_str("</tr>\n");
    }

    /// The whole table.
    pub fn end(self) -> String {
        self.text + "</tbody>\n</table>\n</div>\n"
    }
}
