//! Requests in which the requirements of packages depend on the Python or the processor.

use crate::tests::{refused, stack};

#[test]
fn requirements_of_other_pythons_and_processors() {
    let found = stack(&["python 3.9", "arch aarch64", "torch 2.8.0", "vllm"]);
    assert_eq!((found.packages["vllm"].as_str(), found.packages["numba"].as_str()), ("0.11.0", "0.60.0"));
    assert!(!found.packages.contains_key("xformers"), "it is required on x86_64 only: {found:?}");
    let found = stack(&["python 3.9", "vllm ==0.11.0"]);
    assert_eq!((found.packages["numba"].as_str(), found.architecture.as_str()), ("0.60.0", "x86_64"));
    assert_eq!(found.packages["xformers"], "0.0.32.post1");
    assert_eq!(stack(&["python 3.12", "vllm ==0.11.0"]).packages["numba"], "0.61.2");
}

#[test]
fn requirements_without_wheels_are_refused() {
    refused(&["sglang ==0.5.21"], "requirement-wheel", "requires cuda-tile ==1.6.0rc5, which has no wheel");
    let arm = ["sglang ==0.5.9", "arch aarch64"];
    refused(&arm, "requirement-wheel", "torch-memory-saver ==0.0.9, which has no wheel for aarch64");
    assert_eq!(stack(&["sglang ==0.5.9"]).packages["sglang"], "0.5.9");
}
