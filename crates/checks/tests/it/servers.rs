//! Recorded and composed servers (`tests/servers/*.json`) are judged, and compared with the findings kept
//! next to them (`NAME.expected`). `ENVDOC_REGENERATE=1 cargo test -p envdoc-checks --test it` writes
//! those; what changed is to be read before it is committed.
//!
//! An `.expected` file begins with lines that a person writes and that regenerating keeps:
//!
//! ```text
//! # healthy                                   no finding may occur; or
//! # must: gpu-fallen-off-bus, xid-fatal       these must
//! # expect: gpus=8, driver>=550               as after --expect (optional)
//! error gpu-fallen-off-bus: 1 of 8 GPUs ...
//! unknown clock-not-synchronised: /run/...
//! ```
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests read and write the source tree")]

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use checks::{self, CHECKS, CheckResult, Group, Verdict};
use facts::{Expected, gather};
use host::snapshot::Snapshot;

const DIR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/servers");

/// What a person wrote on top of an `.expected` file.
#[derive(Default)]
struct Header {
    lines: String,
    healthy: bool,
    must: Vec<String>,
    expect: Expected,
}

struct Server {
    name: String,
    header: Header,
    kept: String,
    results: Vec<CheckResult>,
}

fn header(name: &str, text: &str) -> Header {
    let mut header = Header::default();
    for line in text.lines().take_while(|line| line.starts_with('#')) {
        let _ = writeln!(header.lines, "{line}");
        let line = line.trim_start_matches('#').trim();
        let words = |rest: &str| -> Vec<String> {
            rest.split(',').map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
        };
        if line == "healthy" {
            header.healthy = true;
        } else if let Some(rest) = line.strip_prefix("must:") {
            header.must = words(rest);
        } else if let Some(rest) = line.strip_prefix("expect:") {
            for word in words(rest) {
                header.expect.add(&word).unwrap_or_else(|error| panic!("{name}.expected: {error}"));
            }
        } else {
            panic!(
                "{name}.expected: a line of its head is none of `# healthy`, `# must: …`, `# expect: …`: \
                 {line:?}"
            );
        }
    }
    header
}

/// Files of the folder with this ending, without it, sorted.
fn stems(ending: &str) -> Vec<String> {
    let mut stems: Vec<String> = fs::read_dir(DIR)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(ending).map(str::to_owned))
        .collect();
    stems.sort_unstable();
    stems
}

fn path(name: &str, ending: &str) -> PathBuf {
    PathBuf::from(format!("{DIR}/{name}{ending}"))
}

/// Every server with its results, judged once for all tests.
fn servers() -> &'static [Server] {
    static SERVERS: LazyLock<Vec<Server>> = LazyLock::new(|| {
        let judge = |name: String| {
            let kept = fs::read_to_string(path(&name, ".expected")).unwrap_or_default();
            let header = header(&name, &kept);
            let snapshot =
                Snapshot::open(&path(&name, ".json")).unwrap_or_else(|error| panic!("{name}: {error}"));
            let facts =
                gather::recorded(&snapshot.host(), header.expect.clone(), catalog::testing::catalog());
            let results = checks::judge(CHECKS, &facts);
            Server { name, header, kept, results }
        };
        stems(".json").into_iter().map(judge).collect()
    });
    &SERVERS
}

/// Findings and unknowns, one a line, in the order of the checks; what passed or does not apply is left out.
fn lines(results: &[CheckResult]) -> String {
    let mut text = String::new();
    for CheckResult { check, verdict } in results {
        let id = check.id;
        let _ = match verdict {
            Verdict::Found(found) => writeln!(text, "{} {id}: {}", found.severity, found.message),
            Verdict::Unknown(why) => writeln!(text, "unknown {id}: {why}"),
            Verdict::Pass | Verdict::NotApplicable(_) => Ok(()),
        };
    }
    text
}

#[test]
fn unknowns_refer_to_findings() {
    let mut references = 0;
    for server in servers() {
        let finds = |id: &str| {
            server.results.iter().any(|one| one.check.id == id && matches!(one.verdict, Verdict::Found(_)))
        };
        for one in &server.results {
            let Verdict::Unknown(why) = &one.verdict else { continue };
            let Some((_, id)) = why.detail.split_once(": see ") else { continue };
            assert!(finds(id), "{}: {} is unknown, and refers to {id}", server.name, one.check.id);
            references += 1;
        }
    }
    assert!(references > 0, "no server has such an unknown");
}

#[test]
fn recorded_servers_have_the_expected_verdicts() {
    let regenerate = std::env::var_os("ENVDOC_REGENERATE").is_some();
    let mut different = Vec::new();
    for server in servers() {
        let now = server.header.lines.clone() + &lines(&server.results);
        if regenerate {
            fs::write(path(&server.name, ".expected"), now).unwrap();
        } else if now != server.kept {
            different.push(format!("--- {0}.expected\n{1}+++ now\n{now}", server.name, server.kept));
        }
    }
    assert!(
        different.is_empty(),
        "{}\nIf this is right: ENVDOC_REGENERATE=1 cargo test -p envdoc-checks --test it, and read the \
         change",
        different.join("\n")
    );
    assert_eq!(stems(".json"), stems(".expected"), "an .expected without its server");
}

/// What redaction takes out is never what a judgement rests on. Sentences may show stand-ins.
#[test]
fn redaction_changes_no_answer() {
    let mut different = Vec::new();
    for server in servers() {
        let snapshot = Snapshot::open(&path(&server.name, ".json")).unwrap();
        let redacted = snapshot.redact().host();
        let results = checks::judge(
            CHECKS,
            &gather::recorded(&redacted, server.header.expect.clone(), catalog::testing::catalog()),
        );
        for (before, after) in server.results.iter().zip(&results) {
            if std::mem::discriminant(&before.verdict) != std::mem::discriminant(&after.verdict) {
                let id = before.check.id;
                different
                    .push(format!("{} {id}: {:?} became {:?}", server.name, before.verdict, after.verdict));
            }
        }
    }
    assert!(
        different.is_empty(),
        "{}\nThe redacted snapshot lacks what these checks judge: keep that part of the reading in \
            crates/host/src/redact, or give the file or program a line in crates/host/src/sensitivity.rs",
        different.join("\n")
    );
}

/// A value that redaction hides would be judged as one that the variable does not take.
#[test]
fn redaction_keeps_the_values_that_variables_take() {
    // Some defaults are described in words.
    let is_value = |value: &&str| !value.is_empty() && *value != "unset" && !value.contains(['\n', ' ']);
    let mut cases = Vec::new();
    for row in catalog::testing::catalog().variables().all() {
        let allowed = row.allowed_text().unwrap_or_default();
        let allowed = allowed.split([' ', '|', ';']);
        let discouraged = row.discouraged.iter().map(|one| one.value.as_str());
        let values =
            allowed.chain(row.default.as_deref()).chain(["7", "-1", "0x1b", "4M"]).chain(discouraged);
        let known = |name: &&str| row.name == **name || name.ends_with('_') && row.name.starts_with(*name);
        if host::live::VARIABLES.iter().any(known) {
            cases.extend(values.filter(is_value).map(|value| (row, value.to_owned())));
        }
    }
    let lines: Vec<String> = cases.iter().map(|(row, value)| format!("{}={value}", row.name)).collect();
    let readings = [("environment".to_owned(), host::Reading::Text(lines.join("\n")))].into();
    let shown = match Snapshot::of(readings).redact().host().environment() {
        host::Reading::Text(shown) => shown,
        other => panic!("{other:?}"),
    };
    let mut wrong = Vec::new();
    for ((row, value), shown) in cases.iter().zip(shown.lines()) {
        let kept = shown.split_once('=').map_or("", |(_, kept)| kept);
        if row.takes(value) == Some(true) && row.takes(kept) != Some(true) {
            wrong.push(format!("{}={value} became {shown}", row.name));
        }
    }
    assert!(cases.len() > 1000 && shown.lines().count() == cases.len(), "{}", cases.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn healthy_servers_have_no_findings_and_broken_ones_do() {
    let mut wrong = Vec::new();
    for server in servers() {
        let name = &server.name;
        let found: Vec<&str> = server
            .results
            .iter()
            .filter(|result| matches!(result.verdict, Verdict::Found(_)))
            .map(|result| result.check.id)
            .collect();
        match (server.header.healthy, server.header.must.is_empty()) {
            (true, true) => {
                if !found.is_empty() {
                    wrong.push(format!("{name} is healthy, but: {}", found.join(", ")));
                }
            }
            (false, false) => {
                for id in &server.header.must {
                    if !found.contains(&id.as_str()) {
                        wrong.push(format!("{name} must have {id}, and has: {}", found.join(", ")));
                    }
                }
            }
            _ => wrong.push(format!("{name}.expected: begin it with `# healthy` or with `# must: id, id`")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_fix_has_a_title_that_introduces_its_commands() {
    let mut wrong = Vec::new();
    for server in servers() {
        for CheckResult { check, verdict } in &server.results {
            for fix in verdict.found().into_iter().flat_map(|found| &found.fixes) {
                let colon = fix.title.ends_with(':');
                if fix.title.is_empty() || colon == fix.commands.is_empty() {
                    wrong.push(format!("{}: {}: {:?} {:?}", server.name, check.id, fix.title, fix.commands));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn findings_about_variables_name_the_variable() {
    for server in servers() {
        for CheckResult { check, verdict } in &server.results {
            if let Some(found) = verdict.found().filter(|_| check.group == Group::Environment) {
                assert!(found.subject.name.is_some(), "{}: {}: {:?}", server.name, check.id, found);
            }
        }
    }
}

#[test]
fn every_server_has_a_description_and_provenance() {
    for name in stems(".json") {
        let text = fs::read_to_string(path(&name, ".json")).unwrap();
        let own: Snapshot = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(own.about.as_ref().is_some_and(|about| !about.is_empty()), "{name}: `about` is missing");
        if own.synthetic || own.based_on.is_some() {
            assert!(own.synthetic, "{name}: what is layered was composed: `synthetic` is missing");
            assert!(!own.sources.is_empty(), "{name}: `sources` is missing");
        } else {
            assert!(own.redacted, "{name}: a recorded server must be redacted");
        }
    }
}
