//! Values of environment variables, as their readers parse them.

use catalog::strtoll::strtoll;

/// What people mean by a word for yes or no.
pub(crate) fn yes_or_no(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" | "t" | "true" | "on" | "enable" | "enabled" => Some(true),
        "n" | "no" | "f" | "false" | "off" | "disable" | "disabled" => Some(false),
        _ => None,
    }
}

/// A number of bytes with a unit, in bytes: `4M`, `64KiB`.
pub(crate) fn with_unit(text: &str) -> Option<i128> {
    let (number, rest) = strtoll(text);
    let shift = match rest.trim().to_ascii_lowercase().as_str() {
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        _ => return None,
    };
    number.checked_mul(1 << shift).filter(|_| number > 0)
}

/// Words that PyTorch's process groups take for yes and no (c10d/Utils.hpp, getCvarBool).
pub(crate) fn is_torch_bool(text: &str) -> bool {
    let words = ["y", "yes", "1", "t", "true", "n", "no", "0", "f", "false"];
    words.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Whether `std::stoi` finds a number at the beginning of a text.
pub(crate) fn is_stoi(text: &str) -> bool {
    let text = text.trim_start();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    digits.starts_with(|letter: char| letter.is_ascii_digit())
}

/// A list of interfaces or devices as NCCL splits it: `^` and `=` before it, then entries with a comma
/// between them (NVIDIA/nccl:src/misc/utils.cc@5067397c).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Devices<'t> {
    /// `^`, `=`, `^=` or nothing.
    pub marks: &'t str,
    /// The entries as they are compared, spaces included.
    pub entries: Vec<&'t str>,
}

/// Splits a list of interfaces or devices.
pub(crate) fn devices(text: &str) -> Devices<'_> {
    let rest = text.strip_prefix('^').unwrap_or(text);
    let rest = rest.strip_prefix('=').unwrap_or(rest);
    let entries = rest.split(',').filter(|entry| !entry.is_empty()).collect();
    Devices { marks: &text[..text.len() - rest.len()], entries }
}

/// An option of PyTorch's allocator, `key:value`.
pub(crate) type AllocatorOption = (String, Option<String>);

/// The options of `PYTORCH_CUDA_ALLOC_CONF`: a comma between them, except in brackets; spaces do not count
/// (pytorch:c10/core/AllocatorConfig.h). `None` for a value: there is no colon.
pub(crate) fn allocator(text: &str) -> Vec<AllocatorOption> {
    let text: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    let (mut depth, mut parts) = (0_u32, vec![String::new()]);
    for letter in text.chars() {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = parts.last_mut() {
            last.push(letter);
        }
    }
    let option = |part: String| match part.split_once(':') {
        Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
        None => (part, None),
    };
    // A comma at the end is read over.
    parts.into_iter().filter(|part| !part.is_empty()).map(option).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_units() {
        assert_eq!((with_unit("4M"), with_unit("4"), with_unit("x")), (Some(4 << 20), None, None));
        assert!(is_stoi("1800s") && is_stoi("-1") && !is_stoi("three") && !is_stoi(""));
    }

    #[test]
    fn lists_of_devices() {
        let of = |text| devices(text);
        assert_eq!(of("^docker0,lo"), Devices { marks: "^", entries: vec!["docker0", "lo"] });
        assert_eq!(of("=eth0, eth1"), Devices { marks: "=", entries: vec!["eth0", " eth1"] });
        assert_eq!(of("mlx5_0:1,,"), Devices { marks: "", entries: vec!["mlx5_0:1"] });
    }

    #[test]
    fn options_of_the_allocator() {
        let of = |text: &str| {
            let options = allocator(text);
            options
                .into_iter()
                .map(|(key, value)| format!("{key}={}", value.unwrap_or_default()))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            of("expandable_segments:True, roundup_power2_divisions:[256:1,>:8],"),
            ["expandable_segments=True", "roundup_power2_divisions=[256:1,>:8]"]
        );
        assert_eq!(allocator("x"), [("x".to_owned(), None)]);
    }
}
