//! What NCCL should reach on known hardware.

use catalog::Catalog;
use catalog::expected_bandwidth::Kind;

/// The part of what the catalog's rows tell of many GiB that 512 MiB reach.
const SMALLER_SIZE_FACTOR: f64 = 0.8;
/// Below so many bytes an all-reduce of GPUs is a matter of latency, and nothing is demanded.
const NCCL_JUDGED_FROM_BYTES: usize = 256 << 20;

/// The least that NCCL should reach, in bytes per second, and of what: the GPUs of one node, else the
/// InfiniBand cards of one, whose ports have these rates in Gbit/s. `None` where nothing is known, or the
/// data is too small to tell.
pub fn expected_of_nccl(
    catalog: &Catalog,
    gpu: &str,
    nodes: usize,
    ranks: usize,
    rates: &[u32],
    bytes: usize,
) -> Option<(f64, String)> {
    if bytes < NCCL_JUDGED_FROM_BYTES || nodes == 0 {
        return None;
    }
    if nodes == 1 {
        let count = u32::try_from(ranks).ok()?;
        let row = catalog.expected_bandwidth().gpus(gpu, count)?;
        return Some((row.busbw * 1e9 * SMALLER_SIZE_FACTOR * row.tolerance, format!("{count} {}", row.gpu)));
    }
    let card = |rate: &u32| {
        let link = catalog.expected_bandwidth().link(Kind::Infiniband, *rate)?;
        Some(link.carries * 1e9 * link.tolerance?)
    };
    let cards: Vec<f64> = rates.iter().map(card).collect::<Option<_>>()?;
    // A rank can use no more cards than there are, and a node with fewer GPUs not all of them.
    let used = cards.len().min(ranks / nodes);
    (used > 0).then(|| {
        (
            cards[..used].iter().sum::<f64>() * SMALLER_SIZE_FACTOR,
            format!("{used} InfiniBand adapters per node"),
        )
    })
}
