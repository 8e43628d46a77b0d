//! Every rule: its texts are whole, its examples do what they say.

use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;

use super::*;
use checks::CHECKS;
use facts::{Expected, Facts, gather};
use host::snapshot::Snapshot;

/// The facts of a recorded machine of tests/servers.
fn facts(name: &str) -> Facts {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/servers").join(name);
    gather::recorded(
        &*Snapshot::open(&path).unwrap().host(),
        Expected::default(),
        catalog::testing::catalog(),
    )
}

fn file(example: &Example) -> File {
    let kind = recognize::kind_of_name(example.name).or_else(|| recognize::kind_of_text(example.text));
    let detected = match detect::detect(example.name, example.text) {
        detect::Detected::Kind(kind) => Some(kind),
        detect::Detected::Unchecked(_) => None,
    };
    // A broken file tells less of itself.
    let kind = kind.or(detected).unwrap_or(Kind::DeepspeedConfig);
    let mut file = File::new(catalog::testing::catalog(), example.name, example.text, kind);
    if let Some((_, machine)) = example.companions.iter().find(|(name, _)| *name == "server.json") {
        file.facts = Some(Rc::new(facts(machine)));
        return file;
    }
    if let Some((_, names)) = example.companions.iter().find(|(name, _)| *name == "names") {
        let names = names.lines().filter_map(|line| line.split_once(' '));
        file.names = names.map(|(name, known)| (name.to_owned(), known == "yes")).collect();
        return file;
    }
    let companions = example.companions.iter();
    let is_over = matches!(kind, Kind::DeepspeedConfig | Kind::Hostfile | Kind::Python | Kind::Kubernetes)
        || kind == Kind::Compose && example.companions.iter().all(|(name, _)| name.contains(".y"));
    if is_over {
        let over = companions.map(|(name, text)| Over { name: (*name).to_owned(), text: (*text).to_owned() });
        file.over = over.collect();
        return file;
    }
    file.context = companions.map(|(name, text)| ((*name).to_owned(), Some((*text).to_owned()))).collect();
    file
}

fn found(rule: &'static Rule, example: &Example) -> Vec<Finding> {
    findings(&[rule], example)
}

fn findings(rules: &[&'static Rule], example: &Example) -> Vec<Finding> {
    if example.companions.iter().any(|(name, _)| *name == "named") {
        let name = example.name.to_owned();
        return match detect::detect(example.name, example.text) {
            detect::Detected::Kind(_) => lint(rules, CHECKS, &file(example)),
            detect::Detected::Unchecked(why) => skipped(rules, &Skipped { name, why, named: true }),
        };
    }
    match example.companions.iter().find(|(name, _)| *name == "unreadable") {
        Some((_, why)) => {
            let (name, why) = (example.name.to_owned(), (*why).to_owned());
            unreadable(rules, &Unreadable { name, why, directory: false })
        }
        None => lint(rules, CHECKS, &file(example)),
    }
}

#[test]
fn every_file_is_in_the_list_under_its_own_name() {
    for subject in Subject::ALL {
        let dir = format!("{}/src/{}", env!("CARGO_MANIFEST_DIR"), subject.id());
        let ids: BTreeSet<String> =
            RULES.iter().filter(|rule| rule.subject() == *subject).map(|rule| rule.id.to_owned()).collect();
        for extension in ["rs", "md"] {
            let files = stems(&dir, extension);
            assert_eq!(
                files,
                ids,
                "*.{extension} of src/{} on the left, ids of RULES on the right",
                subject.id()
            );
        }
    }
    let ids: BTreeSet<&str> = RULES.iter().map(|rule| rule.id).collect();
    assert_eq!(ids.len(), RULES.len(), "an id stands twice");
    let taken = CHECKS.iter().find(|check| ids.contains(check.id));
    assert!(taken.is_none(), "a check has the id of a rule: {taken:?}");
}

/// The rule ids that the files of a folder with this extension are named after.
fn stems(dir: &str, extension: &str) -> BTreeSet<String> {
    #[expect(clippy::disallowed_methods, reason = "the test reads the source tree")]
    let entries = std::fs::read_dir(dir).unwrap();
    entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .map(|path| path.file_stem().unwrap().to_string_lossy().replace('_', "-"))
        .filter(|name| name != "mod")
        .collect()
}

#[test]
fn every_rule_is_whole() {
    for rule in RULES {
        let id = rule.id;
        assert!(id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{id}");
        assert!(
            !rule.summary.is_empty() && !rule.summary.ends_with('.') && rule.summary.len() <= 90,
            "{id}: summary"
        );
        let mut at = 0;
        for heading in ["## What it finds\n", "## Why it matters\n", "## How to fix it\n", "## Sources\n"] {
            let found = rule.explain[at..].find(heading);
            at += found.unwrap_or_else(|| panic!("{id}: {heading:?} is missing or out of order"));
        }
        assert!(
            !rule.explain.lines().any(|line| line.chars().count() > 110),
            "{id}: a line of explain is too long"
        );
        assert!(rule.explain.ends_with('\n') && rule.explain.contains("\n- "), "{id}: sources are a list");
        assert!(!rule.fires.is_empty() && !rule.silent.is_empty(), "{id}: examples");
    }
}

#[test]
fn every_example_does_what_it_says() {
    let wrong: Vec<String> = RULES.iter().flat_map(|rule| wrong_examples(rule)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What the examples of a rule do otherwise.
fn wrong_examples(rule: &'static Rule) -> Vec<String> {
    let mut wrong = Vec::new();
    for example in rule.fires {
        let found = found(rule, example);
        if found.is_empty() {
            wrong.push(format!("{} is silent on\n{}", rule.id, example.text));
        }
        for one in &found {
            let companions = example.companions.iter().find(|(name, _)| one.file == *name);
            let lines = companions.map_or(example.text, |(_, text)| text).lines().count();
            let number = one.found.line;
            if !(1..=lines).contains(&number) {
                wrong.push(format!("{}: line {number} of\n{}", rule.id, example.text));
            }
            if one.found.severity > rule.severity {
                wrong.push(format!("{}: worse than it promises: {:?}", rule.id, one.found));
            }
            let message = &one.found.message;
            if message.is_empty() || message.ends_with('.') || message.contains('\n') {
                wrong.push(format!("{}: {message:?}", rule.id));
            }
        }
    }
    let worst = rule.fires.iter().flat_map(|one| found(rule, one)).map(|one| one.found.severity).max();
    if worst != Some(rule.severity) {
        wrong.push(format!("{}: no example shows its worst", rule.id));
    }
    for example in rule.silent {
        for one in found(rule, example) {
            wrong.push(format!("{} finds {:?} in\n{}", rule.id, one.found, example.text));
        }
    }
    wrong
}

/// An example is of one fault: no other rule calls it an error.
#[test]
fn no_other_rule_calls_an_example_an_error() {
    let mut wrong = Vec::new();
    for rule in RULES {
        for example in rule.fires.iter().chain(rule.silent) {
            let others = findings(RULES, example).into_iter().filter(|one| one.rule.id != rule.id);
            let errors = others.filter(|one| one.found.severity >= Severity::Error);
            wrong.extend(
                errors
                    .map(|one| format!("{}: {} {:?} in\n{}", rule.id, one.rule.id, one.found, example.text)),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A comment in a list of packages leaves a rule out for its line.
#[test]
fn comments_in_lists_of_packages() {
    let ids = |name: &'static str, text: &'static str| -> Vec<(usize, &str)> {
        let found = findings(RULES, &Example { name, text, companions: &[] });
        found.iter().map(|one| (one.found.line, one.rule.id)).collect()
    };
    let text = "numpy==2.0.7  # envdoc: ignore=package-release-missing\ntransformers==4.99\n";
    assert_eq!(ids("requirements.txt", text), [(2, "package-release-missing")]);
    assert_eq!(ids("pyproject.toml", "[build-system]\nrequires = [\"setuptools\"]\n"), []);
    assert_eq!(ids("environment.yml", "dependencies:\n  - python=3.12\n"), []);
    let twice = "numpy==1.26.4\nnumpy==2.0.2\n";
    assert_eq!(ids("requirements.txt", twice), [(2, "packages-do-not-resolve")]);
}
