//! From when on a measurement counts.

use super::outcome::Outcome;

/// The part of what the path carries that the ring must reach: below it something other than the network is
/// the limit. Measured on two cores, where the ranks share the processors with the kernel's side of the
/// sockets (docs/measurements/smoke.md).
pub const TOLERANCE: f64 = 0.6;
/// From this size on bandwidth is judged, in bytes: small data is a matter of latency.
pub(super) const JUDGED_FROM_BYTES: usize = 16 << 20;
/// Rounds that a fault must be seen in.
pub(super) const ROUNDS_MIN: usize = 3;
/// The part of TCP segments that may be sent again at a part of the path's rate, where no queue overflows.
pub(super) const RETRANSMIT_LIMIT: f64 = 0.001;
/// Where larger sizes would take too long, this one shows too that the ring is as fast as its path, though
/// not that it is slow.
pub(super) const SHOWN_FROM_BYTES: usize = 4 << 20;

/// From this size on a bandwidth is judged, in bytes.
pub(super) fn judged_from(outcome: &Outcome) -> usize {
    match outcome.network.skipped_from {
        Some(from) if from <= JUDGED_FROM_BYTES => SHOWN_FROM_BYTES,
        _ => JUDGED_FROM_BYTES,
    }
}
