//! Every format, on one sample.

use insta::assert_snapshot;

use super::{github, html, json, junit, markdown, sample, sarif, text};
use crate::layout::Layout;
use crate::report::Report;

const PLAIN: Layout = Layout { width: 80, unicode: true, verbose: false, root: false };

fn plain(layout: Layout) -> String {
    anstream::adapter::strip_str(&text::report(&sample::report(), layout)).to_string()
}

#[test]
fn text_for_people() {
    assert_snapshot!(plain(PLAIN));
}

#[test]
fn text_verbose_in_ascii_as_root() {
    let text = plain(Layout { verbose: true, unicode: false, root: true, ..PLAIN });
    assert!(text.is_ascii());
    assert!(!text.contains("sudo to see"), "root needs no sudo");
    assert_snapshot!(text);
}

#[test]
fn text_by_file() {
    assert_snapshot!(anstream::adapter::strip_str(&text::by_file(&sample::files(), PLAIN)).to_string());
}

#[test]
fn no_line_is_wider_than_asked_unless_it_is_a_command() {
    for width in [40, 60, 100] {
        for line in plain(Layout { width, ..PLAIN }).lines().filter(|line| !line.starts_with("        ")) {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn junit_for_ci() {
    assert_snapshot!(junit::report(&sample::report()).unwrap());
}

#[test]
fn sarif_for_code_hosts() {
    assert_snapshot!(json::text(&sarif::report(&sample::files())).unwrap());
}

#[test]
fn sarif_of_a_machine() {
    assert_snapshot!(json::text(&sarif::report(&sample::report())).unwrap());
}

#[test]
fn github_annotations() {
    assert_snapshot!(github::report(&sample::report()) + &github::report(&sample::files()));
}

#[test]
fn markdown_for_issues() {
    assert_snapshot!(markdown::report(&sample::report()));
}

#[test]
fn html_page() {
    assert_snapshot!(html::report(&sample::report()));
}

#[test]
fn unknown_is_never_counted_as_healthy() {
    let mut report = sample::report();
    report.results.retain(|outcome| outcome.verdict.status() == "unknown");
    let summary = report.summary();
    assert_eq!((summary.pass, summary.unknown), (0, 3));
    let text = text::report(&Report { about: Vec::new(), ..report }, PLAIN);
    assert!(!text.contains("healthy") && text.contains("some checks could not run"));
}

#[test]
fn steps_and_sections_in_markdown() {
    assert_snapshot!(markdown::report(&sample::test()));
}

#[test]
fn steps_and_sections_in_html() {
    let page = html::report(&sample::test());
    assert_snapshot!(page.split_once("</style>").unwrap().1);
}

#[test]
fn steps_in_junit() {
    assert_snapshot!(junit::report(&sample::test()).unwrap());
}
