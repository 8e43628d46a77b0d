//! Rules that every signature of the catalog keeps to.

use std::collections::BTreeSet;

use catalog::signatures::{all, signature};
use checks::{CHECKS, fleet::FLEET_CHECKS};

#[test]
fn ids_are_unique_and_are_no_check() {
    let mut seen = BTreeSet::new();
    for one in all() {
        assert!(seen.insert(one.id), "{} twice", one.id);
        assert!(!CHECKS.iter().any(|check| check.id == one.id), "{} is a check too", one.id);
    }
}

#[test]
fn what_a_signature_leads_to_exists() {
    for one in all() {
        for id in one.leads_to {
            assert!(signature(id).is_some() && *id != one.id, "{}: leads to {id}", one.id);
        }
    }
}

#[test]
fn every_check_exists() {
    const COMMANDS: &[&str] = &["nvidia-smi"];
    let known = |id: &str| {
        CHECKS.iter().any(|check| check.id == id) || FLEET_CHECKS.iter().any(|check| check.id == id)
    };
    for one in all() {
        for cause in one.causes {
            let check = &cause.check;
            let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            let like_an_id = check.contains('-') && check.chars().all(letters);
            let fine = !like_an_id || COMMANDS.contains(check) || known(check);
            assert!(fine, "{}: there is no check {check}", one.id);
        }
    }
}

#[test]
fn nothing_is_empty() {
    for one in all() {
        let texts = [&one.says, &one.meaning, &one.source];
        assert!(texts.iter().all(|text| text.trim().len() > 3), "{}", one.id);
        let lines = [one.pattern.is_empty(), one.matches.is_empty(), one.not_matches.is_empty()];
        assert!(!one.causes.is_empty() && lines == [one.is_derived(); 3], "{}", one.id);
        for cause in one.causes {
            let texts = [&cause.cause, &cause.check, &cause.fix].into_iter().chain(cause.commands);
            assert!(texts.into_iter().all(|text| !text.trim().is_empty()), "{}", one.id);
        }
        assert!(one.literals.iter().all(|text| text.len() >= crate::literals::SHORTEST), "{}", one.id);
    }
}
