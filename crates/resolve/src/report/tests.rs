//! Every format of the same answers.

use super::{Report, json, project, requirements, sample, text};
use crate::outcome::{Outcome, Predicate, Reason, Rejected, Stack, Warning};
use crate::parameter::Source;
use catalog::testing::catalog;
use diagnostic::layout::Layout;

const LAYOUT: Layout = Layout { width: 80, unicode: true, verbose: false, root: false };

fn report<T>(outcome: &Outcome, write: impl FnOnce(&Report) -> T) -> T {
    let warnings = [Warning {
        id: "driver-not-known".into(),
        message: "the driver of node-a.json is not known, any was allowed: permission denied".into(),
    }];
    let notes = ["ci.json has no NVIDIA GPU: it is a build host".to_owned()];
    write(&Report {
        requirements: &sample::requirements(),
        outcome,
        warnings: &warnings,
        notes: &notes,
        project: None,
    })
}

fn plain(outcome: &Outcome, layout: Layout) -> String {
    let text = report(outcome, |report| text::report(report, layout));
    anstream::adapter::strip_str(&text).to_string()
}

#[test]
fn a_stack_for_people() {
    insta::assert_snapshot!(plain(&sample::found(), LAYOUT));
}

#[test]
fn a_stack_with_everything_in_ascii() {
    let text = plain(&sample::found(), Layout { unicode: false, verbose: true, width: 60, ..LAYOUT });
    assert!(text.is_ascii(), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn a_conflict_for_people() {
    insta::assert_snapshot!(plain(&sample::none(), LAYOUT));
}

#[test]
fn json_report_has_stack_or_conflict() {
    let stack = serde_json::to_value(report(&sample::found(), json::report)).unwrap();
    assert!(stack["conflict"].is_null() && stack["nearest"].as_array().unwrap().is_empty());
    assert_eq!(stack["warnings"].as_array().unwrap().len(), 2);
    assert_eq!(stack["rejected"].as_array().unwrap().len(), 4);
    let none = serde_json::to_value(report(&sample::none(), json::report)).unwrap();
    assert!(none["stack"].is_null());
    assert_eq!(none["nearest"][0]["instead"], "--torch 2.7");
    assert_eq!(none["conflict"]["wishes"][0], "--gpu b200");
}

#[test]
fn the_verb_agrees_with_the_number_of_rejected_candidates() {
    let wheel = |candidate: &str, python: &str| Rejected {
        candidate: candidate.into(),
        reasons: vec![Reason {
            constraint: "torch-wheel-for-python".into(),
            message: format!("has no wheel for Python {python}"),
        }],
        predicate: Some(Predicate {
            one: format!("has no wheel for Python {python}"),
            several: format!("have no wheel for Python {python}"),
        }),
    };
    let Outcome::Resolved(mut resolution) = sample::found() else { panic!() };
    resolution.rejected =
        vec![wheel("torch 2.14.1", "3.8"), wheel("torch 2.14.0", "3.8"), wheel("torch 2.13.0", "3.9")];
    let text = plain(&Outcome::Resolved(resolution), Layout { width: 200, ..LAYOUT });
    assert!(text.contains("  torch 2.14.1 and torch 2.14.0 have no wheel for Python 3.8\n"), "{text}");
    assert!(text.contains("  torch 2.13.0 has no wheel for Python 3.9\n"), "{text}");
}

/// Both files, of a stack that is changed.
fn files(change: impl FnOnce(&mut Stack)) -> (String, String) {
    let mut stack = sample::stack();
    change(&mut stack);
    report(&sample::found(), |report| {
        (requirements::file(catalog(), report, &stack), project::file(catalog(), report, &stack))
    })
}

#[test]
fn files_of_a_build_that_has_an_index() {
    let (requirements, project) = files(|_| {});
    insta::assert_snapshot!(requirements);
    insta::assert_snapshot!(project);
    let read: toml::Table = project.parse().unwrap();
    assert_eq!(read["tool"]["uv"]["index"][0]["explicit"].as_bool(), Some(true));
    assert_eq!(read["project"]["dependencies"][0].as_str(), Some("torch==2.5.1+cu121"));
}

#[test]
fn files_of_the_pypi_build_name_no_index() {
    let (requirements, project) = files(|stack| {
        stack.torch_build = "cu124".into();
        stack.index_url = None;
    });
    assert!(!requirements.contains("--") || !requirements.contains("\n--"), "{requirements}");
    assert!(requirements.contains("\ntorch==2.5.1\n"), "{requirements}");
    assert!(!project.contains("index") && project.parse::<toml::Table>().is_ok(), "{project}");
}

#[test]
fn flash_attn_without_a_wheel_is_commented_out() {
    // Of 2.6.3 no wheel has a name that envdoc knows.
    let (requirements, project) = files(|stack| {
        stack.packages.insert("flash-attn".into(), "2.6.3".into());
    });
    for file in [requirements, project] {
        let lines = file.lines().filter(|line| line.contains("flash-attn"));
        assert!(lines.clone().count() > 0 && lines.clone().all(|line| line.starts_with('#')), "{file}");
    }
}

#[test]
fn line_breaks_in_sources_cannot_escape_the_comments() {
    let mut requirements = sample::requirements();
    requirements[0].source = Source::Stated("--cuda 12.1\nevil==1.0".into());
    let outcome = sample::found();
    let report =
        Report { requirements: &requirements, outcome: &outcome, warnings: &[], notes: &[], project: None };
    let file = requirements::file(catalog(), &report, &sample::stack());
    assert!(file.lines().all(|line| !line.starts_with("evil")), "{file}");
}
