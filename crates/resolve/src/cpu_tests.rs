//! Stacks without CUDA.

use super::lock::Lock;
use super::lookup;
use super::outcome::{Conflict, Outcome, Resolution};
use super::parse::{self, StackOptions};
use super::report::text;
use super::request::Request;
use super::resolve;
use crate::testing::universe;
use crate::tests::request;

fn found(words: &[&str]) -> Resolution {
    match resolve(universe(), &request(words)) {
        Outcome::Resolved(resolution) => *resolution,
        Outcome::Conflict(conflict) => panic!("{words:?}: {conflict:?}"),
    }
}

fn conflict(words: &[&str]) -> Conflict {
    match resolve(universe(), &request(words)) {
        Outcome::Resolved(resolution) => panic!("{words:?}: {:?}", resolution.stack),
        Outcome::Conflict(conflict) => *conflict,
    }
}

/// Every sentence about a stack.
fn sentences(resolution: &Resolution) -> Vec<&String> {
    let decisions = resolution.decisions.iter().map(|one| &one.message);
    let rejected = resolution.rejected.iter().flat_map(|one| &one.reasons).map(|one| &one.message);
    decisions.chain(rejected).chain(resolution.warnings.iter().map(|one| &one.message)).collect()
}

#[test]
fn x86_64_installs_from_the_index_of_cpu_builds() {
    let resolution = found(&["cuda cpu", "python 3.12"]);
    let stack = &resolution.stack;
    assert_eq!((stack.torch_build.as_str(), stack.cuda.as_str()), ("cpu", "cpu"));
    assert_eq!(text::headline(stack), format!("torch {}+cpu · Python 3.12 · CPU", stack.torch));
    assert_eq!(stack.index_url.as_deref(), Some("https://download.pytorch.org/whl/cpu"));
    assert_eq!((&stack.driver_min, &stack.driver_max_branch), (&None, &None));
    assert_eq!((&stack.nccl, &stack.cudnn, &stack.triton), (&None, &None, &None));
    assert_eq!(stack.gpu_archs.as_deref(), Some(&[][..]));
    assert!(stack.base_image.as_ref().unwrap().to_string().starts_with("ubuntu:"), "{stack:?}");
    assert!(stack.install[0].starts_with(&format!("pip install torch=={}+cpu ", stack.torch)), "{stack:?}");
    assert!(stack.install[0].ends_with(" --index-url https://download.pytorch.org/whl/cpu"), "{stack:?}");
    assert!(resolution.warnings.iter().all(|one| !one.id.starts_with("unknown-")), "{resolution:?}");
    let about_cuda = |text: &&&String| {
        let text = text.replace("The leanest image without CUDA", "");
        ["CUDA", "driver", "GPU"].iter().any(|word| text.contains(word))
    };
    let all = sentences(&resolution);
    assert_eq!(all.iter().find(about_cuda), None);
}

#[test]
fn what_the_catalog_does_not_have_stays_unknown() {
    let ids = |words: &[&str]| -> Vec<String> {
        found(words).warnings.into_iter().map(|one| one.id).filter(|id| id.starts_with("unknown-")).collect()
    };
    // The release matrix of 2.15 was not read, and that of 2.5 has no Python 3.13, which PyPI has.
    assert_eq!(ids(&["cuda cpu", "torch 2.15"]), ["unknown-torch-wheel-for-python"]);
    assert_eq!(ids(&["cuda cpu", "torch 2.5.1", "python 3.13"])[0], "unknown-torch-wheel-for-python");
    assert!(conflict(&["cuda cpu", "torch 2.5.1", "python 3.14"]).reasons[0].message.contains("no wheel"));
    assert_eq!(ids(&["cuda cpu", "torch 2.11", "arch aarch64"])[0], "unknown-torch-architecture");
    assert_eq!(ids(&["cuda cpu", "deepspeed"]), ["unknown-package-cuda"]);
    assert_eq!(ids(&["cuda cpu", "bitsandbytes"]), ["unknown-package-cuda"]);
    assert!(ids(&["cuda cpu", "transformers", "accelerate", "trl"]).is_empty());
}

#[test]
fn explain_names_the_cpu_build() {
    let text = |item: &str| format!("{:?}", lookup::explain(universe(), item).unwrap());
    assert!(text("torch==2.10.0+cpu").contains("PyPI's wheels, for Python 3.10 to 3.14"));
    assert!(!text("torch==2.15.0+cpu").contains("no such build"));
}

#[test]
fn aarch64_installs_the_cpu_wheels_of_pypi() {
    let stack = found(&["cuda cpu", "arch aarch64"]).stack;
    assert_eq!(
        (stack.torch.as_str(), &stack.index_url),
        ("2.10.0", &None),
        "the last with CPU wheels on PyPI"
    );
    assert_eq!((stack.torch_build.as_str(), &stack.triton), ("cpu", &None));
    assert!(stack.install[0].starts_with("pip install torch==2.10.0 "), "{stack:?}");
}

#[test]
fn cpu_builds_are_candidates_only_where_they_are_required() {
    assert_ne!(found(&["arch aarch64", "torch 2.10"]).stack.torch_build, "cpu");
    assert_eq!(found(&["torch 2.6.0+cpu"]).stack.cuda, "cpu");
    assert!(conflict(&["torch 2.6.0+cpu", "cuda 12.4"]).message.contains("incompatible"));
}

#[test]
fn what_needs_a_gpu_conflicts() {
    for (other, reason) in [
        ("gpu h100", "a CPU build of torch does not use the H100"),
        ("driver 580.95.05", "a CPU build of torch uses no NVIDIA driver"),
        ("compile", "compiling CUDA code requires a torch that was built for CUDA"),
        ("flash-attn", "CUDA; a CPU build of torch has none"),
        ("vllm", "CUDA; a CPU build of torch has none"),
        ("xformers", "CUDA; a CPU build of torch has none"),
        ("flashinfer-python", "CUDA; a CPU build of torch has none"),
        ("transformer-engine", "CUDA; a CPU build of torch has none"),
        ("nccl ==2.27.5", "a CPU build of torch has no NCCL"),
        ("nvidia-nccl-cu12", "a CPU build of torch has no NCCL"),
        ("base nvcr.io/nvidia/pytorch", "no NVIDIA image with known contents has a CPU build of torch"),
    ] {
        let conflict = conflict(&["cuda cpu", other]);
        let option = format!("--{other}");
        assert!(conflict.requirements.contains(&option), "{other}: {conflict:?}");
        assert!(conflict.requirements.contains(&"--cuda cpu".to_owned()), "{other}: {conflict:?}");
        assert!(conflict.reasons.iter().any(|one| one.message.contains(reason)), "{other}: {conflict:?}");
        let instead = conflict.nearest.iter().filter(|near| near.requirement == "--cuda cpu");
        let cuda =
            instead.filter_map(|near| near.replacement.as_ref()).find(|one| one.starts_with("--cuda 1"));
        assert!(cuda.is_some(), "{other}: {:?}", conflict.nearest);
    }
}

#[test]
fn conflict_that_ends_with_what_nobody_read_is_undecided() {
    // Of 0.0.0 nobody read whether it loads CUDA libraries; all others do.
    let unread = conflict(&["cuda cpu", "transformer-engine-cu12"]);
    assert!(unread.undecided, "{unread:?}");
    assert!(
        unread.message.contains("does not say of every release whether it works without CUDA"),
        "{unread:?}"
    );
    for package in ["transformer-engine-cu12 >=1", "sgl-kernel", "vllm"] {
        assert!(!conflict(&["cuda cpu", package]).undecided, "{package}");
    }
    assert!(!conflict(&["cuda cpu", "gpu h100", "transformer-engine-cu12"]).undecided);
}

#[test]
fn requested_image_with_cuda_costs_a_warning() {
    let resolution = found(&["cuda cpu", "base nvidia/cuda"]);
    let warning = resolution.warnings.iter().find(|one| one.id == "base-cuda-matches").unwrap();
    assert!(
        warning.message.contains("which torch") && warning.message.contains("does not use"),
        "{warning:?}"
    );
    let stack = found(&["cuda cpu", "base python", "python 3.12"]).stack;
    assert!(stack.base_image.as_ref().unwrap().to_string().starts_with("python:3.12"), "{stack:?}");
    assert_eq!(found(&["cuda cpu", "base none", "os ubuntu24.04"]).stack.base_image, None);
}

#[test]
fn lock_resolves_to_itself() {
    for arch in ["x86_64", "aarch64"] {
        let typed = StackOptions {
            cuda: Some("CPU".into()),
            arch: Some(arch.into()),
            with: vec!["transformers".into()],
            ..StackOptions::default()
        };
        let requirements = parse::requirements(universe(), &typed).unwrap().requirements;
        let ask = |requirements| Request { requirements, today: "2026-11-21".into(), ..Request::default() };
        let Outcome::Resolved(first) = resolve(universe(), &ask(requirements.clone())) else { panic!() };
        let lock = Lock::new(&first.stack, &requirements);
        let read = Lock::parse(&serde_json::to_string(&lock).unwrap()).unwrap();
        let Outcome::Resolved(again) = resolve(universe(), &ask(read.requirements("l.json").unwrap())) else {
            panic!("{lock:?}")
        };
        assert_eq!(again.stack, first.stack);
        assert_eq!(lock.differences(&again.stack), Vec::<String>::new());
    }
}
