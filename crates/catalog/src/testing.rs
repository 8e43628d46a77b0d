//! The embedded catalog, for tests: of this crate and of those above.
//!
//! Not behind `cfg(test)`, which other crates do not see; nothing in the program calls it.

use super::Catalog;

/// One for all tests of a process, so that each table is parsed once.
pub fn catalog() -> &'static Catalog {
    static CATALOG: Catalog = Catalog::embedded();
    &CATALOG
}
