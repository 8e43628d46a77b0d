use crate::testing::world;

use super::*;

fn explain(text: &str) -> Explanation {
    thing(world(), text).unwrap_or_else(|| panic!("{text} is not known"))
}

fn says(text: &str) -> String {
    explain(text).says
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
        assert!(explanation.instead.is_empty(), "{text}: {explanation:?}");
        assert!(!explanation.says.contains("no such") && !explanation.says.contains("Not known"), "{text}");
        let general = ["torch", "deepspeed", "torchvision 0.20.1"].contains(&text);
        assert!(general || !explanation.sources.is_empty(), "{text} has no source");
    }
}

#[test]
fn what_does_not_exist_and_what_does_instead() {
    for (text, instead) in [
        ("torch==2.6.0+cu121", "torch==2.5.1+cu121, the newest with this build"),
        ("torch==2.6.1", "torch==2.6.0"),
        ("cuda 12.7", "CUDA 12.6.3"),
        ("nvidia/cuda:12.1-base", "nvidia/cuda:12.1"),
        ("sm_91", "sm_90 (Hopper)"),
    ] {
        let explanation = explain(text);
        assert!(explanation.says.contains("no such") || text == "sm_91", "{text}: {}", explanation.says);
        assert!(
            explanation.instead.iter().any(|one| one.starts_with(instead)),
            "{text}: {:?}",
            explanation.instead
        );
    }
    assert!(says("cuda 12.7").contains("branch 565"));
}

#[test]
fn what_is_newer_than_the_catalog_is_not_denied() {
    for text in ["torch 99.0.0", "cuda 99.1", "driver 999", "deepspeed 99.0", "nccl 99.1.1"] {
        let says = says(text);
        assert!(!says.contains("no such"), "{text}: {says}");
        assert!(says.contains("ot known") || says.contains("Not in the catalog"), "{text}: {says}");
    }
    // Builds of 2.15.0 besides PyPI's may exist.
    assert!(
        says("torch==2.15.0+cu126").starts_with("Not known")
            || says("torch==2.15.0+cu126").starts_with("Exists")
    );
}

#[test]
fn what_is_no_version() {
    for text in ["torch x", "cuda twelve", "driver new", "nccl a.b", "numpy =="] {
        let _ = explain(text);
    }
    assert!(thing(world(), "troch").is_none());
    assert!(thing(world(), "").is_none());
    assert!(thing(world(), "driver-library-mismatch").is_none(), "checks are not this module's");
}

#[test]
fn every_known_name_is_explained() {
    let world = world();
    for name in names(world) {
        assert!(thing(world, name).is_some(), "{name}");
    }
}
