//! GPU models.

use diagnostic::suggest;
use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// `H100 SXM5 80GB`.
    pub name: String,
    /// Short names that people type, lower-case with dashes: `h100`, `gtx-1080-ti`. One that stands for
    /// several boards (`a100`) is given to one of those with the same compute capability.
    #[serde(default)]
    pub aliases: Vec<String>,
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
    /// The generation of its NVLink (4 on Hopper); `None` where it has none or it is not known.
    pub nvlink_generation: Option<u8>,
    /// Memory of one GPU in GiB as the product is sold (80 for "80GB"); what the driver reports is up to 2 %
    /// less. `None` where boards of the same name differ, or where it is not known.
    pub memory_gib: Option<f32>,
    /// Whether only NVIDIA's open kernel module drives it; `None` where it is not known.
    pub open_module_only: Option<bool>,
    /// Whether NVIDIA's open kernel module can drive it at all.
    pub open_module: Option<bool>,
    /// True where it is not known whether forward compatibility works: NVIDIA names select RTX cards besides
    /// the data-centre ones.
    #[serde(default)]
    pub forward_compatibility_unknown: bool,
    /// The processor of every machine with it, where the chip or board comes with one: `aarch64` (Grace).
    pub processor: Option<String>,
    /// The oldest driver branch whose open kernel module lists it, where that record begins before the card.
    /// NVIDIA's lists in all releases of older branches do not have it.
    pub driver_branch_min: Option<u32>,
    pub note: Option<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

file::table!(Gpu, "gpus.yaml");

impl Gpu {
    /// Whether forward compatibility (a cuda-compat package) works on it; `None`: unknown.
    pub fn forward_compatible(&self) -> Option<bool> {
        (!self.forward_compatibility_unknown).then_some(self.data_centre)
    }
}

impl Table<Gpu> {
    /// The model with this product name (`NVIDIA H100 80GB HBM3`): the longest pattern that the name begins
    /// with, at the end of a word. `NVIDIA`, `GeForce`, `Quadro` and `Tesla` in front may be there or not.
    pub fn by_name(&self, name: &str) -> Option<&Gpu> {
        let name = bare(name);
        let begins = |pattern: &&String| {
            let pattern = bare(pattern);
            name.len() >= pattern.len()
                && name.is_char_boundary(pattern.len())
                && name[..pattern.len()].eq_ignore_ascii_case(pattern)
                && !name[pattern.len()..].starts_with(|next: char| next.is_alphanumeric())
        };
        self.all()
            .iter()
            .filter_map(|gpu| {
                Some((gpu, gpu.patterns.iter().filter(begins).map(|text| bare(text).len()).max()?))
            })
            .max_by_key(|(_, length)| *length)
            .map(|(gpu, _)| gpu)
    }

    /// The model with this PCI device id of vendor 10de (`0x2330`).
    pub fn by_pci(&self, device: u16) -> Option<&Gpu> {
        self.all().iter().find(|gpu| gpu.pci_ids.contains(&device))
    }

    /// The models of a compute capability (`(9, 0)`).
    pub fn of_capability(&self, (major, minor): (u32, u32)) -> impl Iterator<Item = &Gpu> {
        let text = format!("{major}.{minor}");
        self.all().iter().filter(move |gpu| gpu.compute_capability == text)
    }

    /// The oldest driver branch that supports any GPU of a compute capability; `None` where a proprietary
    /// kernel module may have supported one before the open one did, or where the catalog has no such GPU.
    pub fn oldest_branch(&self, capability: (u32, u32)) -> Option<u32> {
        let open_only = self.of_capability(capability).all(|gpu| gpu.open_module_only == Some(true));
        let first = self.of_capability(capability).filter_map(|gpu| gpu.driver_branch_min).min();
        first.filter(|_| open_only)
    }

    /// The processor that every GPU of a compute capability comes with; `None` where there is a choice.
    pub fn processor(&self, capability: (u32, u32)) -> Option<&str> {
        let mut all = self.of_capability(capability).map(|gpu| gpu.processor.as_deref());
        let first = all.next()??;
        all.all(|other| other == Some(first)).then_some(first)
    }

    /// The model that somebody means by a short name (`h100`, `RTX 4090`, `gtx1080ti`) or by a whole product
    /// name. Case, spaces and dashes do not count, nor do `NVIDIA`, `Tesla` and `GeForce` in front.
    pub fn by_alias(&self, text: &str) -> Option<&Gpu> {
        let wanted = squeezed(text);
        let one_of = |names: &[String]| names.iter().any(|name| squeezed(name) == wanted);
        self.all()
            .iter()
            .find(|gpu| one_of(&gpu.aliases))
            .or_else(|| self.all().iter().find(|gpu| one_of(&gpu.patterns)))
    }

    /// The short name that was most likely meant by one that no model has.
    pub fn nearest_alias(&self, text: &str) -> Option<&str> {
        let aliases = self.all().iter().flat_map(|gpu| &gpu.aliases);
        suggest::nearest(&squeezed(text), aliases.map(String::as_str))
    }
}

/// A product name without the words that some drivers print and others do not.
fn bare(name: &str) -> &str {
    let mut name = name.trim();
    for word in ["NVIDIA ", "Tesla ", "GeForce ", "Quadro "] {
        name = name.strip_prefix(word).unwrap_or(name);
    }
    name
}

/// Letters and digits of a name, lower-case, without the maker's and the product line's name in front.
fn squeezed(name: &str) -> String {
    let kept = name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase());
    let mut name: String = kept.collect();
    for word in ["nvidia", "tesla", "geforce"] {
        if let Some(rest) = name.strip_prefix(word) {
            name = rest.to_owned();
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str) -> Option<&'static str> {
        table().by_name(name).map(|gpu| gpu.name.as_str())
    }

    fn table() -> &'static Table<Gpu> {
        crate::testing::catalog().gpus()
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
            let gpu = table().by_name(name).unwrap();
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
        assert_eq!(table().by_name("Quadro RTX 6000").unwrap().architecture, "Turing");
        assert_eq!(table().by_name("NVIDIA RTX 6000 Ada Generation").unwrap().architecture, "Ada");
        assert_eq!(
            table().by_name("NVIDIA GeForce RTX 4090 Laptop GPU").unwrap().name,
            "Ada laptop and embedded GPUs"
        );
    }

    #[test]
    fn finds_gpus_by_alias() {
        for (text, name) in [
            ("h100", "H100 80GB HBM3"),
            ("H100 NVL", "H100 NVL"),
            ("A100", "A100-SXM4-80GB or PG509-210"),
            ("rtx4090", "RTX 4090"),
            ("4090", "RTX 4090"),
            ("RTX 4090", "RTX 4090"),
            ("gtx 1080 ti", "GTX 1080 Ti"),
            ("GTX1080Ti", "GTX 1080 Ti"),
            ("rtx6000-ada", "RTX 6000 Ada Generation"),
            ("Tesla T4", "Tesla T4"),
            ("K80", "Tesla K80"),
            ("NVIDIA GeForce RTX 5090 D v2", "RTX 5090 D v2"),
            ("NVIDIA H100 80GB HBM3", "H100 80GB HBM3"),
            ("gb200", "GB200"),
        ] {
            assert_eq!(table().by_alias(text).map(|gpu| gpu.name.as_str()), Some(name), "{text}");
        }
        // RTX 6000 is a Turing card, an Ada card, and short for a Blackwell card.
        for text in ["", "nvidia", "rtx 6000", "h10", "sm_90", "9.0", "RTX"] {
            assert!(table().by_alias(text).is_none(), "{text}");
        }
    }

    #[test]
    fn suggests_nearest_alias_for_a_typo() {
        for (text, alias) in
            [("h1000", "h100"), ("rtx4091", "rtx-4090"), ("gb20", "gb200"), ("gtx 1080 it", "gtx-1080-ti")]
        {
            assert_eq!(table().nearest_alias(text), Some(alias), "{text}");
        }
        for text in ["", "mi300x", "radeon", "sm_90"] {
            assert_eq!(table().nearest_alias(text), None, "{text}");
        }
    }

    #[test]
    fn unknown_names_and_pci_ids_match_no_gpu() {
        for name in ["Graphics Device", "NVIDIA", "", "NVIDIA H1000", "NVIDIA GeForce ...", "NVIDIA Rubin"] {
            assert!(table().by_name(name).is_none(), "{name}");
        }
        assert!(table().by_pci(0x0000).is_none());
        assert!(table().by_pci(0x22a3).is_none(), "an NVSwitch is no GPU");
    }

    #[test]
    fn pci_ids_of_real_machines() {
        assert_eq!(table().by_pci(0x2330).unwrap().name, "H100 80GB HBM3");
        assert!(table().by_pci(0x20b2).unwrap().name.starts_with("A100-SXM4-80GB"));
        assert_eq!(table().by_pci(0x2bb4).unwrap().name, "RTX PRO 6000 Blackwell Max-Q Workstation Edition");
        assert_eq!(table().by_pci(0x1eb8).unwrap().name, "Tesla T4");
        assert_eq!(table().by_pci(0x1b06).unwrap().name, "GTX 1080 Ti");
    }

    #[test]
    fn memory_and_links() {
        let of =
            |alias: &str| table().by_alias(alias).map(|gpu| (gpu.memory_gib, gpu.nvlink_generation)).unwrap();
        assert_eq!(of("h100"), (Some(80.0), Some(4)));
        assert_eq!(of("b200"), (Some(180.0), Some(5)));
        assert_eq!(of("rtx 4090"), (Some(24.0), None));
        assert_eq!(of("v100").1, Some(2));
        assert_eq!(of("gtx 1060").0, None, "3, 5 and 6 GB boards share the name");
    }

    #[test]
    fn reports_supported_kernel_module_type() {
        assert_eq!(table().by_name("NVIDIA B200").unwrap().open_module_only, Some(true));
        assert_eq!(table().by_name("NVIDIA GH200 480GB").unwrap().open_module_only, Some(true));
        assert_eq!(table().by_name("NVIDIA H100 PCIe").unwrap().open_module_only, Some(false));
        assert_eq!(table().by_name("Tesla V100-SXM2-32GB").unwrap().open_module, Some(false));
    }
}
