//! Which Python releases of packages require that the catalog does not have.

use std::str::FromStr;

use pep440_rs::Version;

/// From which release on they require which Python 3: PyPI's Requires-Python of every release of jax and of
/// the releases of jaxlib around these (2026-11-27); for matplotlib its policy of raising it.
const LOWEST: &[(&str, &[(&str, u64)])] = &[
    ("jax", &[("0.4.14", 9), ("0.4.31", 10), ("0.7.0", 11), ("0.11.0", 12)]),
    ("jaxlib", &[("0.4.14", 9), ("0.4.31", 10), ("0.7.0", 11), ("0.11.0", 12)]),
    ("matplotlib", &[("3.8", 9)]),
];

/// Whether a package is one of these.
pub(crate) fn is_known(name: &str) -> bool {
    LOWEST.iter().any(|(known, _)| *known == name)
}

/// The lowest minor release of Python 3 for a release of a package, as far as it is known.
pub(crate) fn lowest(name: &str, release: &Version) -> Option<u64> {
    let (_, steps) = LOWEST.iter().find(|(known, _)| *known == name)?;
    let reached = |from: &str| Version::from_str(from).is_ok_and(|from| from <= *release);
    steps.iter().rfind(|(from, _)| reached(from)).map(|(_, minor)| *minor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_step_that_a_release_has_reached() {
        let of = |name: &str, text: &str| lowest(name, &Version::from_str(text).unwrap());
        assert_eq!(
            (of("jax", "0.4.13"), of("jax", "0.4.35"), of("jaxlib", "0.12")),
            (None, Some(10), Some(12))
        );
        assert_eq!((of("numpy", "2.0"), is_known("jax")), (None, true));
    }
}
