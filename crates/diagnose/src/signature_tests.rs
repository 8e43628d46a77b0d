//! Rules that every signature of the catalog keeps to.

use std::collections::BTreeSet;
use std::path::Path;

use catalog::signatures::{Derived, Role, Signature};
use catalog::testing::catalog;
use checks::CHECKS;

fn all() -> &'static [Signature] {
    catalog().signatures().all()
}

fn signature(id: &str) -> Option<&'static Signature> {
    catalog().signatures().signature(id)
}

#[test]
fn ids_are_unique_and_are_no_check() {
    let mut seen = BTreeSet::new();
    for one in all() {
        assert!(seen.insert(one.id), "{} twice", one.id);
        assert!(!CHECKS.iter().any(|check| check.id == one.id), "{} is a check too", one.id);
    }
}

#[test]
fn signatures_refer_to_existing_signatures() {
    for one in all() {
        for id in &one.leads_to {
            assert!(signature(id).is_some() && *id != one.id, "{}: leads to {id}", one.id);
        }
        let counts_if =
            one.counts_if.iter().flat_map(|conditions| conditions.with.iter().chain(&conditions.without));
        let unfinished = one.unfinished.iter().map(|rule| &rule.becomes);
        for id in one.candidate_after.iter().chain(counts_if).chain(unfinished) {
            assert!(signature(id).is_some(), "{}: there is no {id}", one.id);
        }
    }
}

#[test]
fn derivations_and_exit_codes_are_unique() {
    for derived in Derived::ALL {
        assert_eq!(all().iter().filter(|one| one.derived == Some(*derived)).count(), 1, "{derived:?}");
    }
    let mut codes = BTreeSet::new();
    for one in all() {
        assert!(one.exit_codes.iter().all(|code| codes.insert(code)), "{}: an exit code of two", one.id);
        assert!(one.exit_codes.is_empty() || one.signal.is_some(), "{}: which signal?", one.id);
    }
}

#[test]
fn only_roots_yield_and_only_symptoms_report_a_signal() {
    for one in all() {
        let root = one.yields || one.machine_fault.is_some() || !one.candidate_after.is_empty();
        assert!(!root || one.role == Role::Root, "{}", one.id);
        assert!(one.signal.is_none() || one.role == Role::Symptom, "{}", one.id);
    }
}

/// How a signature behaves is a matter of its row: the program names none.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads the source tree")]
fn no_signature_is_named_in_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.join("src"), root.join("../../src")];
    let mut named = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
                let ids = all().iter().filter(|one| code.contains(&format!("\"{}\"", one.id)));
                named.extend(ids.map(|one| format!("{name}: {}", one.id)));
            }
        }
    }
    assert!(named.is_empty(), "{named:#?}");
}

#[test]
fn every_check_exists() {
    let known = |id: &str| CHECKS.iter().any(|check| check.id == id);
    for one in all() {
        for cause in &one.causes {
            assert!(cause.check.is_none_or(known), "{}: there is no check {:?}", one.id, cause.check);
            let own = cause.confirm.is_some() || cause.look_at.is_some();
            // Where all went well, there is no cause to confirm.
            let none = one.reports.iter().any(|report| report.is_success());
            let ways = usize::from(cause.check.is_some()) + usize::from(own);
            assert_eq!(ways, usize::from(!none), "{}: check, or confirm and look_at", one.id);
            let of_check = cause.confirm.filter(|text| known(text));
            assert!(of_check.is_none(), "{}: {of_check:?} is a check", one.id);
        }
    }
}

/// Whether a command of a fix only shows something.
fn only_shows(command: &str) -> bool {
    let command = command.trim_start_matches("sudo ");
    let mut words = command.split_whitespace();
    let (program, first) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let also = |options: &[&str]| options.contains(&first) || first.is_empty();
    match program {
        "cat" | "ls" | "echo" | "df" | "free" | "ps" | "dmesg" | "journalctl" | "which" | "getent" | "nc"
        | "ibv_devinfo" | "ibstat" | "ping" | "ldd" | "lsmod" | "lspci" | "ompi_info" | "grep" => true,
        "env" => !command.contains('='),
        "ip" => !command.contains(" set ") && !command.contains(" delete ") && !command.contains(" add "),
        "nvidia-smi" => also(&["-L", "-q", "topo"]) || first.starts_with("--query"),
        "systemctl" => also(&["status", "show", "cat", "is-active"]),
        "docker" => also(&["info", "version", "ps", "inspect", "logs", "images"]),
        "nvcc" => first.starts_with("--"),
        "python3" => command.contains("print("),
        "timedatectl" => first.is_empty(),
        _ => false,
    }
}

#[test]
fn fixes_do_more_than_show_something() {
    let looks = ["Read", "Compare", "Find", "Check"];
    for one in all() {
        for cause in one.causes.iter().filter(|cause| !cause.commands.is_empty()) {
            let announced = looks.iter().any(|verb| cause.fix.starts_with(verb));
            let changes = cause.commands.iter().any(|command| !only_shows(command));
            assert!(announced || changes, "{}: move to `confirm`: {:?}", one.id, cause.commands);
        }
    }
    assert!(only_shows("sudo dmesg | grep NVRM") && !only_shows("sudo systemctl restart docker"));
}

#[test]
fn nothing_is_empty() {
    for one in all() {
        let texts = [&one.message, &one.meaning, &one.source];
        assert!(texts.iter().all(|text| text.trim().len() > 3), "{}", one.id);
        let lines = [one.pattern.is_empty(), one.matches.is_empty(), one.not_matches.is_empty()];
        assert!(!one.causes.is_empty() && lines == [one.is_derived(); 3], "{}", one.id);
        for cause in &one.causes {
            let texts = [&cause.cause, &cause.fix]
                .into_iter()
                .chain(&cause.check)
                .chain(&cause.confirm)
                .chain(&cause.look_at)
                .chain(&cause.commands);
            assert!(texts.into_iter().all(|text| !text.trim().is_empty()), "{}", one.id);
        }
        assert!(one.literals.iter().all(|text| text.len() >= crate::literals::SHORTEST), "{}", one.id);
    }
}
