//! What accelerate's configuration file takes: `catalog/accelerate_config.yaml`.

use serde::Deserialize;

use super::file::{self, Contents, SharedSources};
use crate::Sources;

/// A key at the top of the file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccelerateKey {
    /// `num_processes`.
    pub key: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default)]
    pub checked: String,
}

/// A value of `distributed_type`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DistributedType {
    /// `MULTI_GPU`.
    pub name: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default)]
    pub checked: String,
}

/// A field of `deepspeed_config` that is refused next to `deepspeed_config_file`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusedField {
    /// `zero_stage`.
    pub field: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default)]
    pub checked: String,
}

file::rows!(AccelerateKey, DistributedType, RefusedField);

/// `catalog/accelerate_config.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccelerateConfig {
    checked: String,
    sources: SharedSources,
    keys: Vec<AccelerateKey>,
    types: Vec<DistributedType>,
    refused: Vec<RefusedField>,
}

impl Contents for AccelerateConfig {
    const NAME: &str = "accelerate_config.yaml";
    const TEXT: &str = file::text!("accelerate_config.yaml");
}

file::sourced!(AccelerateConfig, [keys, types, refused]);

impl AccelerateConfig {
    /// The keys at the top of the file.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|row| row.key.as_str())
    }

    /// The values of `distributed_type`.
    pub fn types(&self) -> impl Iterator<Item = &str> {
        self.types.iter().map(|row| row.name.as_str())
    }

    /// The fields of `deepspeed_config` that belong into DeepSpeed's own file, where there is one.
    pub fn refused_fields(&self) -> impl Iterator<Item = &str> {
        self.refused.iter().map(|row| row.field.as_str())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_three_lists_are_read() {
        let config = crate::testing::catalog().accelerate_config();
        assert!(config.keys().any(|key| key == "num_processes"));
        assert!(config.types().any(|name| name == "NO"), "a word of YAML 1.1 stays text");
        assert!(config.refused_fields().all(|field| config.keys().all(|key| key != field)));
    }
}
