use crate::testing::universe;

use super::*;

fn explain(text: &str) -> Explanation {
    super::explain(universe(), text).unwrap_or_else(|| panic!("{text} is not known"))
}

fn summary(text: &str) -> String {
    explain(text).summary
}

#[test]
fn what_exists() {
    for text in [
        "torch 2.6.0",
        "torch==2.6.0+cu124",
        "pytorch 2.5",
        "torch",
        "numpy==1.26.4",
        "deepspeed==0.9.5",
        "deepspeed",
        "cuda 12.1",
        "cuda 12.4.1",
        "driver 550",
        "driver 550.54.14",
        "h100",
        "RTX 4090",
        "sm_90",
        "nccl 2.19.3",
        "python 3.12",
        "ubuntu22.04",
        "Ubuntu 22.04",
        "gpu-has-code",
        "torchvision 0.20.1",
        "nvidia/cuda",
        "nvidia/cuda:12.1.1-base-ubuntu22.04",
    ] {
        let explanation = explain(text);
        assert!(explanation.alternatives.is_empty(), "{text}: {explanation:?}");
        assert!(
            !explanation.summary.contains("no such") && !explanation.summary.contains("Not known"),
            "{text}"
        );
        let general = ["torch", "deepspeed", "torchvision 0.20.1"].contains(&text);
        assert!(general || !explanation.sources.is_empty(), "{text} has no source");
    }
}

#[test]
fn what_does_not_exist_and_what_does_instead() {
    for (text, nearest) in [
        ("torch==2.6.0+cu121", "torch==2.5.1+cu121, the newest with this build"),
        ("torch==2.6.1", "torch==2.6.0"),
        ("cuda 12.7", "CUDA 12.6.3"),
        ("nvidia/cuda:12.1-base", "nvidia/cuda:12.1"),
        ("sm_91", "sm_90 (Hopper)"),
    ] {
        let explanation = explain(text);
        assert!(
            explanation.summary.contains("no such") || text == "sm_91",
            "{text}: {}",
            explanation.summary
        );
        assert!(
            explanation.alternatives.iter().any(|one| one.starts_with(nearest)),
            "{text}: {:?}",
            explanation.alternatives
        );
    }
    assert!(summary("cuda 12.7").contains("branch 565"));
}

#[test]
fn what_is_newer_than_the_catalog_is_not_denied() {
    for text in ["torch 99.0.0", "cuda 99.1", "driver 999", "deepspeed 99.0", "nccl 99.1.1"] {
        let summary = summary(text);
        assert!(!summary.contains("no such"), "{text}: {summary}");
        assert!(summary.contains("ot known") || summary.contains("Not in the catalog"), "{text}: {summary}");
    }
    // Builds of 2.15.0 besides PyPI's may exist.
    assert!(
        summary("torch==2.15.0+cu126").starts_with("Not known")
            || summary("torch==2.15.0+cu126").starts_with("Exists")
    );
}

#[test]
fn what_is_no_version() {
    for text in ["torch x", "cuda twelve", "driver new", "nccl a.b", "numpy =="] {
        let _ = explain(text);
    }
    assert!(super::explain(universe(), "troch").is_none());
    assert!(super::explain(universe(), "").is_none());
    assert!(super::explain(universe(), "driver-library-mismatch").is_none(), "checks are not this module's");
}

#[test]
fn every_known_name_is_explained() {
    let universe = universe();
    for name in names(universe) {
        assert!(super::explain(universe, name).is_some(), "{name}");
    }
}
