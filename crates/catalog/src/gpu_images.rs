//! Repositories of images that are made for GPUs: `catalog/gpu_images.yaml`.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// A repository.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuImages {
    /// As references write it, without a tag: `nvcr.io/nvidia/pytorch`.
    pub repository: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-25`.
    #[serde(default)]
    pub checked: String,
}

file::table!(GpuImages, "gpu_images.yaml");

/// Parts of tags of the same repositories that are made for other hardware.
const OTHER_HARDWARE: [&str; 4] = ["cpu", "rocm", "xpu", "intel"];

impl Table<GpuImages> {
    /// Whether a reference with a tag names an image that is made for NVIDIA GPUs.
    pub fn has(&self, reference: &str) -> bool {
        let tagged = |row: &GpuImages| {
            reference.strip_prefix(row.repository.as_str()).is_some_and(|tag| tag.starts_with(':'))
        };
        self.all().iter().any(tagged) && !OTHER_HARDWARE.iter().any(|word| reference.contains(word))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn rocm_images_are_not_cuda_images() {
        let table = crate::testing::catalog().gpu_images();
        assert!(table.has("nvidia/cuda:12.4.1-base-ubuntu22.04"));
        assert!(table.has("ghcr.io/huggingface/text-generation-inference:3.3.2"));
        assert!(!table.has("ghcr.io/huggingface/text-generation-inference:3.3.2-rocm"));
        assert!(!table.has("nvidia/cuda-something:1") && !table.has("nvidia/cuda"));
    }
}
