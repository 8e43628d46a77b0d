//! Which torch torchvision and torchaudio require: `catalog/torch_partners.yaml`.

use serde::Deserialize;

use super::file::{self, Table};
use super::version::at_least;
use crate::Sources;

/// A package that is released with torch.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TorchPartner {
    /// `torchvision`.
    pub partner: String,
    /// The first release that requires no single torch.
    pub any_torch_since: String,
    /// The first torch that these releases are compatible with.
    pub any_torch_min: String,
    /// Releases before this one are linked to one torch; `None`: not known.
    pub linked_before: Option<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default)]
    pub checked: String,
}

file::table!(TorchPartner, "torch_partners.yaml");

impl TorchPartner {
    /// Whether a release requires no single torch; `None` where it is no version.
    pub fn requires_no_single_torch(&self, version: &str) -> Option<bool> {
        at_least(version, &self.any_torch_since)
    }

    /// Whether a release is known to be compatible with this torch although it was released with another one.
    pub fn is_compatible_with(&self, version: &str, torch: &str) -> bool {
        self.requires_no_single_torch(version) == Some(true)
            && at_least(torch, &self.any_torch_min) == Some(true)
    }

    /// Whether a release is linked to one torch.
    pub fn is_linked(&self, version: &str) -> bool {
        self.linked_before.as_deref().and_then(|end| at_least(version, end)) == Some(false)
    }
}

impl Table<TorchPartner> {
    /// By name: `torchaudio`.
    pub fn partner(&self, name: &str) -> Option<&TorchPartner> {
        self.all().iter().find(|row| row.partner == name)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::catalog;

    #[test]
    fn newer_partners_require_no_single_torch() {
        let of = |name: &str| catalog().torch_partners().partner(name).unwrap();
        assert!(of("torchvision").is_compatible_with("0.29.2", "2.15.0"));
        assert!(!of("torchvision").is_compatible_with("0.29.0", "2.15.0"));
        assert!(!of("torchaudio").is_compatible_with("2.11.0", "2.10.0"));
        assert!(of("torchaudio").is_linked("2.8.0") && !of("torchaudio").is_linked("2.9.0"));
        assert!(!of("torchvision").is_linked("0.20.1"), "not known");
    }
}
