//! Live display of the smoke test: a table of phases and nodes on a terminal, else a line for each phase.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use anstyle::AnsiColor;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::smoke::progress::Event;
use diagnostic::terminal::{self, colour};
use diagnostic::visible;

/// Columns before the cells of the nodes: the longest name of a phase.
const NAME_COLUMNS: usize = 16;
/// Columns after them: seconds, and what is done.
const DETAIL_COLUMNS: usize = 36;

pub struct Live {
    nodes: Vec<String>,
    /// Columns of a cell; 1 where there is no room for the nodes' names.
    cell: usize,
    unicode: bool,
    table: Option<MultiProgress>,
    rows: RefCell<Vec<Row>>,
}

struct Row {
    name: String,
    message: String,
    cells: Vec<Cell>,
    start: Instant,
    bar: Option<ProgressBar>,
}

/// A phase on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cell {
    Waiting,
    Held,
    Broke,
}

impl Live {
    /// For these nodes.
    pub fn new(nodes: Vec<String>) -> Live {
        let longest = nodes.iter().map(|node| node.chars().count()).max().unwrap_or(0) + 2;
        let fits = NAME_COLUMNS + longest * nodes.len() + DETAIL_COLUMNS <= terminal::width();
        let live = Live {
            cell: if fits { longest } else { 1 },
            nodes,
            unicode: terminal::unicode(),
            table: terminal::redraws().then(MultiProgress::new),
            rows: RefCell::default(),
        };
        if let Some(table) = &live.table {
            let head = table.add(ProgressBar::new_spinner());
            head.set_style(style("{msg}"));
            head.finish_with_message(live.head());
        }
        live
    }

    pub fn step(&self, step: Event<'_>) {
        let mut rows = self.rows.borrow_mut();
        match step {
            Event::Phase { name, message } => {
                if let Some(last) = rows.last_mut().filter(|row| row.name == name) {
                    message.clone_into(&mut last.message);
                    last.cells.fill(Cell::Waiting);
                    self.draw(last);
                    return;
                }
                if let Some(last) = rows.last_mut() {
                    self.finish(last);
                }
                let row = self.begin(name, message);
                self.draw(&row);
                rows.push(row);
            }
            Event::Node { node, held } => {
                let Some(row) = rows.last_mut() else { return };
                for (cell, _) in row.cells.iter_mut().zip(&self.nodes).filter(|(_, name)| *name == node) {
                    *cell = if held { Cell::Held } else { Cell::Broke };
                }
                self.draw(row);
            }
        }
    }

    /// The report follows: what a terminal shows of the way there is taken away.
    pub fn end(&self) {
        for row in self.rows.borrow_mut().iter() {
            row.bar.iter().for_each(ProgressBar::finish_and_clear);
        }
        if let Some(table) = &self.table {
            let _ = table.clear();
        }
    }

    fn begin(&self, name: &str, message: &str) -> Row {
        let bar = self.table.as_ref().map(|table| {
            let bar = table.add(ProgressBar::new_spinner());
            let running = style("{wide_msg} {spinner} {elapsed:.dim}");
            bar.set_style(if self.unicode { running } else { running.tick_chars("|/-\\+") });
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        if bar.is_none() {
            terminal::note(&format!("{name}: {message}"));
        }
        let cells = vec![Cell::Waiting; self.nodes.len()];
        Row { name: name.to_owned(), message: message.to_owned(), cells, start: Instant::now(), bar }
    }

    /// The next phase begins: this one passed everywhere.
    fn finish(&self, row: &mut Row) {
        row.cells.fill(Cell::Held);
        if let Some(bar) = &row.bar {
            bar.set_style(style("{wide_msg}"));
            bar.finish_with_message(format!(
                "{}{:>7.2} s",
                self.line(row),
                row.start.elapsed().as_secs_f64()
            ));
        }
    }

    fn draw(&self, row: &Row) {
        if let Some(bar) = &row.bar {
            bar.set_message(format!("{}  {}", self.line(row), visible::line(&row.message)));
        }
    }

    fn head(&self) -> String {
        let blank = " ".repeat(NAME_COLUMNS);
        match self.cell {
            1 => format!(
                "{blank}{} nodes, {} to {}",
                self.nodes.len(),
                self.nodes[0],
                self.nodes[self.nodes.len() - 1]
            ),
            _ => self
                .nodes
                .iter()
                .fold(blank, |line, node| line + &format!("{node:<width$}", width = self.cell)),
        }
    }

    fn line(&self, row: &Row) -> String {
        let pad = " ".repeat(self.cell - 1);
        row.cells.iter().fold(format!("{:<NAME_COLUMNS$}", row.name), |line, cell| {
            let (sign, style) = self.sign(*cell);
            line + &format!("{style}{sign}{style:#}{pad}")
        })
    }

    fn sign(&self, cell: Cell) -> (char, anstyle::Style) {
        match (cell, self.unicode) {
            (Cell::Waiting, true) => ('·', anstyle::Style::new().dimmed()),
            (Cell::Waiting, false) => ('.', anstyle::Style::new().dimmed()),
            (Cell::Held, true) => ('✓', colour(AnsiColor::Green)),
            (Cell::Held, false) => ('+', colour(AnsiColor::Green)),
            (Cell::Broke, true) => ('✗', colour(AnsiColor::Red).bold()),
            (Cell::Broke, false) => ('x', colour(AnsiColor::Red).bold()),
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(nodes: usize, cell: usize) -> Live {
        let nodes = (1..=nodes).map(|number| format!("node{number}")).collect();
        Live { nodes, cell, unicode: false, table: None, rows: RefCell::default() }
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn progress_row_shows_pending_nodes() {
        let live = live(3, 7);
        live.step(Event::Phase { name: "worker", message: "starting a worker in every container" });
        live.step(Event::Node { node: "node3", held: true });
        live.step(Event::Node { node: "node2", held: false });
        assert_eq!(live.head(), "                node1  node2  node3  ");
        assert_eq!(plain(&live.line(&live.rows.borrow()[0])), "worker          .      x      +      ");
        live.step(Event::Phase { name: "shm", message: "" });
        assert_eq!(plain(&live.line(&live.rows.borrow()[0])), "worker          +      +      +      ");
        // The same phase starts again, without a row of its own.
        live.step(Event::Node { node: "node1", held: true });
        live.step(Event::Phase { name: "shm", message: "again" });
        assert_eq!(plain(&live.line(&live.rows.borrow()[1])), "shm             .      .      .      ");
        assert_eq!(live.rows.borrow().len(), 2);
    }

    #[test]
    fn many_nodes_have_a_column_each() {
        let live = live(64, 1);
        live.step(Event::Phase { name: "bandwidth", message: "" });
        assert_eq!(
            plain(&live.line(&live.rows.borrow()[0])),
            format!("{:<16}{}", "bandwidth", ".".repeat(64))
        );
        assert!(live.head().ends_with("64 nodes, node1 to node64"));
    }
}
