//! Where an image was read.

use schemars::JsonSchema;
use serde::Serialize;

/// Where an image was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReadFrom {
    /// From the engine that was asked, which has it.
    Engine,
    /// From its registry; nothing was pulled.
    #[default]
    Registry,
}
