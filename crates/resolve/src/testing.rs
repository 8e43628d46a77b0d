//! The embedded catalog as candidates, for tests: of this crate and of those above.
//!
//! Not behind `cfg(test)`, which other crates do not see; nothing in the program calls it.

use std::sync::OnceLock;

use super::world::World;

/// One for all tests of a process, so that each table is parsed once.
pub fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| World::new(catalog::testing::catalog()))
}
