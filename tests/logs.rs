//! The signatures against logs whose truth is known: what they name is counted, and healthy logs raise no root.
//!
//! A log's answer is the first root in it, else the first symptom: what `explain` says of single lines, without the weighing of ranks and
//! times that a diagnosis will add. The counts are a floor; raise them when signatures are added.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests read the source tree and tell what they counted"
)]

use std::path::{Path, PathBuf};

use envdoc::catalog::signatures::Role;
use envdoc::diagnose::scan::scan;
use serde::Deserialize;

/// Right answers of so many logs; the held-out set is never looked at when signatures are written.
const TUNE: (usize, usize) = (63, 96);
const HELD_OUT: (usize, usize) = (59, 103);

#[derive(Deserialize)]
struct Failure {
    file: String,
    cause: String,
    #[serde(default)]
    also: Vec<String>,
    set: String,
}

#[derive(Deserialize)]
struct Healthy {
    file: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs")
}

fn list<T: serde::de::DeserializeOwned>(name: &str) -> Vec<T> {
    serde_yaml::from_str(&std::fs::read_to_string(folder().join(name)).unwrap()).unwrap()
}

/// The id of the first signature of a role in a log.
fn first(file: &str, role: Role) -> Option<&'static str> {
    let bytes = std::fs::read(folder().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let text = String::from_utf8_lossy(&bytes);
    text.lines().flat_map(scan).find(|hit| hit.signature.role == role).map(|hit| hit.signature.id.as_str())
}

#[test]
fn failures_are_named() {
    let failures: Vec<Failure> = list("truths.yaml");
    for (set, (right, all)) in [("tune", TUNE), ("held-out", HELD_OUT)] {
        let of_set: Vec<&Failure> = failures.iter().filter(|failure| failure.set == set).collect();
        let named = |failure: &&&Failure| {
            let root = first(&failure.file, Role::Root);
            if failure.cause == "undetermined" {
                return root.is_none();
            }
            let answer = root.or_else(|| first(&failure.file, Role::Symptom));
            answer.is_some_and(|id| id == failure.cause || failure.also.iter().any(|also| also == id))
        };
        let count = of_set.iter().filter(named).count();
        println!("{set}: {count} of {} logs are named right", of_set.len());
        assert_eq!(of_set.len(), all, "{set}");
        assert!(count >= right, "{set}: {count} of {all}, it was {right}");
    }
}

#[test]
fn healthy_logs_raise_no_root() {
    let healthy: Vec<Healthy> = list("healthy.yaml");
    assert!(healthy.len() >= 30);
    for log in healthy {
        assert_eq!(first(&log.file, Role::Root), None, "{}", log.file);
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
