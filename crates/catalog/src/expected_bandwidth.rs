//! What an all-reduce should reach, by GPU and by link: `catalog/expected_bandwidth.yaml`.

use serde::Deserialize;

use super::file::{self, Contents, Rows};
use crate::Sources;

/// The GPUs of one node, together.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpus {
    /// A word of the product's name: `H100`.
    pub gpu: String,
    pub count: u32,
    /// Bus bandwidth of an all-reduce in GB/s, for data of so many bytes.
    pub busbw: f64,
    /// See `busbw`.
    pub bytes: u64,
    /// The part of it that is demanded.
    pub tolerance: f64,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

/// A network link by its nominal rate.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// `NDR InfiniBand`.
    pub name: String,
    /// Which transport NCCL uses over it.
    pub kind: Kind,
    /// Its rate in Gbit/s.
    pub rate: u32,
    /// What it carries of data, in GB/s.
    pub carries: f64,
    /// The part of it that a ring must reach; `None` where something else is the limit.
    pub tolerance: Option<f64>,
    /// Where it was read, or how it was computed.
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

file::rows!(Gpus, Link);

/// Kinds of links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// TCP over Ethernet.
    Ethernet,
    Infiniband,
}

/// `catalog/expected_bandwidth.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedBandwidth {
    /// The day on which it was looked at last.
    pub checked: String,
    /// All-reduce within one node.
    pub gpus: Vec<Gpus>,
    /// All-reduce between nodes.
    pub links: Vec<Link>,
}

impl Contents for ExpectedBandwidth {
    const NAME: &str = "expected_bandwidth.yaml";
    const TEXT: &str = file::text!("expected_bandwidth.yaml");
}

impl file::Sourced for ExpectedBandwidth {
    fn rows(&mut self) -> Vec<&mut dyn file::Row> {
        file::tables([self.gpus.all_rows(), self.links.all_rows()])
    }

    fn complete(&mut self) {
        let day = self.checked.clone();
        file::complete(self.rows(), &day, &file::SharedSources::new());
    }
}

impl ExpectedBandwidth {
    /// The link of a kind and a rate in Gbit/s.
    pub fn link(&self, kind: Kind, rate: u32) -> Option<&Link> {
        self.links.iter().find(|link| link.kind == kind && link.rate == rate)
    }

    /// A whole node of a GPU, by the product's name: `NVIDIA H100 80GB HBM3`.
    pub fn gpus(&self, product: &str, count: u32) -> Option<&Gpus> {
        self.gpus
            .iter()
            .find(|row| row.count == count && product.split([' ', '-']).any(|word| word == row.gpu))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> &'static ExpectedBandwidth {
        crate::testing::catalog().expected_bandwidth()
    }

    #[test]
    fn finds_rows_and_no_link_exceeds_its_line_rate() {
        assert_eq!(table().gpus("NVIDIA H100 80GB HBM3", 8).map(|row| row.busbw), Some(460.0));
        assert!(
            table().gpus("NVIDIA A100-SXM4-80GB", 8).is_some()
                && table().gpus("NVIDIA A100-SXM4-80GB", 4).is_none()
        );
        assert!(table().gpus("NVIDIA GH200 480GB", 8).is_none());
        assert_eq!(
            table().link(Kind::Infiniband, 400).map(|link| link.name.as_str()),
            Some("NDR InfiniBand")
        );
        for link in &table().links {
            // No link carries more data than its rate.
            assert!(link.carries < f64::from(link.rate) / 8.0, "{}", link.name);
            assert!(link.tolerance.is_none_or(|part| part > 0.0 && part < 1.0), "{}", link.name);
            if link.kind == Kind::Ethernet {
                assert!(
                    (link.carries - f64::from(link.rate) / 8.0 * 1448.0 / 1538.0).abs() < 0.01,
                    "{}",
                    link.name
                );
            }
        }
    }
}
