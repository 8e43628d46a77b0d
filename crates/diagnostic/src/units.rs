//! Sizes and durations for people.

/// Bytes for people, with so many digits, in units of 1000 as Docker writes sizes.
#[expect(clippy::cast_precision_loss, reason = "a few digits are shown")]
pub fn size(bytes: u64, digits: i32) -> String {
    const UNITS: &[&str] = &["B", "kB", "MB", "GB", "TB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 {
        return format!("{bytes} B");
    }
    // As many decimals as fit, after rounding.
    let fits = |decimals: &i32| value < 10_f64.powi(digits - decimals) - 0.5 * 10_f64.powi(-decimals);
    let decimals = (1..digits).rev().find(fits).unwrap_or(0);
    format!("{value:.*} {}", usize::try_from(decimals).unwrap_or(0), UNITS[unit])
}

/// `1.2 GB`, `29 MB`.
pub fn short_size(bytes: u64) -> String {
    size(bytes, 2)
}

/// Memory for people, in the units of 1024 in which limits are set: `512 MiB`, `1.5 GiB`.
pub fn memory(bytes: u64) -> String {
    const KIB: u64 = 1 << 10;
    let unit = |size: u64, name: &str| match bytes.is_multiple_of(size) {
        true => format!("{} {name}", bytes / size),
        false => format!("{}.{} {name}", bytes / size, bytes % size * 10 / size),
    };
    match bytes {
        0..KIB => format!("{bytes} bytes"),
        _ if bytes < KIB << 10 => unit(KIB, "KiB"),
        _ if bytes < KIB << 20 => unit(KIB << 10, "MiB"),
        _ => unit(KIB << 20, "GiB"),
    }
}

/// `0.4 s`, `72 s`, `12 min 3 s`.
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 119.5 => format!("{s:.0} s"),
        s => format!("{} min {} s", (s / 60.0) as u64, (s % 60.0) as u64),
    }
}

/// A time of which the order matters: `0.4 s`, `72 s`, `60 minutes`, `2.5 hours`.
pub fn rough_time(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 && s.fract() == 0.0 => format!("{s:.0} s"),
        s if s < 120.0 => format!("{s:.1} s"),
        s if s < 7200.0 => format!("{:.0} minutes", s / 60.0),
        s => format!("{:.1} hours", s / 3600.0),
    }
}

/// Bytes in a second, in units of 1000: `1.24 GB/s`, `3.1 MB/s`, `40.0 kB/s`.
pub fn rate(bytes: f64) -> String {
    match bytes {
        b if b >= 1e8 => format!("{:.2} GB/s", b / 1e9),
        b if b >= 1e5 => format!("{:.1} MB/s", b / 1e6),
        b => format!("{:.1} kB/s", b / 1e3),
    }
}

/// Powers of ten of bytes in a second, from the lowest, all in one unit of 1000: `0.1 MB/s`, `1 MB/s`.
pub fn rates(decades: &[f64]) -> Vec<String> {
    let lowest = decades.first().copied().unwrap_or_default();
    let (unit, name) = match lowest {
        // No label has more than two decimals, and few have more than four digits.
        low if low >= 1e7 => (1e9, "GB/s"),
        low if low >= 1e4 => (1e6, "MB/s"),
        _ => (1e3, "kB/s"),
    };
    decades.iter().map(|decade| format!("{} {name}", decade / unit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_rates_and_rough_times() {
        assert_eq!([1.24e9, 1e8, 3.14e6, 4e4].map(rate), ["1.24 GB/s", "0.10 GB/s", "3.1 MB/s", "40.0 kB/s"]);
        assert_eq!(rates(&[1e7, 1e8, 1e9, 1e10]), ["0.01 GB/s", "0.1 GB/s", "1 GB/s", "10 GB/s"]);
        assert_eq!(rates(&[1e5, 1e6]), ["0.1 MB/s", "1 MB/s"]);
        let times = [5.0, 0.42, 3600.0, 9000.0].map(rough_time);
        assert_eq!(times, ["5 s", "0.4 s", "60 minutes", "2.5 hours"]);
    }

    #[test]
    fn formats_memory_in_binary_units() {
        assert_eq!(memory(64 << 20), "64 MiB");
        assert_eq!(memory(3 << 29), "1.5 GiB");
        assert_eq!(memory(1000), "1000 bytes");
    }
}
