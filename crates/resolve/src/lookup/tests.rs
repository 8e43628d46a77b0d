use crate::testing::universe;

use super::*;

fn explain(text: &str) -> Explanation {
    super::explain(universe(), text).unwrap_or_else(|| panic!("{text} is not known"))
}

fn summary(text: &str) -> String {
    explain(text).summary
}

#[test]
fn explains_names_and_versions_that_exist() {
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
        "cu121",
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
fn explains_environment_variables() {
    let rows = |text: &str| explain(text).rows;
    let value = |rows: &[(String, String)], label: &str| {
        rows.iter().find(|(one, _)| one == label).map(|(_, text)| text.clone())
    };
    let connections = rows("cuda_device_max_connections");
    assert_eq!(value(&connections, "allowed").as_deref(), Some("1..32"));
    assert_eq!(value(&connections, "default").as_deref(), Some("8"));
    assert!(summary("NCCL_TIMEOUT").starts_with("No release of any known program reads this variable"));
    let renamed = summary("NCCL_ASYNC_ERROR_HANDLING");
    assert!(renamed.contains("use TORCH_NCCL_ASYNC_ERROR_HANDLING instead"), "{renamed}");
    for row in universe().catalog.variables().all() {
        let explanation = explain(&row.name);
        assert_eq!(explanation.title, row.name);
        assert!(!explanation.sources.is_empty() && !explanation.summary.is_empty(), "{explanation:?}");
        let summary = &explanation.summary;
        assert!(!summary.replace("...", "").contains(".."), "two full stops: {summary}");
    }
}

#[test]
fn sources_are_shown_whole() {
    let (gpus, shown) = (universe().catalog.gpus(), explain("h100").sources);
    let is_h100 = |gpu: &&catalog::gpus::Gpu| gpu.aliases.iter().any(|alias| alias == "h100");
    let of_row = &gpus.all().iter().find(is_h100).unwrap().source;
    assert!(of_row.iter().any(|source| source.contains("; ")), "no source of {of_row} has the separator");
    for source in of_row.iter() {
        assert!(shown.iter().any(|one| one == source), "{source} is not in {shown:?}");
    }
    for source in &shown {
        assert_eq!(source.matches('(').count(), source.matches(')').count(), "half a source: {source}");
    }
}

#[test]
fn versions_are_equal_as_pep_440_says() {
    for (text, title) in [
        ("peft==0.13", "peft 0.13.0"),
        ("deepspeed==0.14", "deepspeed 0.14.0"),
        ("numpy==2", "numpy 2.0.0"),
        ("triton==3.1", "triton 3.1.0"),
    ] {
        assert_eq!(explain(text).title, title);
        assert!(summary(text).starts_with("Exists"), "{text}");
    }
    assert!(summary("transformers==4.46").starts_with("Withdrawn from PyPI (yanked)"));
    assert!(summary("torchaudio 2.11").contains("compatible with torch 2.11.0"));
    assert!(summary("torchvision 0.21").contains("compatible with torch 2.6.0"));
    for text in ["nccl 2.26.2.post1", "cuda 13.4.0rc1"] {
        assert!(summary(text).starts_with("Not known: "), "{text}: {}", summary(text));
        assert!(!explain(text).alternatives.is_empty(), "{text}");
    }
}

#[test]
fn explains_aarch64_gpus_and_unknown_forward_compatibility() {
    let row = |text: &str, label: &str| {
        let rows = explain(text).rows;
        rows.into_iter().find(|(name, _)| name == label).map(|(_, text)| text).unwrap_or_default()
    };
    assert_eq!(row("sm_110", "newest torch"), "torch 2.15.0+cu132 for aarch64");
    assert_eq!(row("gb10", "oldest torch"), "torch 2.11.0+cu128 for aarch64");
    for text in ["gb10", "rtx a6000", "quadro rtx 8000"] {
        assert!(row(text, "forward compatibility").starts_with("unknown"), "{text}");
    }
    assert!(row("rtx 4090", "forward compatibility").starts_with("does not work"));
    assert_eq!(row("python 3.15", "torch"), "2.15.0 has wheels for it");
    assert!(!summary("python 3.15").contains(", ."));
}

#[test]
fn missing_versions_get_alternatives() {
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
fn versions_newer_than_the_catalog_are_unknown() {
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
fn nccl_by_its_package_and_by_its_series() {
    assert!(summary("nvidia-nccl-cu12==2.26.2").starts_with("Exists"));
    assert!(summary("nvidia-nccl-cu12==2.26.2.post1").contains("a post-release"));
    assert!(summary("nccl==2.27").starts_with("A series"), "{}", summary("nccl==2.27"));
}

#[test]
fn unknown_names_and_invalid_versions_do_not_panic() {
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

#[test]
fn build_is_its_cuda_and_a_branch_alone_is_a_driver() {
    assert_eq!(explain("cu121"), explain("cuda 12.1"));
    assert_eq!(explain("CU999").title, "CUDA 99.9");
    assert!(super::explain(universe(), "cu12").is_none());
    assert_eq!(driver_branch(universe(), "550").as_deref(), Some("driver 550"));
    assert_eq!(driver_branch(universe(), "5050"), None);
}
