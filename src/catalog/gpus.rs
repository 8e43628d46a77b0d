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
    #[serde(default)]
    pub patterns: Vec<String>,
    /// PCI device ids (vendor 10de); empty where none is known.
    #[serde(default)]
    pub pci_ids: Vec<u16>,
    /// `9.0`.
    pub compute_capability: String,
    /// `Hopper`.
    pub architecture: String,
    /// Whether NVIDIA sells it as a data-centre card: on these forward compatibility works.
    pub data_centre: bool,
    /// Whether it has NVLink or takes a bridge; `None` where it is not known or differs by board.
    pub nvlink: Option<bool>,
    /// Whether only NVIDIA's open kernel module drives it; `None` where it is not known.
    pub open_module_only: Option<bool>,
    /// Whether NVIDIA's open kernel module can drive it at all.
    pub open_module: Option<bool>,
    /// The oldest driver branch whose open kernel module lists it, where that record begins before the card. Single releases
    /// of an older branch may know it all the same.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str) -> Option<&'static str> {
        by_name(name).map(|gpu| gpu.name.as_str())
    }

    #[test]
    fn names_as_nvidia_smi_prints_them() {
        for (name, capability, data_centre) in [
            ("NVIDIA H100 80GB HBM3", "9.0", true),
            ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "9.0", true),
            ("NVIDIA A100-SXM4-80GB", "8.0", true),
            ("NVIDIA A100 80GB PCIe", "8.0", true),
            ("NVIDIA B300 SXM6 AC", "10.3", true),
            ("NVIDIA GB200", "10.0", true),
            ("NVIDIA H200", "9.0", true),
            ("NVIDIA L40S", "8.9", true),
            ("NVIDIA A10G", "8.6", true),
            ("Tesla T4", "7.5", true),
            ("Tesla V100-DGXS-16GB", "7.0", true),
            ("Tesla V100-PCIE-16GB", "7.0", true),
            ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "12.0", false),
            ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "12.0", true),
            ("NVIDIA RTX 4000 SFF Ada Generation", "8.9", false),
            ("NVIDIA RTX A6000", "8.6", false),
            ("NVIDIA GeForce RTX 2080 SUPER", "7.5", false),
            ("GeForce GTX 1070 Ti", "6.1", false),
            ("Quadro P2000", "6.1", false),
            ("Quadro P400", "6.1", false),
            ("NVIDIA GeForce GT 1030", "6.1", false),
            ("NVIDIA GB10", "12.1", false),
        ] {
            let gpu = by_name(name).unwrap();
            assert_eq!(
                (gpu.compute_capability.as_str(), gpu.data_centre),
                (capability, data_centre),
                "{name}"
            );
        }
    }

    #[test]
    fn the_longest_name_wins() {
        assert_eq!(found("NVIDIA GeForce RTX 3080 Ti"), Some("RTX 3080 Ti"));
        assert_eq!(found("NVIDIA GeForce RTX 3080"), Some("RTX 3080"));
        assert_eq!(found("NVIDIA L4"), Some("L4"));
        assert_eq!(by_name("Quadro RTX 6000").unwrap().architecture, "Turing");
        assert_eq!(by_name("NVIDIA RTX 6000 Ada Generation").unwrap().architecture, "Ada");
        assert_eq!(
            by_name("NVIDIA GeForce RTX 4090 Laptop GPU").unwrap().name,
            "Ada laptop and embedded GPUs"
        );
    }

    #[test]
    fn what_is_not_known() {
        for name in ["Graphics Device", "NVIDIA", "", "NVIDIA H1000", "NVIDIA GeForce ...", "NVIDIA Rubin"] {
            assert!(by_name(name).is_none(), "{name}");
        }
        assert!(by_pci(0x0000).is_none());
        assert!(by_pci(0x22a3).is_none(), "an NVSwitch is no GPU");
    }

    #[test]
    fn pci_ids_of_real_machines() {
        assert_eq!(by_pci(0x2330).unwrap().name, "H100 80GB HBM3");
        assert!(by_pci(0x20b2).unwrap().name.starts_with("A100-SXM4-80GB"));
        assert_eq!(by_pci(0x2bb4).unwrap().name, "RTX PRO 6000 Blackwell Max-Q Workstation Edition");
        assert_eq!(by_pci(0x1eb8).unwrap().name, "Tesla T4");
        assert_eq!(by_pci(0x1b06).unwrap().name, "GTX 1080 Ti");
    }

    #[test]
    fn kernel_modules() {
        assert_eq!(by_name("NVIDIA B200").unwrap().open_module_only, Some(true));
        assert_eq!(by_name("NVIDIA GH200 480GB").unwrap().open_module_only, Some(true));
        assert_eq!(by_name("NVIDIA H100 PCIe").unwrap().open_module_only, Some(false));
        assert_eq!(by_name("Tesla V100-SXM2-32GB").unwrap().open_module, Some(false));
    }
}
