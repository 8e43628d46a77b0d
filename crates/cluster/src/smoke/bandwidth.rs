//! What a time means as bandwidth, as nccl-tests defines it (NVIDIA/nccl-tests, doc/PERFORMANCE.md), and
//! which sizes are measured.

/// Bytes per second that the operation gives its caller: the size of the data over the time.
pub fn algorithm(bytes: usize, seconds: f64) -> f64 {
    bytes as f64 / seconds
}

/// Bytes per second that the slowest link carries: in an all-reduce every rank must send 2(n-1)/n of the
/// data, whatever the algorithm, so that this number can be held against the hardware's for any number of
/// ranks.
pub fn bus(bytes: usize, seconds: f64, world: usize) -> f64 {
    algorithm(bytes, seconds) * 2.0 * (world as f64 - 1.0) / world as f64
}

/// The middle of some times; of two middles the greater.
pub fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The sizes that are measured unless others are asked for: powers of two from 8 bytes to 256 MiB.
pub const SIZES: &str = "8-256M";

/// Why a list of sizes is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SizesError {
    /// Not a number with a unit.
    #[error("{0:?} is not a size; write for example 64K, 256M or 1G")]
    NotASize(String),
    /// Elements have four bytes.
    #[error("{0} bytes is not a multiple of 4 (the size of a float32)")]
    NotWhole(usize),
    /// More than any measurement needs.
    #[error("{0} is more than 16G")]
    TooLarge(String),
    /// An empty range.
    #[error("the first size ({first} bytes) is larger than the last ({last} bytes)")]
    Reversed {
        /// In bytes.
        first: usize,
        /// In bytes.
        last: usize,
    },
}

/// `8-256M` (every power of two between them), or a list: `4K,1M,64M`. In bytes, each a multiple of four.
pub fn sizes(text: &str) -> Result<Vec<usize>, SizesError> {
    let mut sizes: Vec<usize> = match text.split_once('-') {
        Some((first, last)) => {
            let (first, last) = (typed(first)?, typed(last)?);
            if first > last {
                return Err(SizesError::Reversed { first, last });
            }
            std::iter::successors(Some(first), |size| size.checked_mul(2))
                .take_while(|size| *size <= last)
                .collect()
        }
        None => text.split(',').map(typed).collect::<Result<_, _>>()?,
    };
    sizes.sort_unstable();
    sizes.dedup();
    Ok(sizes)
}

fn typed(text: &str) -> Result<usize, SizesError> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let factor: usize = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        _ => return Err(SizesError::NotASize(text.to_owned())),
    };
    let number: usize = digits.parse().map_err(|_| SizesError::NotASize(text.to_owned()))?;
    let bytes = number.checked_mul(factor).filter(|bytes| *bytes <= 16 << 30);
    match bytes {
        Some(bytes) if bytes >= 4 && bytes % 4 == 0 => Ok(bytes),
        Some(bytes) => Err(SizesError::NotWhole(bytes)),
        None => Err(SizesError::TooLarge(text.to_owned())),
    }
}

/// `64 MiB`, `1.5 MiB`.
pub fn size(bytes: usize) -> String {
    diagnostic::units::memory(u64::try_from(bytes).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computes_algorithm_and_bus_bandwidth() {
        // 1 GiB in 0.1 s over 4 ranks: 10.7 GB/s, each link 1.5 times as much.
        assert!((algorithm(1 << 30, 0.1) / 1e9 - 10.737).abs() < 0.001);
        assert!((bus(1 << 30, 0.1, 4) / algorithm(1 << 30, 0.1) - 1.5).abs() < 1e-12);
        assert!((bus(8, 1.0, 2) - 8.0).abs() < 1e-12);
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn formats_sizes_in_binary_units() {
        let all = [8, 1 << 10, 1 << 20, 3 << 19, 256 << 20, 1 << 30].map(size);
        assert_eq!(all, ["8 bytes", "1 KiB", "1 MiB", "1.5 MiB", "256 MiB", "1 GiB"]);
    }

    #[test]
    fn parses_size_lists_and_rejects_invalid_ones() {
        assert_eq!(sizes("8-64").unwrap(), [8, 16, 32, 64]);
        assert_eq!(sizes(SIZES).unwrap().len(), 26);
        assert_eq!(sizes("1M, 4K,1M").unwrap(), [4096, 1 << 20]);
        let not_a_size = |text: &str| SizesError::NotASize(text.to_owned());
        for (wrong, error) in [
            ("", not_a_size("")),
            ("7", SizesError::NotWhole(7)),
            ("0", SizesError::NotWhole(0)),
            ("1T", not_a_size("1T")),
            ("64-8", SizesError::Reversed { first: 64, last: 8 }),
            ("-8", not_a_size("")),
            ("17G", SizesError::TooLarge("17G".into())),
            ("1.5M", not_a_size("1.5M")),
        ] {
            assert_eq!(sizes(wrong), Err(error), "{wrong}");
        }
    }
}
