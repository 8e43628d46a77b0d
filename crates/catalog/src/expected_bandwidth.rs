//! What an all-reduce should reach, by GPU and by link: `catalog/expected_bandwidth.yaml`.

use std::sync::OnceLock;

use serde::Deserialize;

use super::file;

/// The GPUs of one node, together.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpus {
    /// A word of the product's name: `H100`.
    pub gpu: String,
    /// How many.
    pub count: u32,
    /// Bus bandwidth of an all-reduce in GB/s, for data of so many bytes.
    pub busbw: f64,
    /// See `busbw`.
    pub bytes: u64,
    /// The part of it that is demanded.
    pub tolerance: f64,
    /// Where it was read.
    pub source: String,
}

/// A link.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// `NDR InfiniBand`.
    pub name: String,
    /// Of which kind.
    pub kind: Kind,
    /// Its rate in Gbit/s.
    pub rate: u32,
    /// What it carries of data, in GB/s.
    pub carries: f64,
    /// The part of it that a ring must reach; `None` where something else is the limit.
    pub tolerance: Option<f64>,
    /// Where it was read, or how it was computed.
    pub source: String,
}

/// Kinds of links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// TCP over Ethernet.
    Ethernet,
    /// RDMA over InfiniBand.
    Infiniband,
}

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// The day on which it was looked at last.
    pub checked: String,
    /// By GPU.
    pub gpus: Vec<Gpus>,
    /// By link.
    pub links: Vec<Link>,
}

/// All of it.
pub fn all() -> &'static File {
    static FILE: OnceLock<File> = OnceLock::new();
    FILE.get_or_init(|| {
        file::parse("expected_bandwidth.yaml", include_str!("../../../catalog/expected_bandwidth.yaml"))
    })
}

/// The link of a kind and a rate in Gbit/s.
pub fn link(kind: Kind, rate: u32) -> Option<&'static Link> {
    all().links.iter().find(|link| link.kind == kind && link.rate == rate)
}

/// A whole node of a GPU, by the product's name: `NVIDIA H100 80GB HBM3`.
pub fn gpus(product: &str, count: u32) -> Option<&'static Gpus> {
    all().gpus.iter().find(|row| row.count == count && product.split([' ', '-']).any(|word| word == row.gpu))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_and_hold_together() {
        assert_eq!(gpus("NVIDIA H100 80GB HBM3", 8).map(|row| row.busbw), Some(460.0));
        assert!(gpus("NVIDIA A100-SXM4-80GB", 8).is_some() && gpus("NVIDIA A100-SXM4-80GB", 4).is_none());
        assert!(gpus("NVIDIA GH200 480GB", 8).is_none());
        assert_eq!(link(Kind::Infiniband, 400).map(|link| link.name.as_str()), Some("NDR InfiniBand"));
        for link in &all().links {
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
