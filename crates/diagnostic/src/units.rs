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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_memory_in_binary_units() {
        assert_eq!(memory(64 << 20), "64 MiB");
        assert_eq!(memory(3 << 29), "1.5 GiB");
        assert_eq!(memory(1000), "1000 bytes");
    }
}
