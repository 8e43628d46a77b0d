//! Numbers as C programs read them.

/// What `strtoll(text, NULL, 0)` makes of a text: the number, and what it leaves unread. NCCL reads most of
/// its variables so (NVIDIA/nccl:src/misc/param.cc@5067397c); a text without a number is 0.
pub fn strtoll(text: &str) -> (i128, &str) {
    let text = text.trim_start();
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let hex = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X"));
    let hex = hex.filter(|rest| rest.starts_with(|letter: char| letter.is_ascii_hexdigit()));
    let (digits, radix) = match hex {
        Some(rest) => (rest, 16),
        None if unsigned.starts_with('0') => (unsigned, 8),
        None => (unsigned, 10),
    };
    let end = digits.find(|letter: char| !letter.is_digit(radix)).unwrap_or(digits.len());
    if end == 0 {
        return (0, text);
    }
    // More digits than any number has: what strtoll refuses is not distinguished.
    let number = i128::from_str_radix(&digits[..end], radix).unwrap_or(i128::MAX);
    (if text.starts_with('-') { -number } else { number }, &digits[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_the_c_library_reads_them() {
        for (text, expected) in [
            ("1", (1, "")),
            (" -1", (-1, "")),
            ("0x10", (16, "")),
            ("010", (8, "")),
            ("0", (0, "")),
            ("yes", (0, "yes")),
            ("4M", (4, "M")),
            ("0xz", (0, "xz")),
            ("08", (0, "8")),
            ("", (0, "")),
        ] {
            assert_eq!(strtoll(text), expected, "{text}");
        }
    }
}
