//! Every format, on one sample.

use insta::assert_snapshot;

use super::text::Layout;
use super::{Summary, github, json, junit, markdown, sample, text};

const PLAIN: Layout = Layout { width: 80, unicode: true, verbose: false, root: false };

fn plain(layout: Layout) -> String {
    anstream::adapter::strip_str(&text::report(&sample::machine(), &sample::results(), layout)).to_string()
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
fn no_line_is_wider_than_asked_unless_it_is_a_command() {
    for width in [40, 60, 100] {
        for line in plain(Layout { width, ..PLAIN }).lines().filter(|line| !line.starts_with("        ")) {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn json_for_machines() {
    assert_snapshot!(json::text(&json::report(&sample::results())).unwrap());
}

#[test]
fn junit_for_ci() {
    assert_snapshot!(junit::report(&sample::results()).unwrap());
}

#[test]
fn github_annotations() {
    assert_snapshot!(github::report(&sample::results()));
}

#[test]
fn markdown_for_issues() {
    assert_snapshot!(markdown::report(&sample::machine(), &sample::results()));
}

#[test]
fn unknown_is_never_counted_as_healthy() {
    let unknown = sample::results().into_iter().filter(|result| super::status(&result.verdict) == "unknown");
    let unknown: Vec<_> = unknown.collect();
    let summary = Summary::of(&unknown);
    assert_eq!((summary.pass, summary.unknown), (0, 3));
    let report = text::report(&[], &unknown, PLAIN);
    assert!(!report.contains("healthy") && report.contains("not everything could be seen"));
}
