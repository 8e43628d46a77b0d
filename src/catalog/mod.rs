//! What changes with the world outside: rows of `catalog/*.yaml`, embedded, parsed when first used.
