//! Every signature is held to the lines in its own file.

use std::collections::BTreeSet;

use super::scan::{Hit, Scanner};
use catalog::expression::Expression;
use catalog::signatures::Signature;
use catalog::testing::catalog;

fn scan(line: &str) -> Vec<Hit> {
    Scanner::new(catalog()).scan(line)
}

fn wrong(one: &Signature) -> Vec<String> {
    if one.is_derived() {
        return Vec::new();
    }
    let pattern = match Expression::compiled(one.pattern) {
        Ok(pattern) => pattern,
        Err(error) => return vec![format!("{}: {error}", one.id)],
    };
    let mut wrong = Vec::new();
    let named: BTreeSet<&str> = pattern.names().collect();
    if named != one.captures.iter().copied().collect() {
        wrong.push(format!("{}: captures are not the groups {named:?}", one.id));
    }
    for line in &one.matches {
        if !one.literals.iter().any(|literal| line.contains(literal)) {
            wrong.push(format!("{}: no literal in {line}", one.id));
        }
        match scan(line).into_iter().find(|hit| hit.signature.id == one.id) {
            None => wrong.push(format!("{}: does not match {line}", one.id)),
            Some(hit) => {
                let message = hit.message();
                if ["  ", "()", ": ."].iter().any(|hole| message.contains(hole)) {
                    wrong.push(format!("{}: a hole in {message:?}", one.id));
                }
            }
        }
    }
    for line in &one.not_matches {
        if pattern.is_match(line) {
            wrong.push(format!("{}: matches {line}", one.id));
        }
    }
    wrong
}

#[test]
fn every_signature_matches_its_lines_and_no_other() {
    let wrong: Vec<String> = catalog().signatures().all().iter().flat_map(wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The groups that a sentence needs outside of brackets are in every line that matches: so no sentence has a
/// name in place of a value.
#[test]
fn every_example_line_fills_its_message_template() {
    for one in catalog().signatures().all() {
        for line in &one.matches {
            let hits = scan(line);
            let hit = hits.iter().find(|hit| hit.signature.id == one.id).unwrap();
            let value = |name: &str| hit.captured(name);
            assert!(super::message::fill(one.message, &value).is_some(), "{}: {line}", one.id);
        }
    }
}

#[test]
fn roots_come_first() {
    let hits =
        scan("RuntimeError: CUDA error: system has unsupported display driver / cuda driver combination");
    assert_eq!(hits[0].signature.id, "cuda-compat-mismatch-803", "{hits:?}");
}

#[test]
fn unknown_lines_match_no_signature() {
    let lines = [
        "",
        "error",
        "RuntimeError: the frobnicator is out of cheese",
        "Epoch 3: loss 0.14",
        "\u{0}\u{fffd}",
    ];
    for line in lines {
        assert!(scan(line).is_empty(), "{line}: {:?}", scan(line));
    }
}

#[test]
fn captures_the_xid_number() {
    let hits = scan(
        "[ 12.0] NVRM: Xid (PCI:0000:38:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the \
            bus.",
    );
    assert!(hits.iter().any(|hit| hit.captured("xid") == Some("79")), "{hits:?}");
}
