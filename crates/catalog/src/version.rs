//! Comparing versions that are numbers with dots.

use std::cmp::Ordering;

/// A dotted version, maybe a release candidate: `12.4`, `550.144.03`, `1.4.0-rc.3`.
///
/// A missing number counts as zero: `12.4` and `12.4.0` are equal.
#[derive(Debug, Clone)]
pub struct Version {
    numbers: Vec<u64>,
    candidate: Option<u64>,
}

impl Version {
    /// Reads a version; `None` for anything else, packagers' suffixes included (`1.1.7-0ubuntu1`), because a
    /// distribution's own revisions cannot be compared with upstream's numbers.
    pub fn parse(text: &str) -> Option<Version> {
        let text = text.trim();
        let text = text.strip_prefix('v').unwrap_or(text);
        let (numbers, candidate) = match text.split_once("-rc") {
            Some((numbers, rest)) => (numbers, Some(rest.trim_start_matches(['.', '-']).parse().ok()?)),
            None => (text, None),
        };
        let numbers = numbers.split('.').map(|number| digits(number)?.parse().ok()).collect::<Option<_>>()?;
        Some(Version { numbers, candidate })
    }

    /// The numbers as written.
    pub fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    /// The number at a place, zero where none is written.
    pub fn number(&self, index: usize) -> u64 {
        self.numbers.get(index).copied().unwrap_or(0)
    }

    /// Major and minor number.
    pub fn minor(&self) -> (u64, u64) {
        (self.number(0), self.number(1))
    }
}

fn digits(text: &str) -> Option<&str> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}

impl Ord for Version {
    fn cmp(&self, other: &Version) -> Ordering {
        let places = self.numbers.len().max(other.numbers.len());
        (0..places)
            .map(|index| self.number(index).cmp(&other.number(index)))
            .find(|order| order.is_ne())
            .unwrap_or_else(|| {
                // A candidate comes before the release.
                self.candidate.unwrap_or(u64::MAX).cmp(&other.candidate.unwrap_or(u64::MAX))
            })
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Version) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Version) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Version {}

/// Major and minor number of a dotted version (`12.4.1`), zero where none is written; makes no copy.
pub fn minor(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split('.');
    let major = numbers.next()?.parse().ok()?;
    Some((major, numbers.next().map_or(Some(0), |number| number.parse().ok())?))
}

/// Compares two dotted versions; `None` when one of them is none.
pub fn compare(one: &str, other: &str) -> Option<Ordering> {
    Some(Version::parse(one)?.cmp(&Version::parse(other)?))
}

/// Whether the first is the second or newer; `None` when one of them is no dotted version.
pub fn at_least(version: &str, minimum: &str) -> Option<bool> {
    compare(version, minimum).map(Ordering::is_ge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_numerically() {
        assert_eq!(compare("2.10.0", "2.9.1"), Some(Ordering::Greater));
        assert_eq!(compare("550.144.03", "550.54.14"), Some(Ordering::Greater));
        assert_eq!(compare("535.54.03", "535.54.3"), Some(Ordering::Equal));
        assert_eq!(compare("12.4", "12.4.1"), Some(Ordering::Less));
        assert_eq!(compare("12.4", "12.4.0"), Some(Ordering::Equal));
        assert_eq!(compare("19.03.15", "20.10.0"), Some(Ordering::Less));
    }

    #[test]
    fn release_candidates_sort_before_the_release() {
        assert_eq!(compare("1.4.0-rc.3", "1.4.0"), Some(Ordering::Less));
        assert_eq!(compare("1.4.0-rc.3", "1.4.0-rc.10"), Some(Ordering::Less));
        assert_eq!(compare("1.4.0-rc1", "1.3.9"), Some(Ordering::Greater));
        assert_eq!(compare("v1.17.8", "1.17.8"), Some(Ordering::Equal));
    }

    #[test]
    fn rejects_strings_that_are_not_versions() {
        for text in
            ["", "1.1.7-0ubuntu1~22.04.7", "20.10.24+dfsg1", "12.x", "2.5.1+cu124", "1..2", "1.2-rcx", "+1"]
        {
            assert!(Version::parse(text).is_none(), "{text}");
        }
        assert_eq!(at_least("1.1.7-0ubuntu1", "1.0"), None);
        assert_eq!(at_least("580.65.06", "580.65.06"), Some(true));
    }
}
