//! How fast a rank sends.

/// Bytes that are sent at once where the pace is set: no queue of the path is too short for them.
pub(super) const PACED_BLOCK_BYTES: usize = 16 << 10;

/// How fast is sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    pub(super) seconds_per_byte: f64,
}

impl Pace {
    /// So many bytes per second at most, and 1024 at least.
    pub fn new(rate: f64) -> Pace {
        Pace { seconds_per_byte: 1.0 / rate.max(1024.0) }
    }
}
