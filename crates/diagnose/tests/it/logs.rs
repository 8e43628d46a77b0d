//! The diagnosis against logs whose truth is known: the right causes are counted, and healthy logs raise no
//! alarm.
//!
//! Right is a cause that is named first and is the truth, in whatever confidence. Where the truth is that a
//! log proves no cause, naming a root as certain or likely is wrong. The counts are a floor; raise them when
//! signatures are added. `cargo test -p envdoc-diagnose --test it logs -- --nocapture` prints them;
//! docs/diagnose.md has the table.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests read the source tree and tell what they counted"
)]

use catalog::testing::catalog;
use std::path::{Path, PathBuf};

use catalog::signatures::Role;
use diagnose::root_cause::{self, Cause, Confidence, Diagnosis};
use serde::Deserialize;

/// Right answers of so many logs, by set; docs/diagnose.md tells which were blind.
const SETS: &[(&str, usize, usize)] = &[
    ("tune", 96, 96),
    ("held-out", 93, 103),
    ("excerpts", 37, 38),
    ("held-out-3", 64, 64),
    ("held-out-4", 24, 24),
    ("held-out-5", 65, 67),
    ("held-out-6", 36, 37),
    ("held-out-7", 22, 22),
    ("held-out-8", 21, 22),
    ("held-out-9", 60, 60),
    ("held-out-10", 39, 39),
    ("held-out-11", 40, 41),
    ("held-out-12", 25, 26),
    ("held-out-13", 21, 21),
    ("held-out-14", 86, 90),
    ("held-out-15", 89, 90),
    ("held-out-16", 42, 45),
    ("held-out-17", 139, 141),
    ("held-out-18", 71, 72),
];

#[derive(Deserialize)]
struct Failure {
    file: String,
    cause: String,
    #[serde(default)]
    also: Vec<String>,
    /// What the cause's sentence or its first line must hold too: an exception that is named may be another
    /// than the truth's.
    words: Option<String>,
    set: String,
}

#[derive(Deserialize)]
struct Healthy {
    file: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/logs")
}

fn list<T: serde::de::DeserializeOwned>(name: &str) -> Vec<T> {
    serde_yaml::from_str(&std::fs::read_to_string(folder().join(name)).unwrap()).unwrap()
}

fn read(file: &str) -> String {
    let bytes = std::fs::read(folder().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether a cause is what a truth names: Xids by their number, of which a truth may name several
/// (`xid-144-150-nvlink5`).
fn is(cause: &Cause, truth: &str) -> bool {
    let numbers =
        |id: &str| -> Vec<u32> { id.split('-').skip(1).map_while(|part| part.parse().ok()).collect() };
    match (cause.id.starts_with("xid-"), truth.starts_with("xid-")) {
        (true, true) => {
            let (number, wanted) = (numbers(&cause.id)[0], numbers(truth));
            (wanted[0]..=*wanted.last().unwrap()).contains(&number)
        }
        _ => cause.id == truth,
    }
}

/// Whether a diagnosis is what is known of a log.
fn right(diagnosis: &Diagnosis, failure: &Failure) -> bool {
    let first = diagnosis.causes.first();
    let appears = |words: &String| {
        let holds = |text: &str| text.to_lowercase().contains(&words.to_lowercase());
        first.is_some_and(|cause| {
            holds(&cause.message) || cause.evidence.first().is_some_and(|line| holds(&line.text))
        })
    };
    if !failure.words.iter().all(appears) {
        return false;
    }
    let also = first.is_some_and(|cause| failure.also.iter().any(|truth| is(cause, truth)));
    match failure.cause.as_str() {
        "undetermined" => {
            also || first
                .is_none_or(|cause| cause.confidence == Confidence::Candidate || cause.role != Role::Root)
        }
        truth => also || first.is_some_and(|cause| is(cause, truth)),
    }
}

#[test]
fn root_causes_are_found_at_the_recorded_rate() {
    let failures: Vec<Failure> = list("truths.yaml");
    for (set, floor, all) in SETS {
        let of_set: Vec<&Failure> = failures.iter().filter(|failure| failure.set == *set).collect();
        let named = |failure: &&&Failure| {
            let diagnosis = root_cause::diagnose_text(catalog(), &failure.file, &read(&failure.file));
            let right = right(&diagnosis, failure);
            if !right {
                println!(
                    "{}: {} and not {} ({})",
                    failure.file,
                    diagnosis.causes.first().map_or("nothing", |cause| &cause.id),
                    failure.cause,
                    diagnosis.causes.first().map_or("", |cause| cause.confidence.id())
                );
            }
            right
        };
        let count = of_set.iter().filter(named).count();
        println!("{set}: {count} of {} logs are named right", of_set.len());
        assert_eq!(of_set.len(), *all, "{set}");
        assert!(count >= *floor, "{set}: {count} of {all}, it was {floor}");
    }
}

#[test]
fn healthy_logs_raise_no_alarm() {
    let healthy: Vec<Healthy> = list("healthy.yaml");
    assert!(healthy.len() >= 30);
    for log in healthy {
        let diagnosis = root_cause::diagnose_text(catalog(), &log.file, &read(&log.file));
        let causes: Vec<&str> = diagnosis.causes.iter().map(|cause| cause.id.as_str()).collect();
        assert!(!diagnosis.failed(), "{}: {causes:?} {:?}", log.file, diagnosis.unmatched_errors);
    }
}

#[test]
fn every_log_is_listed_once() {
    let mut listed: Vec<String> = list::<Failure>("truths.yaml").into_iter().map(|one| one.file).collect();
    listed.extend(list::<Healthy>("healthy.yaml").into_iter().map(|one| one.file));
    listed.sort();
    let mut there = Vec::new();
    for kind in ["failures", "healthy"] {
        for entry in std::fs::read_dir(folder().join(kind)).unwrap() {
            there.push(format!("{kind}/{}", entry.unwrap().file_name().to_string_lossy()));
        }
    }
    there.sort();
    assert_eq!(listed, there);
}
