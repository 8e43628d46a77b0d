//! What one version specifier allows.

use pep440_rs::{Operator, Version, VersionSpecifier};

/// The longest version or range that is parsed, in bytes. Parsers of PEP 440 take seconds for 100 KB.
pub const VERSION_LIMIT_BYTES: usize = 256;

/// Whether a specifier allows a version.
///
/// pep440_rs compares as many numbers as both have (12.1 with ==12.1.5.*); PEP 440 counts the missing ones as
/// zero. `===` compares texts.
pub fn allows(specifier: &VersionSpecifier, version: &Version) -> bool {
    let (needed, numbers) = (specifier.version().release().len(), version.release());
    if numbers.len() >= needed || *specifier.operator() == Operator::ExactEqual {
        return specifier.contains(version);
    }
    let zeros = std::iter::repeat_n(0, needed - numbers.len());
    specifier.contains(&version.clone().with_release(numbers.iter().copied().chain(zeros)))
}
