//! Rules for compose and stack files: one file a rule, named after the fault.

pub mod compose_unreadable;
pub mod compose_version_obsolete;
pub mod stack_key_ignored;
pub mod stack_key_rejected;
