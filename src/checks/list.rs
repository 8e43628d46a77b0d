//! The list of checks, in the order of the report: group by group.

use super::Check;

use super::driver_library_mismatch;

/// Every check.
pub const CHECKS: &[&Check] = &[
    // driver
    &driver_library_mismatch::CHECK,
];
