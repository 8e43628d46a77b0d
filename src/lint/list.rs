//! Every rule.

use super::compose::*;
use super::dockerfile::*;
use super::rule::Rule;

/// Every rule, kind by kind, in the order of the documentation.
pub const RULES: &[&Rule] = &[
    &base_image_missing::RULE,
    &torch_release_missing::RULE,
    &torch_index_missing::RULE,
    &torch_python_mismatch::RULE,
    &torch_partners_mismatch::RULE,
    &python_not_in_archive::RULE,
    &externally_managed_python::RULE,
    &broken_shell_words::RULE,
    &compose_unreadable::RULE,
    &compose_version_obsolete::RULE,
    &stack_key_rejected::RULE,
    &stack_key_ignored::RULE,
];
