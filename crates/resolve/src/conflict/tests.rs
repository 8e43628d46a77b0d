//! Conflicts, as users meet them.

use crate::testing::universe;
use catalog::testing::catalog;
use proptest::prelude::*;

use super::super::assemble;
use super::super::criteria::Criteria;
use super::super::outcome::{Conflict, Nearest, Outcome};
use super::super::parse::{self, StackOptions};
use super::super::properties::requests;
use super::super::request::{Request, Requirement};
use super::super::verdict::Judgement;
use super::super::{resolve, search};
use super::core::{self, Searcher};
use super::{explain, explain_with};

/// A request as it would be typed.
fn request(line: &str) -> Request {
    let mut typed = StackOptions::default();
    let mut words = line.split_whitespace().peekable();
    while let Some(option) = words.next() {
        let value = words.next_if(|next| !next.starts_with("--")).unwrap_or_default().to_owned();
        match option {
            "--torch" => typed.torch = Some(value),
            "--cuda" => typed.cuda = Some(value),
            "--python" => typed.python = Some(value),
            "--deepspeed" => typed.deepspeed = Some(value),
            "--with" => typed.with.push(value),
            "--gpu" => typed.gpu.push(value),
            "--driver" => typed.driver = Some(value),
            "--os" => typed.os = Some(value),
            "--arch" => typed.arch = Some(value),
            "--base" => typed.base = Some(value),
            "--compile" => typed.compile = true,
            _ => panic!("{option}"),
        }
    }
    let requirements = parse::requirements(universe(), &typed)
        .unwrap_or_else(|error| panic!("{line}: {error:?}"))
        .requirements;
    Request { requirements, today: "2026-11-21".into(), ..Request::default() }
}

#[test]
fn releases_beyond_the_catalog_are_unknown() {
    for line in ["--with numpy==1.20.3", "--python 3.8 --with setuptools<60", "--torch 1.12", "--cuda 11.3"] {
        let conflict = conflict(line);
        assert!(conflict.undecided, "{line}: {conflict:?}");
        assert!(conflict.message.contains("is older than every release in the catalog"), "{line}");
    }
    for line in [
        "--with transformers==99.24.0",
        "--with transformers>=99.24",
        "--with numpy==9",
        "--cuda 13.9",
        "--python 3.16",
        "--torch 2.16",
    ] {
        let conflict = conflict(line);
        assert!(conflict.undecided, "{line}: {conflict:?}");
        assert!(conflict.message.contains("is newer than every release in the catalog"), "{line}");
    }
    let older = conflict("--python 3.9 --torch 2.8.0 --with sglang");
    assert!(older.undecided && older.message.contains("begins with sglang 0.5.3"), "{older:?}");
    for line in
        ["--torch 2.6.1", "--cuda 12.7", "--cuda 12.2", "--with numpy==2.0.9", "--torch 2.6 --cuda 12.1"]
    {
        assert!(!conflict(line).undecided, "{line}");
    }
}

#[test]
fn another_build_of_the_release_is_not_blamed() {
    let message = |line: &str| {
        let conflict = conflict(line);
        let reasons = conflict.reasons.into_iter();
        reasons.map(|reason| reason.message).collect::<Vec<_>>().join(" | ")
    };
    for line in ["--torch 2.5.1 --python 3.13 --cuda 12.1", "--python 3.13 --torch 2.5 --with xformers"] {
        let text = message(line);
        assert!(
            text.contains("have no wheel for Python 3.13") || text.contains("has no wheel for Python 3.13")
        );
        assert!(
            text.contains("for CUDA 1") && text.contains("; the builds for CUDA 12.4 have one"),
            "{line}: {text}"
        );
    }
}

#[test]
fn the_cause_alone_is_given_where_two_packages_exclude_each_other() {
    let conflict = conflict("--with vllm==0.11.0,transformers==5.1.0");
    let [reason] = &conflict.reasons[..] else { panic!("{:?}", conflict.reasons) };
    assert_eq!(reason.constraint, "package-incompatible");
    assert!(reason.message.contains("all_special_tokens_extended"), "{reason:?}");
}

#[test]
fn the_wheel_that_is_missing_is_named() {
    let reasons = |line: &str| {
        let reasons = conflict(line).reasons.into_iter().map(|reason| reason.message);
        reasons.collect::<Vec<_>>().join(" | ")
    };
    let pydantic = reasons("--python 3.14 --with pydantic==2.11.7");
    assert!(!pydantic.contains("not even compiled"), "{pydantic}");
    assert!(pydantic.contains("have no wheel for Python 3.14"), "{pydantic}");
    let arm = reasons("--torch 2.5.1 --python 3.13 --arch aarch64");
    assert!(arm.starts_with("torch 2.5.1 has no wheel") && arm.contains("wheels for aarch64"), "{arm}");
}

#[test]
fn no_release_without_a_wheel_is_compiled_against_a_newer_torch() {
    let text = written("--torch 2.15 --with vllm");
    assert!(!text.contains("vllm 0.0.1") && !text.contains("vllm 0.1.3 "), "{text}");
    let compiled = resolve(universe(), &request("--torch 2.15 --with vllm --compile"));
    assert!(matches!(compiled, Outcome::Conflict(_)));
}

/// The conflict of a request that no stack satisfies.
fn conflict(line: &str) -> Conflict {
    match resolve(universe(), &request(line)) {
        Outcome::Conflict(conflict) => *conflict,
        Outcome::Resolved(found) => panic!("{line}: {:?}", found.stack),
    }
}

fn written(line: &str) -> String {
    let conflict = conflict(line);
    let mut text = format!("{}\n", conflict.message);
    for reason in &conflict.reasons {
        text += &format!("- {} ({})\n", reason.message, reason.constraint);
    }
    for nearest in &conflict.nearest {
        let stack = &nearest.stack;
        let replacement = nearest.replacement.as_deref().unwrap_or("nothing");
        text += &format!(
            "* {}: {}; type {replacement}: torch {}+{}\n",
            nearest.requirement, nearest.change, stack.torch, stack.torch_build,
        );
    }
    text
}

/// Snapshots of what a user reads, one for each case.
#[test]
fn conflict_messages_match_snapshots() {
    for (name, line) in [
        ("torch_and_cuda", "--torch 2.6 --cuda 12.1"),
        ("torch_and_python", "--torch 2.1 --python 3.12"),
        ("new_gpu_and_old_torch", "--gpu b200 --torch 2.5"),
        ("gpu_of_old_and_new_torch", "--gpu v100 --torch 2.15"),
        ("gpu_and_cuda", "--gpu v100 --cuda 13.0"),
        ("gpus_old_and_new", "--gpu k80,b200 --torch >=2.7 --cuda <12.9"),
        ("old_driver_and_newest_torch", "--driver 470 --torch 2.15"),
        ("old_driver_and_python", "--driver 450.80.02 --python 3.14"),
        ("forward_compatibility_would_do", "--driver 535 --cuda 13.0"),
        ("no_forward_compatibility", "--driver 535 --torch 2.15 --gpu rtx4090"),
        ("no_forward_compatibility_from_this_branch", "--driver 470 --torch 2.15 --gpu h100"),
        ("driver_older_than_gpu", "--driver 535.54.03 --gpu b200"),
        ("driver_newer_than_gpu", "--driver 590.44.01 --gpu v100"),
        ("deepspeed_and_another_nvcc", "--deepspeed --cuda 13.0 --base nvidia/cuda:13.1.0-devel-ubuntu24.04"),
        ("deepspeed_and_torch", "--deepspeed 0.12 --torch 2.11"),
        ("numpy_2_and_torch_2_2", "--with numpy>=2 --torch 2.2"),
        ("vllm_and_torch", "--with vllm==0.6.0 --torch 2.7"),
        ("flash_attn_and_torch", "--with flash-attn==2.5.8 --torch 2.6"),
        ("what_a_package_requires", "--with transformers==4.30.2 --python 3.14"),
        ("python_of_an_image", "--base python:3.12-slim --python 3.11"),
        ("torch_of_an_image", "--base pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel --torch 2.6"),
        ("two_conflicts", "--python 3.8 --torch 2.8 --gpu b200 --driver 525.60.13"),
        ("cuda_that_never_was", "--cuda 12.7"),
        ("cuda_patch_that_never_was", "--cuda 12.1.5"),
        ("cuda_patch_of_an_image", "--cuda 12.1.0 --base nvidia/cuda:12.1.1-devel-ubuntu22.04"),
        ("cuda_without_builds", "--cuda 12.2"),
        ("torch_that_never_was", "--torch 2.6.1"),
        ("torch_of_the_future", "--torch 2.16"),
        ("build_that_never_was", "--torch 2.6.0+cu121"),
        ("several_that_never_were", "--torch 2.6.1 --cuda 12.7 --python 3.12"),
        ("numpy_of_the_future", "--with numpy==9"),
        ("python_and_numpy", "--torch 2.7 --with numpy==1.26.4 --python 3.13"),
        ("packages", "--deepspeed 0.9.5 --torch 2.0 --with pydantic>=2"),
        ("vllm_that_is_compiled", "--torch 1.13 --with vllm"),
        ("vllm_that_compiling_does_not_help", "--torch 1.13 --with vllm --base python:3.11-slim-bookworm"),
        ("repository_and_system", "--os debian12 --base nvidia/cuda"),
        ("system_torch_and_compile", "--os ubuntu20.04 --torch 2.15 --compile"),
        ("image_and_cuda", "--base nvidia/cuda:12.1.1-devel-ubuntu22.04 --cuda 12.4"),
        ("image_and_torch", "--base nvidia/cuda:12.1.1-devel-ubuntu22.04 --torch 2.15"),
        ("image_and_system", "--base nvidia/cuda:12.1.1-devel-ubuntu22.04 --os ubuntu20.04"),
    ] {
        insta::assert_snapshot!(name, written(line), line);
    }
}

fn holds(request: &Request, requirements: &[Requirement]) -> bool {
    let request = Request { requirements: requirements.to_vec(), ..request.clone() };
    search::best(universe(), &request, None).is_some()
}

/// The requirements of a conflict cannot hold together, and any of them less can.
fn minimal(request: &Request, conflict: &Conflict) -> Result<(), TestCaseError> {
    let gpus = core::gpus(&request.requirements);
    let holds = |requirements: &[Requirement]| {
        holds(request, requirements)
            || core::with_gpus(requirements, &gpus).is_some_and(|more| holds(request, &more))
    };
    let named = |requirement: &&Requirement| conflict.requirements.contains(&requirement.source.to_string());
    let core: Vec<Requirement> = request.requirements.iter().filter(named).cloned().collect();
    prop_assert_eq!(core.len(), conflict.requirements.len());
    prop_assert!(!holds(&core), "{:?}", conflict.requirements);
    for index in 0..core.len() {
        let mut fewer = core.clone();
        fewer.remove(index);
        prop_assert!(holds(&fewer), "{:?}", conflict.requirements);
    }
    prop_assert!(!conflict.reasons.is_empty(), "{:?}", conflict.requirements);
    Ok(())
}

/// The replacement options give the stack that the answer promises.
fn typeable(request: &Request, nearest: &Nearest) -> Result<(), TestCaseError> {
    let given_up = |message: &str| {
        nearest.requirement.split(" and ").flat_map(|part| part.split(", ")).any(|one| one == message)
    };
    let mut requirements: Vec<Requirement> = request
        .requirements
        .iter()
        .filter(|requirement| !given_up(&requirement.source.to_string()))
        .cloned()
        .collect();
    requirements.extend(nearest.replacement.iter().flat_map(|line| self::request(line).requirements));
    let changed = Request { requirements, ..request.clone() };
    let found = search::best(universe(), &changed, None);
    prop_assert!(found.is_some(), "{} for {}", nearest.change, nearest.requirement);
    if let Some((choice, _)) = found {
        let stack = assemble::stack(&Criteria::from_request(catalog(), &changed), &choice);
        prop_assert_eq!(
            &stack,
            &nearest.stack,
            "{:?} instead of {}",
            nearest.replacement,
            nearest.requirement
        );
        let failed = search::judge(catalog(), &changed, &choice);
        prop_assert!(
            !failed.iter().any(|judged| matches!(judged.judgement, Judgement::Fails(_))),
            "{failed:?}"
        );
    }
    Ok(())
}

/// Eight corrections of four requirements each take 292 searches, most requests fewer than 100.
const SEARCHES_MAX: usize = 500;

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn conflicts_are_minimal_and_suggestions_resolve(request in requests()) {
        if let Outcome::Conflict(conflict) = resolve(universe(), &request) {
            minimal(&request, &conflict)?;
            for nearest in &conflict.nearest {
                typeable(&request, nearest)?;
            }
            let mut searcher = Searcher::new(universe(), &request);
            explain_with(&mut searcher);
            prop_assert!(searcher.searches < SEARCHES_MAX, "{}", searcher.searches);
            let mut reversed = request.clone();
            reversed.requirements.reverse();
            prop_assert_eq!(&*conflict, &explain(universe(), &reversed), "the order does not matter");
        }
    }
}

/// Three conflicts at once, which have many corrections: what holds is looked for once.
#[test]
fn conflicts_that_share_requirements_share_searches() {
    let request =
        request("--cuda 12.6 --torch 2.4 --deepspeed 0.12 --gpu v100 --gpu b200 --driver 590.44.01");
    let mut searcher = Searcher::new(universe(), &request);
    let conflict = explain_with(&mut searcher);
    assert!(searcher.searches < 300, "{} searches, 369 without that", searcher.searches);
    assert_eq!(conflict.nearest.len(), 8);
}
