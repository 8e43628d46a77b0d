use std::collections::BTreeSet;

use super::super::images::{Evidence, Existence, REPOSITORIES};
use super::Images;

fn images() -> Images<'static> {
    crate::testing::catalog().images()
}

fn date(text: &str) -> bool {
    text.parse::<jiff::civil::Date>().is_ok()
}

fn answer(reference: &str) -> &'static str {
    match images().exists(reference) {
        Existence::Yes(_) => "yes",
        Existence::No { why, source } => {
            assert!(!why.is_empty() && source.to_string().len() > 10, "{reference}");
            "no"
        }
        Existence::Unknown { why } => {
            assert!(!why.is_empty(), "{reference}");
            "unknown"
        }
    }
}

fn near(reference: &str) -> Vec<String> {
    images().nearest(reference).iter().map(|image| image.tag.clone()).collect()
}

#[test]
fn cuda_rows_expand_to_exactly_the_recorded_tags() {
    let expected: Vec<&str> = include_str!("../../../../tests/catalog/cuda-tags.txt").lines().collect();
    let mut tags: Vec<&str> = images().of("nvidia/cuda").iter().map(|image| image.tag.as_str()).collect();
    assert_eq!(tags.len(), 1209);
    tags.sort_unstable();
    assert_eq!(tags, expected);
}

#[test]
fn pytorch_rows_expand_to_exactly_the_recorded_tags() {
    let expected: Vec<&str> = include_str!("../../../../tests/catalog/pytorch-tags.txt").lines().collect();
    let mut tags: Vec<&str> = images().of("pytorch/pytorch").iter().map(|image| image.tag.as_str()).collect();
    tags.extend(
        crate::testing::catalog()
            .pytorch_images()
            .unconfirmed()
            .iter()
            .filter_map(|row| row.reference.split(':').nth(1)),
    );
    assert_eq!(tags.len(), 136);
    tags.sort_unstable();
    assert_eq!(tags, expected);
}

#[test]
fn finds_images_of_ngc_python_and_pytorch_repositories() {
    assert_eq!(images().of("nvcr.io/nvidia/pytorch").len(), 42);
    let Existence::Yes(image) = images().exists("nvcr.io/nvidia/pytorch:25.10-py3") else { panic!() };
    assert_eq!(
        (image.torch.as_deref(), image.driver_min.as_deref()),
        (Some("2.9.0a0+145a3a7bda"), Some("580.95.05"))
    );
    let Existence::Yes(image) = images().exists("docker.io/library/python:3.12-slim") else { panic!() };
    assert_eq!((image.system.as_deref(), image.python.as_deref()), (Some("debian13"), Some("3.12")));
    let Existence::Yes(image) = images().exists("pytorch/pytorch:2.12.0-cuda13.0-cudnn9-devel") else {
        panic!()
    };
    assert_eq!((image.python.as_deref(), image.externally_managed), (Some("3.12"), Some(true)));
    assert_eq!(image.evidence, Evidence::Digest);
}

#[test]
fn image_lists_its_cudnn_nccl_and_architectures() {
    let Existence::Yes(image) = images().exists("nvidia/cuda:12.4.1-cudnn-devel-ubuntu22.04") else {
        panic!()
    };
    assert_eq!(
        (image.cudnn.as_deref(), image.nccl.as_deref(), image.seen.as_str()),
        (Some("9.1.0.70"), Some("2.21.5"), "2026-06-18")
    );
    let Existence::Yes(image) = images().exists("nvidia/cuda:12.4.1-base-ubuntu22.04") else { panic!() };
    assert_eq!(
        (image.has_cudnn, image.nccl.as_deref(), image.seen.as_str()),
        (Some(false), None, "2025-12-15")
    );
    // No Dockerfile of 12.9.2 was read: it has cuDNN, and nobody knows which.
    let Existence::Yes(image) = images().exists("nvidia/cuda:12.9.2-cudnn-devel-ubuntu22.04") else {
        panic!()
    };
    assert_eq!(
        (image.has_cudnn, image.cudnn_known, image.architectures.as_ref().map(|list| list.len())),
        (Some(true), false, Some(2))
    );
    // Its tags with cuDNN are for x86_64 alone.
    let Existence::Yes(image) = images().exists("nvidia/cuda:12.1.1-cudnn8-devel-rockylinux9") else {
        panic!()
    };
    assert_eq!(image.architectures.as_ref().unwrap().len(), 1);
    let Existence::Yes(image) = images().exists("nvidia/cuda:12.1.1-devel-rockylinux9") else { panic!() };
    assert_eq!(image.architectures.as_ref().unwrap().len(), 2);
}

#[test]
fn missing_tag_is_distinguished_from_unknown_image() {
    for (reference, expected) in [
        ("nvidia/cuda:12.1.1-base-ubuntu22.04", "yes"),
        (" docker.io/nvidia/cuda:12.1.1-base-ubuntu22.04", "yes"),
        ("nvidia/cuda:13.3.0-devel-ubuntu26.04", "yes"),
        ("nvidia/cuda", "no"),
        ("nvidia/cuda:latest", "no"),
        ("nvidia/cuda:12.1-base", "no"),
        ("nvidia/cuda:12-base-ubuntu22.04", "no"),
        ("nvidia/cuda:12.1-devel-ubuntu22.04", "no"),
        ("nvidia/cuda:12.1.0-base", "no"),
        ("nvidia/cuda:11.8-base-ubuntu22.04", "no"),
        ("nvidia/cuda:12.7.0-base-ubuntu22.04", "no"),
        ("nvidia/cuda:12.2.1-base-ubuntu22.04", "no"),
        ("nvidia/cuda:13.0.0-devel-ubuntu20.04", "no"),
        ("nvidia/cuda:12.5.1-cudnn-devel-ubuntu24.04", "no"),
        ("nvidia/cuda:13.1.0-cudnn-devel-ubuntu24.04", "no"),
        ("nvidia/cuda:12.4.1-cudnn8-devel-ubuntu22.04", "no"),
        ("nvidia/cuda:12.4.0-devel-ubuntu24.04", "no"),
        ("nvidia/cuda:12.4.1-develop-ubuntu22.04", "no"),
        ("nvidia/cuda:12.4.1-devel-debian12", "no"),
        // Lists that were read do not reach so far, or leave these out.
        ("nvidia/cuda:12.8.2-devel-ubuntu22.04", "unknown"),
        ("nvidia/cuda:12.9.2-cudnn-runtime-ubuntu22.04", "unknown"),
        ("nvidia/cuda:12.10.0-devel-ubuntu22.04", "unknown"),
        ("nvidia/cuda:13.1.0-cudnn-runtime-ubuntu24.04", "unknown"),
        ("nvidia/cuda:13.4.2-base-ubuntu24.04", "unknown"),
        ("nvidia/cuda:14.0.0-base-ubuntu24.04", "unknown"),
        ("nvidia/cuda:12.4.1-devel-ubuntu26.04", "unknown"),
        ("nvidia/cuda:12.4.0-devel-centos7", "unknown"),
        ("nvidia/cuda:13.0.0-tensorrt-devel-ubuntu24.04", "unknown"),
        // NVIDIA's lists of 2020 had these.
        ("nvidia/cuda:11.1-devel-ubuntu20.04", "unknown"),
        ("nvidia/cuda:11.2.0-devel", "unknown"),
        ("nvidia/cuda:10.2-base-ubuntu18.04", "unknown"),
        ("nvidia/cuda:devel", "unknown"),
        ("nvidia/cuda@sha256:0123", "unknown"),
        ("pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel", "yes"),
        ("pytorch/pytorch:2.6.0-cuda12.1-cudnn9-runtime", "no"),
        ("pytorch/pytorch:2.3.1-cuda12.4-cudnn9-devel", "no"),
        ("pytorch/pytorch:2.8.0-cuda12.4-cudnn9-devel", "no"),
        ("pytorch/pytorch:2.4.0-cuda12.4-cudnn8-devel", "no"),
        ("pytorch/pytorch:2.0.1-cuda11.8-cudnn8-devel", "unknown"),
        ("pytorch/pytorch:2.14.1-cuda13.0-cudnn9-devel", "unknown"),
        ("pytorch/pytorch:2.15.0-cuda13.2-cudnn9-devel", "unknown"),
        ("pytorch/pytorch:2.6.0-runtime", "unknown"),
        ("pytorch/pytorch", "unknown"),
        ("nvcr.io/nvidia/pytorch:24.05-py3", "yes"),
        ("nvcr.io/nvidia/pytorch:24.13-py3", "no"),
        ("nvcr.io/nvidia/pytorch:23.07-py3", "unknown"),
        ("python:3.12-slim-bookworm", "yes"),
        ("python:3.12.14-slim", "yes"),
        ("python:3.14-slim-bullseye", "no"),
        ("python:3.12.3-slim", "unknown"),
        ("python:3.12-alpine", "unknown"),
        ("python:3.15-slim", "unknown"),
        ("ubuntu:22.04", "yes"),
        ("ubuntu:jammy", "yes"),
        ("debian:bookworm-slim", "yes"),
        ("rockylinux:9", "yes"),
        ("ubuntu:21.13", "unknown"),
        ("localhost:5000/nvidia/cuda", "unknown"),
        ("", "unknown"),
    ] {
        assert_eq!(answer(reference), expected, "{reference}");
    }
}

#[test]
fn error_for_missing_tag_lists_existing_releases() {
    let Existence::No { why, .. } = images().exists("nvidia/cuda:12.1-base") else { panic!() };
    assert_eq!(why, "a tag names the CUDA release with three numbers: 12.1.0, 12.1.1");
}

#[test]
fn nearest_tags_are_sorted_by_similarity() {
    assert_eq!(
        near("nvidia/cuda:12.1-base"),
        ["12.1.1-base-ubuntu22.04", "12.1.1-base-ubuntu20.04", "12.1.0-base-ubuntu22.04"]
    );
    assert_eq!(
        near("nvidia/cuda:12.4.1-cudnn8-devel-ubuntu22.04"),
        ["12.4.1-cudnn-devel-ubuntu22.04", "12.2.2-cudnn8-devel-ubuntu22.04", "12.4.1-devel-ubuntu22.04"]
    );
    assert_eq!(
        near("nvidia/cuda:13.0.0-devel-ubuntu20.04"),
        ["13.0.0-devel-ubuntu22.04", "12.9.1-devel-ubuntu20.04", "13.0.0-devel-ubuntu24.04"]
    );
    assert_eq!(near("nvidia/cuda:12.1.1-devel-ubunto22.04")[0], "12.1.1-devel-ubuntu22.04");
    assert_eq!(near("nvidia/cuda:12.7.0-devel-ubuntu22.04")[0], "12.8.1-devel-ubuntu22.04");
    assert_eq!(near("nvidia/cuda").len(), 3);
    assert_eq!(
        near("pytorch/pytorch:2.6.0-cuda12.1-cudnn9-runtime")[..2],
        ["2.6.0-cuda12.4-cudnn9-runtime", "2.5.1-cuda12.1-cudnn9-runtime"]
    );
    assert_eq!(near("python:3.12-slim-bulseye")[0], "3.12-slim-bullseye");
    assert_eq!(near("python:3.14-slim-bullseye")[..2], ["3.13-slim-bullseye", "3.14-slim"]);
    assert_eq!(near("ubuntu:22.10")[0], "22.04");
    assert_eq!(near("nvcr.io/nvidia/pytorch:25.13-py3").len(), 3);
    assert!(near("nobody/nothing:1").is_empty());
}

#[test]
fn a_tag_that_exists_is_its_own_nearest() {
    for repository in REPOSITORIES {
        for image in images().of(repository).iter().step_by(7) {
            assert_eq!(images().nearest(&image.reference())[0].tag, image.tag);
        }
    }
}

#[test]
fn every_repository_has_valid_unique_images() {
    for name in REPOSITORIES {
        let found = images().of(name);
        assert!(!found.is_empty(), "{name}");
        let row = images().repository(name).unwrap();
        assert!(row.name == *name && date(&row.checked) && row.source.to_string().len() > 10, "{name}");
        let tags: BTreeSet<&str> = found.iter().map(|image| image.tag.as_str()).collect();
        assert_eq!(tags.len(), found.len(), "{name}: a tag twice");
        for image in found {
            assert_eq!(image.repository, *name);
            assert!(image.source.to_string().len() > 10, "{}", image.tag);
            assert!(
                image.seen.is_empty() || image.seen.parse::<jiff::civil::Date>().is_ok(),
                "{}",
                image.tag
            );
            assert!(image.has_cudnn != Some(false) || image.cudnn.is_none(), "{}", image.tag);
            assert!(!image.cudnn_known || image.has_cudnn == Some(image.cudnn.is_some()), "{}", image.tag);
        }
    }
    for row in images().absent() {
        assert!(!matches!(images().exists(&row.reference), Existence::Yes(_)), "{}", row.reference);
    }
}
