//! Every format, on one sample.

use insta::assert_snapshot;

use super::{github, html, json, junit, markdown, sample, sarif, text};
use crate::layout::Layout;
use crate::report::{Report, Run};
use crate::{Edit, Fix, Verdict};

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

/// Every fix that a program can apply is there, with the edits of one file together.
#[test]
fn sarif_has_the_edits_of_every_fix() {
    let mut report = sample::files();
    let Verdict::Found(found) = &mut report.results[0].verdict else { panic!("a finding") };
    let first = found.fixes[0].edits[0].clone();
    let other = Edit { file: "b".into(), ..first.clone() };
    let second = Edit { start: first.end, text: " AS base".into(), ..first };
    found.fixes[0].edits.extend([other.clone(), second]);
    found.fixes.extend([Fix::manual("Ask."), Fix::safe("Change b.", &[]).edit(other)]);
    let log = sarif::report(&report);
    let fixes = log["runs"][0]["results"][0]["fixes"].as_array().unwrap();
    assert_eq!((fixes.len(), fixes[1]["description"]["text"].as_str()), (2, Some("Change b.")));
    assert_eq!(fixes[0]["properties"]["class"], "safe");
    let changes = fixes[0]["artifactChanges"].as_array().unwrap();
    let of = |index: usize| {
        let uri = changes[index]["artifactLocation"]["uri"].as_str().unwrap();
        (uri, changes[index]["replacements"].as_array().unwrap().len())
    };
    assert_eq!((changes.len(), of(0), of(1)), (2, ("a%20b/Dockerfile", 2), ("b", 1)));
    assert_eq!(changes[0]["replacements"][1]["insertedContent"]["text"], " AS base");
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
fn unknown_is_never_counted_as_healthy() {
    let mut report = sample::report();
    report.results.retain(|outcome| outcome.verdict.status() == "unknown");
    let summary = report.summary();
    assert_eq!((summary.pass, summary.unknown), (0, 3));
    let text = text::report(&Report { about: Vec::new(), ..report }, PLAIN);
    assert!(!text.contains("healthy") && text.contains("some checks could not run"));
}

/// A report without findings must not be mistaken for a complete one.
#[test]
fn every_format_names_what_settings_leave_out() {
    let entry = |id: &str, file: &str| json::IgnoredEntry { id: id.into(), file: file.into() };
    let entries = vec![
        entry("driver-gone", "envdoc.toml"),
        entry("xid-error", "~/.config/envdoc/envdoc.toml"),
        entry("own:z", "envdoc.toml"),
    ];
    let statement = "ignored by envdoc.toml, ~/.config/envdoc/envdoc.toml: driver-gone, xid-error, own:z";
    assert_eq!(json::IgnoredEntry::statement(&entries).as_deref(), Some(statement), "each file once");
    for found in [true, false] {
        let mut report = sample::report().without(entries.clone());
        if !found {
            report.results.clear();
        }
        let wide = text::report(&report, Layout { width: 100, ..PLAIN });
        assert!(wide.ends_with(&format!("{statement}\n")) && wide.matches("ignored").count() == 1, "{wide}");
        for shown in [
            junit::report(&report).unwrap(),
            json::text(&sarif::report(&report)).unwrap(),
            github::report(&report),
            markdown::report(&report),
            html::report(&report, &Run::default()),
        ] {
            let named = entries.iter().all(|one| shown.contains(&one.id) && shown.contains(&one.file));
            assert!(named && shown.to_lowercase().contains("ignored"), "{shown}");
        }
    }
}

#[test]
fn steps_and_sections_in_markdown() {
    assert_snapshot!(markdown::report(&sample::test()));
}

#[test]
fn nodes_in_markdown() {
    assert_snapshot!(markdown::report(&sample::fleet()));
}

#[test]
fn steps_in_junit() {
    assert_snapshot!(junit::report(&sample::test()).unwrap());
}
