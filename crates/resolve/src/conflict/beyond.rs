//! Whether a requirement reaches beyond the oldest or the newest version of a list.

use pep440_rs::Version;

use super::super::request::Versions;
use super::super::universe::series;

/// Whether a version before the oldest one can be meant.
pub(super) fn older(oldest: &Version, requirement: &Versions) -> bool {
    let named = requirement.specifiers.iter().map(|one| one.version().clone());
    let before = requirement.specifiers.iter().filter_map(|one| just_before(one.version()));
    let mut all = named.chain(before);
    all.any(|version| {
        version < *oldest && series(&version) != series(oldest) && requirement.contain(&version)
    })
}

/// Whether a version after the newest one can be meant.
pub(super) fn newer(newest: &Version, requirement: &Versions) -> bool {
    let named = requirement.specifiers.iter().map(|one| one.version().clone());
    let after = requirement.specifiers.iter().filter_map(|one| just_after(one.version()));
    // 3.15 is no later than Python 3.15, nor 13.2 than CUDA 13.2.1.
    let is_later = |version: &Version| *version > *newest && !same_beginning(version, newest);
    named.chain(after).any(|version| is_later(&version) && requirement.contain(&version))
}

/// Whether one version is the other, or its beginning.
fn same_beginning(one: &Version, other: &Version) -> bool {
    one.release().iter().zip(other.release()).all(|(one, other)| one == other)
}

/// A version shortly before another: `59` of `60`, `1.20` of `1.21.0`.
pub(super) fn just_before(version: &Version) -> Option<Version> {
    let mut numbers = version.release().to_vec();
    while numbers.last() == Some(&0) {
        numbers.pop();
    }
    *numbers.last_mut()? -= 1;
    Some(Version::new(numbers))
}

/// A version shortly after another: `61` of `60`.
fn just_after(version: &Version) -> Option<Version> {
    let mut numbers = version.release().to_vec();
    *numbers.last_mut()? += 1;
    Some(Version::new(numbers))
}
