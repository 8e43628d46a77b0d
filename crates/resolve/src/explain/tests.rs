//! Whole answers, as texts that a person can review.

use crate::testing::universe;
use std::fmt::Write;

use crate::outcome::{Outcome, PythonFrom, Resolution};
use crate::tests::request;
use crate::{resolve, search};

fn found(words: &[&str]) -> Resolution {
    match resolve(universe(), &request(words)) {
        Outcome::Resolved(resolution) => *resolution,
        Outcome::Conflict(conflict) => panic!("{words:?}: {conflict:?}"),
    }
}

/// The reasons, the refused and the warnings in lines.
fn text(words: &[&str]) -> String {
    let resolution = found(words);
    let mut text = format!("{}\n\n", if words.is_empty() { "anything".to_owned() } else { words.join(", ") });
    for decision in &resolution.decisions {
        let _ = writeln!(text, "{} {}: {}", decision.part, decision.chosen, decision.message);
    }
    for rejected in &resolution.rejected {
        let message: Vec<&str> = rejected.reasons.iter().map(|reason| reason.message.as_str()).collect();
        let _ = writeln!(text, "not {}: {}", rejected.candidate, message.join("; "));
    }
    for warning in &resolution.warnings {
        let _ = writeln!(text, "! {}: {}", warning.id, warning.message);
    }
    for command in &resolution.stack.install {
        let _ = writeln!(text, "$ {command}");
    }
    text
}

#[test]
fn missing_wheel_reason_has_singular_and_plural_form() {
    let resolution = found(&["python 3.8"]);
    let one = resolution.rejected.iter().find(|one| one.candidate == "torch 2.14.0").unwrap();
    let predicate = one.predicate.as_ref().unwrap();
    assert_eq!(predicate.one, one.reasons[0].message);
    assert_eq!(predicate.several, "have no wheel for Python 3.8");
}

#[test]
fn reasons_omit_a_python_that_was_not_requested() {
    let torch = found(&["flash-attn"]).decisions.into_iter().find(|one| one.part == "torch").unwrap();
    assert!(!torch.message.contains("no wheel for Python"), "{}", torch.message);
}

#[test]
fn cuda_12_1_with_python_3_12() {
    insta::assert_snapshot!(text(&["cuda 12.1", "python 3.12"]));
}

#[test]
fn an_old_card() {
    insta::assert_snapshot!(text(&["gpu gtx-1080-ti"]));
}

#[test]
fn an_old_python_with_packages() {
    insta::assert_snapshot!(text(&["python 3.10", "accelerate", "deepspeed"]));
}

#[test]
fn an_old_torch() {
    insta::assert_snapshot!(text(&["torch 2.2", "transformers"]));
}

#[test]
fn every_choice_has_a_reason_and_a_source() {
    for words in [&[][..], &["torch 2.5"], &["cuda 11.8", "deepspeed"], &["gpu h100", "driver 580.65.06"]] {
        let resolution = found(words);
        let parts: Vec<&str> = resolution.decisions.iter().map(|one| one.part.as_str()).collect();
        for part in ["torch", "python", "base_image"] {
            assert!(parts.contains(&part), "{words:?}: {part}");
        }
        assert_eq!(resolution.stack.deepspeed.is_some(), parts.contains(&"deepspeed"));
        for package in resolution.stack.packages.keys() {
            assert!(parts.contains(&package.as_str()), "{words:?}: {package}");
        }
        for decision in &resolution.decisions {
            assert!(decision.message.ends_with('.') && !decision.message.contains(".."), "{decision:?}");
            assert!(!decision.sources.is_empty(), "{decision:?}");
        }
    }
}

#[test]
fn rejected_torch_releases_do_not_resolve() {
    for words in [
        &["cuda 12.1", "python 3.12"][..],
        &["gpu gtx-1080-ti"],
        &["python 3.9"],
        &["driver 550.54.14"],
        &["xformers 0.0.29"],
        &["deepspeed 0.9.5", "gpu h100"],
    ] {
        let Outcome::Resolved(outcome) = resolve(universe(), &request(words)) else { continue };
        let (_, tolerance) = search::best(universe(), &request(words), None).unwrap();
        let torches = outcome.rejected.iter().filter_map(|one| one.candidate.strip_prefix("torch "));
        for torch in torches {
            let mut more = words.to_vec();
            let requirement = format!("torch {torch}");
            more.push(&requirement);
            let found = search::best(universe(), &request(&more), None);
            assert!(found.is_none_or(|(_, needed)| needed > tolerance), "{words:?}: torch {torch}");
        }
    }
}

#[test]
fn a_default_stack_warns_of_little() {
    let ids: Vec<String> = found(&[]).warnings.into_iter().map(|warning| warning.id).collect();
    assert!(ids.len() <= 1, "{ids:?}");
}

#[test]
fn warns_about_end_of_life_and_minor_compatibility() {
    let ids: Vec<String> = found(&["python 3.9"]).warnings.into_iter().map(|warning| warning.id).collect();
    assert!(ids.contains(&"python-end-of-life".to_owned()), "{ids:?}");
    let older = found(&["cuda 12.6", "driver 535.104.05"]).warnings;
    assert!(older.iter().any(|warning| warning.id == "minor-version-compatibility"), "{older:?}");
    let newer = found(&["cuda 12.6", "driver 580.65.06"]).warnings;
    assert!(newer.iter().all(|warning| warning.id != "minor-version-compatibility"), "{newer:?}");
}

#[test]
fn installed_python_is_kept() {
    use crate::parameter::Source;
    use crate::request::{Base, Prefer, Request, Requirement, RequirementKind};
    let mut request = request(&[]);
    let requirement = |kind| Requirement { source: Source::Trial, kind };
    request.requirements = vec![
        requirement(RequirementKind::Base(Base::None)),
        requirement(RequirementKind::System("ubuntu22.04".into())),
    ];
    let python = |request: &Request| match resolve(universe(), request) {
        Outcome::Resolved(found) => {
            let message =
                found.decisions.iter().find(|one| one.part == "python").map(|one| one.message.clone());
            (
                found.stack.python.clone(),
                found.stack.python_from,
                message.unwrap(),
                found.stack.install[0].clone(),
            )
        }
        Outcome::Conflict(conflict) => panic!("{conflict:?}"),
    };
    assert_ne!(python(&request).1, PythonFrom::Machine, "nothing is known of its Pythons");
    request.prefer = Prefer::Installed;
    request.installed.insert("python".into(), "3.12.3".into());
    let (version, from, message, install) = python(&request);
    assert_eq!((version.as_str(), from), ("3.12", PythonFrom::Machine));
    assert!(message.contains("installed already") && !message.contains("uv"), "{message}");
    assert!(install.starts_with("pip install "), "{install}");
}
