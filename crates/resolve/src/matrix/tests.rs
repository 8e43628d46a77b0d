//! The table in every format.

use super::{Cell, Filter, Matrix, html, markdown, text};
use crate::parse;
use crate::testing::universe;
use catalog::testing::catalog;
use diagnostic::report::Run;

fn of(python: &str) -> Matrix {
    let pythons: Vec<_> = universe().pythons.iter().filter(|one| one.text == python).collect();
    Matrix::new(catalog(), Filter { python: Some(python), pythons: Some(&pythons), gpus: &[] })
}

fn signs(matrix: &Matrix, torch: &str, cuda: &str) -> String {
    let column = matrix.cudas.iter().position(|one| one == cuda).unwrap();
    matrix.rows.iter().find(|row| row.torch == torch).unwrap().cells[column].signs()
}

#[test]
fn cells_match_the_catalog() {
    let all = Matrix::new(catalog(), Filter::default());
    assert_eq!(signs(&all, "2.5.1", "12.1"), "50-90");
    assert_eq!(signs(&all, "2.5.1", "12.4"), "50-90*");
    assert_eq!(signs(&all, "2.6.0", "12.1"), "-", "the builds of 2.6.0 are all known");
    assert_eq!(signs(&all, "2.15.0", "12.1"), "?", "those of 2.15.0 are not");
    assert_eq!(signs(&all, "2.7.1", "12.8"), "75-120+");
    assert_eq!(all.rows[0].torch, "2.15.0", "the newest comes first");
    let oldest = all.rows.last().unwrap();
    assert_eq!(
        (oldest.torch.as_str(), oldest.pythons.as_str(), oldest.glibc.as_str()),
        ("1.13.0", "3.7-3.11", "2.17")
    );
}

#[test]
fn python_filter_removes_rows_and_columns() {
    let matrix = of("3.12");
    assert!(matrix.rows.iter().all(|row| row.torch != "2.1.2"), "2.1 has no wheel for 3.12");
    assert!(matrix.rows.iter().any(|row| row.torch == "2.2.0"));
    assert!(!matrix.cudas.contains(&"11.6".to_owned()), "columns without a build are left out");
    let unknown = Cell::Build { pypi: false, ptx: false, build: Box::default() };
    assert_eq!(unknown.signs(), "yes");
}

#[test]
fn gpu_filter_leaves_the_builds_that_run_on_it() {
    let gpus = [parse::of_capability(catalog(), "sm_120", (12, 0))];
    let matrix = Matrix::new(catalog(), Filter { gpus: &gpus, ..Filter::default() });
    assert_eq!(signs(&matrix, "2.7.1", "12.8"), "75-120+");
    assert!(matrix.rows.iter().all(|row| row.torch != "2.5.1"), "no build of 2.5.1 has code for sm_120");
    assert!(!matrix.cudas.contains(&"12.1".to_owned()), "columns without a build are left out");
    assert!(text::report(&matrix, 100).contains("for sm_120, Linux"));
    let old = [parse::of_capability(catalog(), "sm_50", (5, 0)), gpus[0].clone()];
    let both = Matrix::new(catalog(), Filter { gpus: &old, ..Filter::default() });
    assert!(both.rows.len() < matrix.rows.len());
}

#[test]
fn every_format_has_every_row() {
    let matrix = of("3.12");
    let texts =
        [text::report(&matrix, 100), markdown::report(&matrix), html::report(&matrix, &Run::default())];
    for text in &texts {
        let text = anstream::adapter::strip_str(text).to_string();
        assert!(text.contains("for Python 3.12"));
        assert!(matrix.rows.iter().all(|row| text.contains(&row.torch)), "{text}");
        assert!(text.ends_with('\n'), "{text}");
    }
    assert!(texts[0].lines().all(|line| anstream::adapter::strip_str(line).to_string().len() <= 100));
    assert!(texts[1].contains("| 50-90\\* |"));
}

/// The newest CUDA is the first column of builds, and each cell leads to a row that says how to install it.
#[test]
fn the_page_begins_with_the_newest_cuda_and_explains_each_build() {
    let matrix = Matrix::new(catalog(), Filter::default());
    let page = html::report(&matrix, &Run::default());
    for outside in ["http://", "src=", "<link", "<script", "@import", "url(", "href=\"http"] {
        assert!(!page.contains(outside), "{outside}: the page needs nothing else");
    }
    let columns: Vec<usize> =
        matrix.cudas.iter().map(|cuda| page.find(&format!(">CUDA {cuda}</th>")).unwrap()).collect();
    assert!(columns.is_sorted_by(|older, newer| older > newer), "{columns:?}");
    let links: Vec<&str> =
        page.split("href=\"#build-").skip(1).map(|rest| &rest[..rest.find('"').unwrap()]).collect();
    let builds = matrix.rows.iter().flat_map(|row| &row.cells);
    assert_eq!(links.len(), builds.filter(|cell| matches!(cell, Cell::Build { .. })).count());
    for link in links {
        assert_eq!(page.matches(&format!("id=\"build-{link}\"")).count(), 1, "{link}");
    }
    for gpus in ["sm_90 (Kepler to Hopper)", "sm_90 (up to Hopper)"] {
        assert!(page.contains(gpus), "{gpus}");
    }
    assert!(page.contains("--index-url https://download.pytorch.org/whl/cu118</code>"));
    assert!(page.len() < 100_000, "{}", page.len());
}
