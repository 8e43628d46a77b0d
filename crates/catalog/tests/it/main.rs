//! The rows of the catalog.

mod coverage;
