//! Files and directories that no other rule can judge.

pub(crate) mod file_type_unknown;
pub(crate) mod file_unreadable;
