//! Whole requests.

use super::outcome::{Outcome, PythonFrom, Stack};
use super::request::{Base, Gpu, Request, Requirement, RequirementKind};
use super::{resolve, search};
use crate::parameter::Source;
use crate::testing::universe;
use catalog::testing::catalog;

fn gpu(alias: &str) -> Gpu {
    let row = catalog().gpus().by_alias(alias).unwrap();
    crate::parse::of_model(&row.name, row).unwrap()
}

/// A request from words as on the command line: `cuda 12.1`, `torch 2.5`, `numpy <2`, `gpu h100`, `driver
/// 550.54.14`.
pub(crate) fn request(words: &[&str]) -> Request {
    let requirement = |text: &&str| {
        let (part, value) = text.split_once(' ').unwrap_or((text, ""));
        let versions = || value.parse().unwrap();
        let kind = match part {
            "gpu" => RequirementKind::Gpu(gpu(value)),
            "driver" => RequirementKind::Driver(value.parse().unwrap()),
            "os" => RequirementKind::System(value.to_owned()),
            "arch" => RequirementKind::Architecture(value.to_owned()),
            "base" if value == "none" => RequirementKind::Base(Base::None),
            "base" if value.contains(':') => RequirementKind::Base(Base::Image(value.into())),
            "base" => RequirementKind::Base(Base::Repository(value.to_owned())),
            "compile" => RequirementKind::Compile,
            "cuda" if value == "cpu" => RequirementKind::Cpu,
            "cuda" => RequirementKind::Cuda(versions()),
            "python" => RequirementKind::Python(versions()),
            "torch" => RequirementKind::Torch(versions()),
            name => RequirementKind::Package(name.to_owned(), versions()),
        };
        Requirement { source: Source::Stated(format!("--{text}")), kind }
    };
    Request {
        requirements: words.iter().map(requirement).collect(),
        today: "2026-11-21".into(),
        ..Request::default()
    }
}

pub(crate) fn stack(words: &[&str]) -> Stack {
    match resolve(universe(), &request(words)) {
        Outcome::Resolved(resolution) => resolution.stack,
        Outcome::Conflict(conflict) => panic!("{words:?}: {conflict:?}"),
    }
}

#[test]
fn cuda_12_1_with_python_3_12() {
    let stack = stack(&["cuda 12.1", "python 3.12"]);
    assert_eq!((stack.torch.as_str(), stack.torch_build.as_str()), ("2.5.1", "cu121"));
    assert_eq!(stack.base_image, Some("nvidia/cuda:12.1.1-base-ubuntu22.04".into()));
    assert_ne!(stack.python_from, PythonFrom::Apt);
}

/// The stack that was chosen, `torch+build on base`, or why there is none: every reason of the search.
fn chosen(words: &[&str]) -> Result<String, Vec<String>> {
    let mut trace = search::Trace::default();
    match search::best(universe(), &request(words), Some(&mut trace)) {
        Some((choice, _)) => {
            let build = choice.environment.build;
            Ok(format!(
                "{}+{} on {}",
                build.release.version,
                build.build.build,
                choice.environment.base.name()
            ))
        }
        None => {
            let reasons = trace.rejected.into_iter().flat_map(|one| one.reasons);
            Err(reasons.map(|reason| format!("{}: {}", reason.constraint, reason.sentence())).collect())
        }
    }
}

/// That there is no stack, and that a constraint said so in certain words.
pub(crate) fn refused(words: &[&str], constraint: &str, with: &str) {
    let reasons = chosen(words).unwrap_err();
    let found =
        reasons.iter().any(|reason| reason.starts_with(&format!("{constraint}: ")) && reason.contains(with));
    assert!(found, "{words:?}: {:?}", &reasons[..reasons.len().min(20)]);
}

#[test]
fn b200_needs_code_that_torch_2_5_lacks() {
    refused(&["gpu b200", "torch 2.5"], "gpu-has-code", "sm_100");
    assert!(chosen(&["gpu b200"]).is_ok());
}

#[test]
fn the_last_build_for_a_gtx_1080_ti() {
    assert!(
        chosen(&["gpu gtx1080ti"]).unwrap().starts_with("2.14.1+cu126"),
        "{:?}",
        chosen(&["gpu gtx1080ti"])
    );
    refused(&["gpu gtx1080ti", "torch 2.15"], "gpu-has-code", "sm_61");
    refused(&["gpu gtx1080ti", "driver 590.48.01"], "gpu-driver", "does not support");
}

#[test]
fn an_old_driver() {
    // CUDA 11.8 ended with torch 2.7.
    assert!(chosen(&["driver 470.256.02"]).unwrap().starts_with("2.7.1+cu118"));
    refused(&["driver 470.256.02", "torch 2.15"], "driver-new-enough", "580 or newer");
    // On data-centre GPUs cuda-compat helps, at its price.
    assert!(chosen(&["driver 470.256.02", "gpu a100", "torch 2.8"]).unwrap().starts_with("2.8.0+cu128"));
    refused(
        &["driver 470.256.02", "gpu rtx3090", "torch 2.8"],
        "driver-new-enough",
        "does not support forward compatibility",
    );
}

#[test]
fn torch_2_1_has_no_wheel_for_python_3_12() {
    refused(&["torch 2.1", "python 3.12"], "torch-wheel-for-python", "3.8 to 3.11");
}

#[test]
fn torch_2_2_wants_numpy_1() {
    let stack = stack(&["torch 2.2"]);
    assert!(stack.packages["numpy"].starts_with("1."), "{:?}", stack.packages);
    refused(&["torch 2.2", "numpy >=2"], "torch-incompatible", "numpy 1");
}

#[test]
fn mixed_gpus_get_a_build_with_code_for_all() {
    let words = ["gpu h100", "gpu rtx4090", "gpu v100", "driver 550.54.14"];
    assert!(chosen(&words).unwrap().starts_with("2.14.1+cu126"), "{:?}", chosen(&words));
    refused(&["gpu h100", "gpu v100", "cuda 13.0"], "gpu-has-code", "sm_70");
}

#[test]
fn deepspeed_and_nvcc() {
    // An image with another CUDA 13 than torch's is refused, or another build is taken.
    let image = "base nvidia/cuda:13.1.0-devel-ubuntu24.04";
    refused(&["deepspeed", image], "nvcc-matches-torch", "13.1.0");
    let free = chosen(&["deepspeed", "torch 2.11"]).unwrap();
    assert!(free.contains("-devel-"), "{free}");
    let stack = stack(&["deepspeed 0.16", "python 3.12"]);
    assert!(stack.packages.contains_key("setuptools"), "{:?}", stack.packages);
}

#[test]
fn base_image_options_constrain_the_stack() {
    assert_eq!(stack(&["base none", "os ubuntu22.04"]).base_image, None);
    assert!(
        chosen(&["base nvidia/cuda:12.1.1-base-ubuntu22.04", "torch 2.5"])
            .unwrap()
            .contains("+cu121 on nvidia/cuda:12.1.1")
    );
    let hub = chosen(&["base pytorch/pytorch", "torch 2.5.1"]).unwrap();
    assert!(hub.contains("2.5.1+cu124 on pytorch/pytorch:2.5.1-cuda12.4"), "{hub}");
    // NVIDIA has no image for Debian 12.
    assert!(chosen(&["os debian12"]).unwrap().contains("on debian:"), "{:?}", chosen(&["os debian12"]));
    assert!(chosen(&["base python", "python 3.12"]).unwrap().contains("on python:3.12"));
    refused(&["compile", "base nvidia/cuda:12.1.1-runtime-ubuntu22.04"], "nvcc-needed", "no nvcc");
    refused(&["torchvision 0.17.0", "torch 2.6"], "partner-asked-for", "0.21.0");
}

#[test]
fn images_of_nvidia() {
    let ngc = |requirements: &[&str]| stack(&[&["base nvcr.io/nvidia/pytorch"], requirements].concat());
    let found = ngc(&["cuda 13.0", "deepspeed"]);
    assert_eq!(found.base_image, Some("nvcr.io/nvidia/pytorch:25.10-py3".into()));
    assert_eq!((found.torch.as_str(), found.torch_build.as_str()), ("2.9.0a0", "145a3a7bda.nv25.10"));
    assert_eq!((found.index_url, found.torchvision, found.python_from), (None, None, PythonFrom::Image));
    assert!(found.packages.is_empty(), "what DeepSpeed needs besides is in the image: {:?}", found.packages);
    assert!(
        found.install[0].contains("--exclude deepspeed") && found.install.len() == 2,
        "{:?}",
        found.install
    );
    assert_eq!(ngc(&["torch 2.5"]).base_image, Some("nvcr.io/nvidia/pytorch:24.10-py3".into()));
    assert_eq!(ngc(&["python 3.10"]).base_image, Some("nvcr.io/nvidia/pytorch:24.10-py3".into()));
    assert_eq!(ngc(&["driver 550.54.14"]).base_image, Some("nvcr.io/nvidia/pytorch:24.05-py3".into()));
    let image = "base nvcr.io/nvidia/pytorch:25.06-py3";
    assert_eq!(stack(&[image]).torch, "2.8.0a0");
    refused(&["base nvcr.io/nvidia/pytorch", "cuda 11.8"], "torch-asked-for", "CUDA 11.8 was requested");
    refused(&[image, "python 3.11"], "torch-wheel-for-python", "3.12");
}

#[test]
fn cpu_builds_of_pypi_are_not_taken_for_aarch64() {
    let found = stack(&["torch 2.10", "gpu gb200"]);
    assert_eq!((found.architecture.as_str(), found.torch_build.as_str()), ("aarch64", "cu130"));
    assert_eq!(found.index_url.as_deref(), Some("https://download.pytorch.org/whl/cu130"));
    assert_eq!((found.triton, found.gpu_archs), (None, None), "not known of the wheels on that index");
    assert!(found.install[0].contains("torch==2.10.0+cu130 "), "{:?}", found.install);
    let newer = stack(&["torch 2.15", "gpu gb10"]);
    assert_eq!((newer.index_url, newer.triton.as_deref()), (None, Some("~=3.9.0")));
    assert!(newer.gpu_archs.unwrap().contains(&"11.0".to_owned()), "those of the aarch64 wheels");
    refused(&["torch 2.5.1", "python 3.13", "arch aarch64"], "torch-architecture", "aarch64 and Python 3.13");
    refused(&["gpu gb10", "arch x86_64"], "gpu-processor", "only in machines with an aarch64 processor");
}

#[test]
fn triton_is_named_where_torch_requires_it() {
    let triton = |torch: &str, python: &str| stack(&[torch, python]).triton;
    assert_eq!(triton("torch 2.5.1", "python 3.13"), None);
    assert_eq!(triton("torch 2.5.1", "python 3.12").as_deref(), Some("3.1.0"));
    assert_eq!(triton("torch 2.3.1", "python 3.12"), None);
    let newer = stack(&["torch >=2.3,<2.6", "python 3.13", "triton ==3.3.1"]);
    assert_eq!((newer.torch.as_str(), newer.packages["triton"].as_str()), ("2.5.1", "3.3.1"));
}

#[test]
fn requested_package_takes_precedence_over_newest_torch() {
    let newest = universe().package("vllm").unwrap().releases[0].text.clone();
    let stack = stack(&["vllm"]);
    assert_eq!(stack.packages["vllm"], newest, "not an old one that lets any torch be");
}

/// The ids of the warnings about a stack, or `None` where there is none.
fn warned(words: &[&str]) -> Option<Vec<String>> {
    match resolve(universe(), &request(words)) {
        Outcome::Resolved(found) => Some(found.warnings.into_iter().map(|one| one.id).collect()),
        Outcome::Conflict(_) => None,
    }
}

#[test]
fn the_compiled_part_of_pydantic_counts() {
    assert_eq!(warned(&["pydantic ==2.11.7", "python 3.14"]), None);
    assert_eq!(warned(&["pydantic ==2.5.3", "python 3.13"]), None);
    assert_eq!(stack(&["pydantic ==2.11.7", "python 3.13"]).packages["pydantic-core"], "2.33.2");
}

#[test]
fn sglang_with_the_torch_that_it_is_made_for() {
    let found = stack(&["sglang ==0.5.17"]);
    assert_eq!((found.torch.as_str(), found.packages["sglang-kernel"].as_str()), ("2.11.0", "0.4.5"));
    assert_eq!(found.packages["flashinfer-python"], "0.6.15.post1");
}

#[test]
fn vllm_0_11_0_breaks_with_transformers_5() {
    assert_eq!(warned(&["vllm ==0.11.0", "transformers >=5"]), None);
    assert!(stack(&["vllm ==0.11.0"]).packages["transformers"].starts_with("4."));
}

/// The release of a package in the stack of a request.
fn release(words: &[&str], package: &str) -> (String, String) {
    let found = stack(words);
    (found.packages[package].clone(), found.torch_build)
}

#[test]
fn compiled_packages_get_a_torch_of_their_cuda() {
    assert_eq!(release(&["vllm", "cuda 12.6"], "vllm"), ("0.19.1".into(), "cu126".into()));
    let (_, build) = release(&["sglang", "driver 535.54.03"], "sglang");
    assert!(build.starts_with("cu12"), "{build}");
    assert_eq!(release(&["sglang", "driver 535.54.03"], "sglang-kernel").0, "0.4.1");
    assert!(release(&["xformers"], "xformers").1.starts_with("cu12"));
    assert!(release(&["transformer-engine-cu12"], "transformer-engine-cu12").1.starts_with("cu12"));
    assert!(release(&["vllm"], "vllm").1.starts_with("cu13"));
}

#[test]
fn packages_that_a_gpu_cannot_run_are_not_chosen() {
    assert_eq!(release(&["vllm", "gpu v100"], "vllm").0, "0.19.1");
    refused(&["vllm", "gpu p100"], "package-gpu", "needs a GPU of sm_70 or newer");
    refused(&["flash-attn ==2.8.3", "gpu t4"], "package-gpu", "needs a GPU of sm_80 or newer");
}

#[test]
fn requirements_through_other_packages_are_met() {
    assert_eq!(release(&["vllm", "numpy <2"], "vllm").0, "0.14.0");
}

#[test]
fn old_vllm_gets_transformers_4() {
    for torch in ["torch 2.5.1", "torch 2.6.0"] {
        assert!(release(&["vllm", torch], "transformers").0.starts_with("4."), "{torch}");
    }
}

#[test]
fn of_builds_that_are_little_known_the_one_of_which_the_most_is_known() {
    let found = stack(&["gpu t4g"]);
    assert_ne!((found.torch.as_str(), found.torch_build.as_str()), ("2.13.0", "cu129"));
    let Outcome::Resolved(found) = resolve(universe(), &request(&["gpu t4g"])) else { panic!() };
    let torch = found.decisions.iter().find(|one| one.part == "torch").unwrap();
    assert!(torch.message.contains("unknown whether cu129 of 2.11.0 to 2.13.0 has what"), "{torch:?}");
}

#[test]
fn what_no_requirement_of_a_package_says() {
    let caution = |words: &[&str]| warned(words).unwrap().contains(&"package-caution".to_owned());
    assert!(caution(&["transformer-engine"]) && caution(&["sgl-kernel"]));
    // sglang pins the torch that its kernels are for.
    assert!(!caution(&["sglang ==0.5.17"]));
}
