//! Judges every recorded server in `tests/servers` and compares with the findings kept beside it.
//!
//! After a change of checks or servers, `ENVDOC_BLESS=1 cargo test --test servers` writes the findings anew; read the
//! difference by eye: a healthy server is silent, and each broken one has its fault named.
#![expect(clippy::disallowed_methods, reason = "the test reads and writes its own files")]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use envdoc::checks::{CHECKS, Severity, Verdict, judge};
use envdoc::facts::{Expected, gather};
use envdoc::host::snapshot::Snapshot;

fn servers() -> Vec<PathBuf> {
    let dir = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers"));
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut servers: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    servers.sort();
    servers
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

/// Findings with the first line of what they say, then the checks that could not look.
fn judged(path: &Path) -> String {
    let host = Snapshot::open(path).unwrap_or_else(|error| panic!("{error}")).host();
    let facts = gather::recorded(&host, Expected::default());
    let (mut findings, mut unknown) = (String::new(), String::new());
    for result in judge(CHECKS, &facts) {
        match result.verdict {
            Verdict::Finding { severity, says, .. } => {
                let severity = match severity {
                    Severity::Error => "error",
                    Severity::Warning => "warning",
                };
                let says = says.lines().next().unwrap_or_default();
                writeln!(findings, "{severity} {}: {says}", result.check.id).unwrap();
            }
            Verdict::Unknown(why) => writeln!(unknown, "unknown {}: {why}", result.check.id).unwrap(),
            Verdict::Pass | Verdict::NotApplicable(_) => {}
        }
    }
    findings + &unknown
}

#[test]
fn every_server_is_judged_as_kept() {
    let bless = std::env::var_os("ENVDOC_BLESS").is_some();
    let mut differing = String::new();
    for path in servers() {
        let kept = path.with_extension("expected");
        let now = judged(&path);
        if bless {
            fs::write(&kept, &now).unwrap();
        } else if fs::read_to_string(&kept).unwrap_or_default() != now {
            writeln!(differing, "--- {}: now it is\n{now}", name(&path)).unwrap();
        }
    }
    assert!(
        differing.is_empty(),
        "{differing}\nIf this is right: ENVDOC_BLESS=1 cargo test --test servers, and read the difference."
    );
}

#[test]
fn healthy_servers_are_silent_and_broken_ones_are_not() {
    let (mut healthy, mut broken) = (0, 0);
    for path in servers() {
        let (name, judged) = (name(&path), judged(&path));
        let found = judged.lines().any(|line| line.starts_with("error ") || line.starts_with("warning "));
        if name.starts_with("healthy-") {
            healthy += 1;
            assert!(!found, "{name} has findings:\n{judged}");
        } else {
            broken += 1;
            assert!(name.starts_with("broken-"), "{name}: begin with healthy- or broken-");
            assert!(!judged.is_empty(), "{name} has no finding");
        }
    }
    assert!(healthy >= 10 && healthy + broken >= 40, "{healthy} healthy and {broken} broken servers");
}

#[test]
fn every_server_says_what_it_is_and_where_it_is_from() {
    for path in servers() {
        let text = fs::read_to_string(&path).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let name = name(&path);
        assert!(json["about"].as_str().is_some_and(|about| about.len() > 10), "{name}: about");
        let sources = json["sources"].as_array().map(Vec::as_slice).unwrap_or_default();
        assert!(!sources.is_empty(), "{name}: sources");
        for source in sources.iter().filter_map(serde_json::Value::as_str) {
            for word in source.split([' ', ',', '(', ')']).filter(|word| word.starts_with("outputs/")) {
                let file = path.with_file_name(word.trim_end_matches('.'));
                assert!(file.exists(), "{name}: {word} is not there");
            }
        }
    }
}
