//! The table for an issue or a wiki.

use std::fmt::Write;

use super::{LEGEND, Matrix};

/// Renders the matrix as a GitHub table.
pub fn report(matrix: &Matrix) -> String {
    let cudas: Vec<String> = matrix.cudas.iter().map(|cuda| format!("CUDA {cuda}")).collect();
    let mut text = format!(
        "## {}\n\n| torch | released | Python | glibc | {} |\n|{}\n",
        matrix.title(),
        cudas.join(" | "),
        "---|".repeat(cudas.len() + 4)
    );
    for row in &matrix.rows {
        // An asterisk would begin emphasis.
        let cells: Vec<String> = row.cells.iter().map(|cell| cell.signs().replace('*', "\\*")).collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            row.torch,
            row.released,
            row.pythons,
            row.glibc,
            cells.join(" | ")
        );
    }
    text.push('\n');
    for (sign, meaning) in LEGEND {
        let _ = writeln!(text, "- `{sign}` {meaning}");
    }
    let _ = writeln!(text, "\nHeld against its sources on {}.", matrix.checked);
    text
}
