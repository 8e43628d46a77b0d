//! Whatever a machine answers, envdoc ends with a verdict: every recorded server, damaged in many ways, is
//! gathered and judged.
//!
//! Damage is what machines do: answers cut off, garbled, empty, enormous numbers, not there, refused. The
//! damage is drawn from a fixed seed, so that a failure can be repeated.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests read the source tree")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use checks::{self, CHECKS, Verdict};
use facts::{Expected, gather};
use host::Reading;
use host::record::Replay;
use host::snapshot::Snapshot;
use judge::report;
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};

fn servers() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/servers");
    let mut paths: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    paths
}

fn readings(path: &Path) -> BTreeMap<String, Reading> {
    let snapshot = Snapshot::open(path).unwrap();
    snapshot.readings.into_iter().map(|(ask, kept)| (ask, kept.into())).collect()
}

fn damaged(text: &str, rng: &mut TestRng) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    let at = rng.next_u32() as usize % (characters.len() + 1);
    match rng.next_u32() % 7 {
        0 => characters.truncate(at),
        1 => characters.drain(..at).for_each(drop),
        2 => characters.clear(),
        3 => characters.insert(at, '\u{fffd}'),
        4 => characters.iter_mut().filter(|c| c.is_ascii_digit()).for_each(|c| *c = '9'),
        5 => characters = text.replace([' ', '\t'], "").chars().collect(),
        _ => characters = text.lines().rev().collect::<Vec<_>>().join("\n").chars().collect(),
    }
    characters.into_iter().collect()
}

fn damage(reading: &Reading, rng: &mut TestRng) -> Reading {
    match rng.next_u32() % 5 {
        0 => Reading::Absent,
        1 => Reading::Failed(facts::Missing::denied()),
        _ => match reading {
            Reading::Text(text) => Reading::Text(damaged(text, rng)),
            Reading::Ran { stdout, stderr, .. } => Reading::Ran {
                status: [Some(0), Some(9), None][rng.next_u32() as usize % 3],
                stdout: damaged(stdout, rng),
                stderr: stderr.clone(),
            },
            other => other.clone(),
        },
    }
}

fn judge(readings: BTreeMap<String, Reading>) -> Vec<checks::CheckResult> {
    let facts = gather::recorded(
        &Replay::new(readings, facts::Missing::not_recorded()),
        Expected::default(),
        catalog::testing::catalog(),
    );
    let results = checks::judge(CHECKS, &facts);
    let layout = diagnostic::layout::Layout { width: 60, unicode: false, verbose: true, root: false };
    diagnostic::render::text::report(&report::report(&facts, &results, &[]), layout);
    results
}

#[test]
fn a_damaged_machine_gets_a_verdict() {
    let mut rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    for server in servers() {
        let whole = readings(&server);
        for round in 0..6 {
            // One reading in eight is damaged, in the last round every one.
            let one_in = if round < 5 { 8 } else { 1 };
            let readings = whole.iter().map(|(ask, reading)| {
                let reading = if rng.next_u32().is_multiple_of(one_in) {
                    damage(reading, &mut rng)
                } else {
                    reading.clone()
                };
                (ask.clone(), reading)
            });
            judge(readings.collect());
        }
    }
}

#[test]
fn unreadable_machine_has_only_unknown_verdicts() {
    for why in ["permission denied", "it did not answer before envdoc's deadline (--timeout)"] {
        let facts = gather::recorded(
            &Replay::new(BTreeMap::new(), why),
            Expected::default(),
            catalog::testing::catalog(),
        );
        for result in checks::judge(CHECKS, &facts) {
            let id = result.check.id;
            assert!(
                !matches!(result.verdict, Verdict::Pass),
                "{id} passes though nothing could be looked at"
            );
            assert!(
                !matches!(result.verdict, Verdict::Found(_)),
                "{id} finds something though nothing could be looked at"
            );
        }
    }
}

#[test]
fn refused_readings_turn_no_finding_into_a_pass() {
    // Refusing what a server answered, group by group, may make verdicts unknown; it must not make an error
    // healthy.
    for server in servers() {
        let whole = readings(&server);
        let before = judge(whole.clone());
        for start in
            ["read /proc", "read /sys", "run nvidia-smi", "engine", "find", "list", "stat", "read /etc"]
        {
            let readings = whole.iter().map(|(ask, reading)| {
                let refused = ask.starts_with(start);
                (
                    ask.clone(),
                    if refused { Reading::Failed(facts::Missing::denied()) } else { reading.clone() },
                )
            });
            for (old, new) in before.iter().zip(judge(readings.collect())) {
                let healthier = matches!(old.verdict, Verdict::Found(_)) && new.verdict == Verdict::Pass;
                assert!(
                    !healthier,
                    "{}: {} passes once `{start}*` is refused",
                    server.display(),
                    new.check.id
                );
            }
        }
    }
}
