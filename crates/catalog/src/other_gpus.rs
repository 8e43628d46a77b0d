//! GPUs of other makers: `catalog/other_gpus.yaml`.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// The GPUs of a maker other than NVIDIA.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherGpus {
    /// `AMD`.
    pub maker: String,
    /// Words that only names of its GPUs have, lower-case: `mi300x`, `instinct`.
    pub names: Vec<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-27`.
    #[serde(default)]
    pub checked: String,
}

file::table!(OtherGpus, "other_gpus.yaml");

impl Table<OtherGpus> {
    /// Who makes a GPU of this name (`mi300x`, `AMD Instinct MI300X`), if NVIDIA does not.
    pub fn maker(&self, name: &str) -> Option<&str> {
        let name = name.to_ascii_lowercase();
        let mut words = name.split([' ', '-', '_']);
        let makes = |word: &str| self.all().iter().find(|row| row.names.iter().any(|own| own == word));
        words.find_map(makes).map(|row| row.maker.as_str())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_gpu_of_nvidia_is_another_makers() {
        let catalog = crate::testing::catalog();
        for text in ["mi300x", "MI250", "AMD Instinct MI300X", "radeon-pro", "gfx942"] {
            assert_eq!(catalog.other_gpus().maker(text), Some("AMD"), "{text}");
        }
        for text in ["amd-smi", "amd epyc", "amd"] {
            assert_eq!(catalog.other_gpus().maker(text), None, "{text}");
        }
        for gpu in catalog.gpus().all() {
            for name in gpu.aliases.iter().chain(&gpu.patterns).chain([&gpu.name]) {
                assert_eq!(catalog.other_gpus().maker(name), None, "{name}");
            }
        }
    }
}
