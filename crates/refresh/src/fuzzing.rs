//! What package indexes send and pip is configured with, through the readers that are private. The targets in
//! `fuzz/` call this, and nothing else does.

use crate::{address, index, release};

/// The metadata of a release on two Pythons: as a text, in a wheel and in a source distribution.
///
/// # Panics
///
/// Where a requirement is not read as it is written.
pub fn package(bytes: &[u8]) {
    index::package_info(bytes);
    index::metadata_of_parts(u64::MAX, u64::MAX - 7, bytes);
    index::metadata_of_parts(bytes.len() as u64, 0, bytes);
    let text = String::from_utf8_lossy(bytes);
    for python in [9, 12] {
        for (name, specifiers) in release::requires(&text, python, "x86_64").unwrap_or_default() {
            assert!(!name.is_empty());
            let again = release::requires(&format!("Requires-Dist: {name} {specifiers}\n"), python, "x86_64");
            let again = again.unwrap_or_else(|error| panic!("{name} {specifiers}: {error}"));
            assert_eq!(again.get(&name), Some(&specifiers));
        }
    }
    release::headers(&text, "Requires-Python").for_each(|text| drop(release::python_specifier(text)));
}

/// A `pip.conf`: the value of a key is on one line.
///
/// # Panics
///
/// Where it holds a line end.
pub fn pip_config(text: &str) {
    let index = address::ini(text, "index-url");
    assert!(index.is_none_or(|index| !index.contains('\n') && !index.is_empty()));
}
