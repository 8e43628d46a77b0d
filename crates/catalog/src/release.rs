//! Versions of programs that number their releases by Semantic Versioning, or nearly so: Docker, the
//! container toolkit, the format of CDI specifications. Drivers and NVIDIA's libraries do not
//! ([`super::version`]).

pub use semver::Version;
use semver::{BuildMetadata, Prerelease};

/// Reads the version that such a program reports; `None` where it is none.
///
/// Stricter parsers refuse what is in use: Docker's older releases have leading zeros (`19.03.15`), some
/// texts two numbers (`23.0`), and distributors add a suffix (`20.10.24+dfsg1`, `28.5.1-rd`, `17.06.1-ce`).
/// Semver would take such a suffix after a hyphen for a pre-release, which is older than its release; only
/// `alpha`, `beta`, `rc` and the like are. The suffix of a distributor is left out.
pub fn parse(text: &str) -> Option<Version> {
    let text = text.trim();
    let text = text.strip_prefix('v').unwrap_or(text);
    let (numbers, suffix) = text.split_at(text.find(['-', '+', '~']).unwrap_or(text.len()));
    let mut parts = numbers.split('.').map(number);
    let (major, minor) = (parts.next()??, parts.next().unwrap_or(Some(0))?);
    let patch = parts.next().unwrap_or(Some(0))?;
    let pre = match suffix.starts_with(['-', '~']) {
        true => pre_release(&suffix[1..])?,
        false => Prerelease::EMPTY,
    };
    parts.next().is_none().then_some(Version { major, minor, patch, pre, build: BuildMetadata::EMPTY })
}

/// Whether the first is the second or newer; `None` when one of them is no such version.
pub fn at_least(version: &str, minimum: &str) -> Option<bool> {
    Some(parse(version)? >= parse(minimum)?)
}

fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// `rc1` and `rc.1` are the same: semver compares numbers only where a dot is in front. Nothing where it
/// looks like a pre-release and is none that can be compared.
fn pre_release(suffix: &str) -> Option<Prerelease> {
    let word = suffix.split(|letter: char| !letter.is_ascii_alphabetic()).next().unwrap_or_default();
    if !matches!(word.to_ascii_lowercase().as_str(), "alpha" | "beta" | "dev" | "pre" | "rc" | "tp") {
        return Some(Prerelease::EMPTY);
    }
    let number = suffix[word.len()..].trim_start_matches(['.', '-']);
    let number = number.split(['-', '+', '~']).next().unwrap_or_default();
    let dot = if number.is_empty() { "" } else { "." };
    Prerelease::new(&format!("{word}{dot}{number}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<String> {
        parse(text).map(|version| version.to_string())
    }

    #[test]
    fn versions_that_programs_report() {
        for (text, version) in [
            ("28.5.1", "28.5.1"),
            ("19.03.15", "19.3.15"),
            ("17.06.1-ce", "17.6.1"),
            ("20.10.24+dfsg1", "20.10.24"),
            ("28.5.1-rd", "28.5.1"),
            ("v2.27.0-desktop.2", "2.27.0"),
            ("1.1.7-0ubuntu1~22.04.7", "1.1.7"),
            ("27.5.1~3-0", "27.5.1"),
            ("23.0", "23.0.0"),
            ("1.18.0-rc.2", "1.18.0-rc.2"),
            ("1.18.0~rc.2-1", "1.18.0-rc.2"),
            ("29.0.0-rc1", "29.0.0-rc.1"),
            ("0.7.0", "0.7.0"),
        ] {
            assert_eq!(read(text).as_deref(), Some(version), "{text}");
        }
    }

    #[test]
    fn what_is_no_version_is_unknown() {
        for text in
            ["", "v", "dev", "library-import", "1.2.3.4", "1..2", "28.x", "1.2.3-rc.01", "+1", "1.2 3"]
        {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(at_least("HEAD", "23.0"), None);
    }

    #[test]
    fn numbers_and_pre_releases_in_order() {
        for pair in
            ["17.06.1-ce", "19.03.15", "20.10.24+dfsg1", "23.0", "29.0.0-rc.2", "29.0.0-rc10", "29.0.0"]
                .windows(2)
        {
            assert!(parse(pair[0]) < parse(pair[1]), "{pair:?}");
            assert_eq!(at_least(pair[0], pair[1]), Some(false), "{pair:?}");
        }
        assert_eq!(at_least("28.5.1-rd", "28.5.1"), Some(true));
        assert_eq!(at_least("23.0.0", "23.0"), Some(true));
    }
}
