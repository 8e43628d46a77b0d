//! The embedded catalog as candidates, for tests: of this crate and of those above.
//!
//! Not behind `cfg(test)`, which other crates do not see; nothing in the program calls it.

use std::sync::OnceLock;

use super::universe::Universe;

/// One for all tests of a process, so that each table is parsed once.
pub fn universe() -> &'static Universe {
    static UNIVERSE: OnceLock<Universe> = OnceLock::new();
    UNIVERSE.get_or_init(|| Universe::new(catalog::testing::catalog()))
}
