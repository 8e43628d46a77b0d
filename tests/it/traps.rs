//! Known mistakes with versions and images, asked of the real program: tests/traps.yaml says what it must
//! answer.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test: it runs envdoc, and fails by panics"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::process::Command;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Traps {
    /// Ids of all mistakes, by area.
    all: BTreeMap<String, Vec<String>>,
    not_judged: Vec<String>,
    rows: Vec<Row>,
    recipes: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    trap: String,
    command: Vec<String>,
    exit: i32,
    #[serde(default)]
    message: Vec<String>,
    #[serde(default)]
    never: Vec<String>,
}

impl Row {
    /// What is wrong with envdoc's answer; empty where nothing is.
    fn faults(&self) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_envdoc"))
            .env("ENVDOC_CATALOG_DIR", "")
            .args(&self.command)
            .output()
            .unwrap();
        let said = one_line(&output.stdout) + " " + &one_line(&output.stderr);
        let mut faults = String::new();
        if output.status.code() != Some(self.exit) {
            let _ = writeln!(faults, "  {}, not exit code {}", output.status, self.exit);
        }
        for fragment in self.message.iter().filter(|fragment| !said.contains(fragment.as_str())) {
            let _ = writeln!(faults, "  does not say: {fragment}");
        }
        for fragment in self.never.iter().filter(|fragment| said.contains(fragment.as_str())) {
            let _ = writeln!(faults, "  says: {fragment}");
        }
        if !faults.is_empty() {
            let _ = writeln!(faults, "  said: {said}");
        }
        faults
    }
}

/// The text with every run of white space as one blank: where lines break is no matter here.
fn one_line(text: &[u8]) -> String {
    String::from_utf8_lossy(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn traps() -> Traps {
    serde_yaml::from_str(include_str!("../traps.yaml")).unwrap()
}

#[test]
fn every_trap_gets_the_correct_answer() {
    let traps = traps();
    let mut report = String::new();
    for row in traps.rows.iter().chain(&traps.recipes) {
        let faults = row.faults();
        if !faults.is_empty() {
            let _ = write!(report, "{}: envdoc {}\n{faults}", row.trap, row.command.join(" "));
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

#[test]
fn every_trap_is_judged_or_named() {
    let traps = traps();
    let all: Vec<&String> = traps.all.values().flatten().collect();
    let known: BTreeSet<&String> = all.iter().copied().collect();
    assert_eq!(all.len(), known.len(), "an id stands twice");
    let judged: BTreeSet<&String> = traps.rows.iter().map(|row| &row.trap).collect();
    let not_judged: BTreeSet<&String> = traps.not_judged.iter().collect();
    assert_eq!(judged.intersection(&not_judged).count(), 0, "judged and named as not judged");
    assert_eq!(judged.union(&not_judged).copied().collect::<BTreeSet<_>>(), known);
}
