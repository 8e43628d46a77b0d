//! GPU models.

use std::sync::OnceLock;

use serde::Deserialize;

use super::file;

/// One GPU model.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// `H100 SXM5 80GB`.
    pub name: String,
    /// Product names as `nvidia-smi` prints them, or the beginning of them.
    pub patterns: Vec<String>,
    /// PCI device ids (vendor 10de); empty where none is known.
    #[serde(default)]
    pub pci_ids: Vec<u16>,
    /// `9.0`.
    pub compute_capability: String,
    /// `Hopper`.
    pub architecture: String,
    /// Whether it is a data-centre card: the ones on which forward compatibility works.
    pub data_centre: bool,
    /// Whether it has NVLink; `None` where it is not known or differs by board.
    pub nvlink: Option<bool>,
    /// Whether only NVIDIA's open kernel module drives it; `None` where it is not known.
    pub open_module_only: Option<bool>,
    /// Whether NVIDIA's open kernel module can drive it at all.
    pub open_module: Option<bool>,
    /// The oldest driver branch that knows it, where a source says so.
    pub driver_branch_min: Option<u32>,
    /// What else is to know.
    pub note: Option<String>,
    /// Where this was read.
    pub source: String,
    /// When.
    #[serde(default)]
    pub checked: String,
}

file::rows!(Gpu);

/// All models.
pub fn all() -> &'static [Gpu] {
    static ROWS: OnceLock<Vec<Gpu>> = OnceLock::new();
    ROWS.get_or_init(|| file::table("gpus.yaml", include_str!("../../catalog/gpus.yaml")))
}

/// The model with this product name (`NVIDIA H100 80GB HBM3`): the longest pattern that the name begins with, at the end of
/// a word. `NVIDIA`, `GeForce`, `Quadro` and `Tesla` in front may be there or not.
pub fn by_name(name: &str) -> Option<&'static Gpu> {
    let name = bare(name);
    let begins = |pattern: &&String| {
        let pattern = bare(pattern);
        name.len() >= pattern.len()
            && name.is_char_boundary(pattern.len())
            && name[..pattern.len()].eq_ignore_ascii_case(pattern)
            && !name[pattern.len()..].starts_with(|next: char| next.is_alphanumeric())
    };
    all()
        .iter()
        .filter_map(|gpu| Some((gpu, gpu.patterns.iter().filter(begins).map(|text| bare(text).len()).max()?)))
        .max_by_key(|(_, length)| *length)
        .map(|(gpu, _)| gpu)
}

/// A product name without the words that some drivers print and others do not.
fn bare(name: &str) -> &str {
    let mut name = name.trim();
    for word in ["NVIDIA ", "Tesla ", "GeForce ", "Quadro "] {
        name = name.strip_prefix(word).unwrap_or(name);
    }
    name
}

/// The model with this PCI device id of vendor 10de (`0x2330`).
pub fn by_pci(device: u16) -> Option<&'static Gpu> {
    all().iter().find(|gpu| gpu.pci_ids.contains(&device))
}
