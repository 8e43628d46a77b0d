//! The table for a terminal.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use super::{Cell, LEGEND, Matrix};
use catalog::torch::CudaBuild;
use diagnostic::terminal::colour;

/// The table, with ANSI colours in it; two blanks between columns where `width` lets them, else one.
pub fn report(matrix: &Matrix, width: usize) -> String {
    let mut heads = vec!["torch".to_owned(), "Python".to_owned(), "glibc".to_owned()];
    heads.extend(
        matrix
            .cudas
            .iter()
            .map(|cuda| CudaBuild::of_cuda(cuda).map_or_else(|| cuda.clone(), |build| build.to_string())),
    );
    let lines: Vec<Vec<(String, Style)>> = matrix
        .rows
        .iter()
        .map(|row| {
            let names = [row.torch.clone(), row.pythons.clone(), row.glibc.clone()];
            let names = names.into_iter().map(|text| (text, Style::new()));
            names.chain(row.cells.iter().map(|cell| (cell.signs(), style(cell)))).collect()
        })
        .collect();
    let widest = |column: usize| lines.iter().map(|line| line[column].0.len()).max().unwrap_or(0);
    let widths: Vec<usize> =
        heads.iter().enumerate().map(|(column, head)| widest(column).max(head.len())).collect();
    let roomy = widths.iter().sum::<usize>() + 2 * (widths.len() - 1) <= width;
    let gap = if roomy { "  " } else { " " };
    let bold = Style::new().bold();
    let mut text = format!("{bold}{}{bold:#}\n\n", matrix.title());
    let heads = heads.into_iter().map(|head| (head, Style::new().bold()));
    for line in std::iter::once(heads.collect()).chain(lines) {
        let cells: Vec<String> = line
            .iter()
            .zip(&widths)
            .map(|((cell, style), width)| {
                let blank = " ".repeat(width - cell.len());
                format!("{style}{cell}{style:#}{blank}")
            })
            .collect();
        let _ = writeln!(text, "{}", cells.join(gap).trim_end());
    }
    text.push('\n');
    for (sign, meaning) in LEGEND {
        let _ = writeln!(text, "{sign:>5}  {meaning}");
    }
    let _ = writeln!(
        text,
        "\nchecked against its sources on {}; envdoc explain 'torch 2.6.0' lists the sources",
        matrix.checked
    );
    text
}

fn style(cell: &Cell) -> Style {
    match cell {
        Cell::None => Style::new().dimmed(),
        Cell::Unknown => colour(AnsiColor::Magenta),
        Cell::Build { pypi: true, .. } => colour(AnsiColor::Green).bold(),
        Cell::Build { .. } => Style::new(),
    }
}
