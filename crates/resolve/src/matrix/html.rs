//! The table as a page: the newest CUDA first, and below it every build with its GPUs and its command.

use catalog::cuda::sm;
use diagnostic::page::{Cell as TableCell, Page, Part, Table, anchor, escape};
use diagnostic::report::Run;

use super::{BuildInfo, Cell, LEGEND, Matrix, Row};

/// Renders the matrix as a page that needs no other file.
pub fn report(matrix: &Matrix, run: &Run) -> String {
    let title = matrix.title();
    let lead = format!(
        "<p>Checked against its sources on {}. Select a build to see its contents and install command.</p>\n",
        escape(&matrix.checked)
    );
    let parts = vec![
        Part::new("matrix", "Releases and builds", table(matrix) + &legend(matrix)),
        Part::new("builds", "Builds", builds(matrix)),
    ];
    Page { title: &title, result: String::new(), lead, run, parts }.html()
}

fn table(matrix: &Matrix) -> String {
    let cudas = matrix.cudas.iter().rev().map(|cuda| format!("CUDA {cuda}"));
    // What a narrow screen does not show at once comes last.
    let others = ["Python", "glibc", "released"].map(str::to_owned);
    let titles = std::iter::once("torch".to_owned()).chain(cudas).chain(others);
    let headers: Vec<TableCell> = titles.map(|title| TableCell::html("", escape(&title))).collect();
    let caption = "torch releases and their CUDA builds, newest first";
    let mut table = Table::new("matrix stick", caption, true, &headers);
    for row in &matrix.rows {
        let text = |text: &String| TableCell::html("", escape(text));
        let cudas = matrix.cudas.iter().zip(&row.cells).rev().map(|(cuda, one)| cell(row, cuda, one));
        let mut cells = vec![text(&row.torch)];
        cells.extend(cudas);
        cells.extend([&row.pythons, &row.glibc, &row.released].map(text));
        table.row("", &cells);
    }
    table.end()
}

fn cell(row: &Row, cuda: &str, cell: &Cell) -> TableCell {
    let signs = escape(&cell.signs());
    match cell {
        Cell::None => TableCell::html("none", signs),
        Cell::Unknown => TableCell::html("unknown", signs),
        Cell::Build { pypi, build, .. } => {
            let class = if *pypi { "build pypi" } else { "build" };
            let label = format!("torch {} with CUDA {cuda}: {}", row.torch, cell.signs());
            let link = format!(
                "<a href=\"#build-{}\" aria-label=\"{}\">{signs}</a>",
                anchor(&build.version),
                escape(&label)
            );
            TableCell::html(class, link)
        }
    }
}

fn legend(matrix: &Matrix) -> String {
    let sign = |sign: &str, meaning: &str| format!("<dt>{}</dt><dd>{}</dd>\n", escape(sign), escape(meaning));
    let signs: String = LEGEND.iter().map(|(one, meaning)| sign(one, meaning)).collect();
    let gpus: String = matrix.gpus.iter().map(|(code, name)| sign(code, &format!("{name} GPUs"))).collect();
    format!("<dl class=\"legend\">\n{signs}{gpus}</dl>\n")
}

/// A row a build, in the order of the table.
fn builds(matrix: &Matrix) -> String {
    let headers = ["Build", "CUDA", "Native GPU code", "NCCL", "cuDNN", "Command"].map(TableCell::text);
    let mut table =
        Table::new("builds", "Contents of each build and the command that installs it", false, &headers);
    for row in &matrix.rows {
        for (cuda, cell) in matrix.cudas.iter().zip(&row.cells).rev() {
            if let Cell::Build { build, .. } = cell {
                table.row("", &build_cells(matrix, build, cuda));
            }
        }
    }
    table.end()
}

fn build_cells(matrix: &Matrix, build: &BuildInfo, cuda: &str) -> Vec<TableCell> {
    let or_unknown = |value: &Option<String>| TableCell::html("", escape(value.as_deref().unwrap_or("?")));
    let codes: Vec<String> = build.architectures.iter().map(|one| sm(one)).collect();
    let gpus = match (codes.is_empty(), matrix.architectures(&build.architectures)) {
        (true, _) => "unknown".to_owned(),
        (false, None) => codes.join(" "),
        (false, Some(names)) => format!("{} ({names})", codes.join(" ")),
    };
    let version = escape(&build.version);
    vec![
        TableCell::html("", format!("<span id=\"build-{}\">{version}</span>", anchor(&build.version))),
        TableCell::html("", escape(cuda)),
        TableCell::text(&gpus),
        or_unknown(&build.nccl),
        or_unknown(&build.cudnn),
        TableCell::html("text", format!("<code>{}</code>", escape(&build.install))),
    ]
}
