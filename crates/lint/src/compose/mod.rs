//! Rules for compose and stack files: one file a rule, named after the fault.

pub(crate) mod compose_unreadable;
pub(crate) mod compose_version_obsolete;
pub(crate) mod external_network_unseen;
pub(crate) mod gpu_request_invalid;
pub(crate) mod gpu_request_missing;
pub(crate) mod gpu_shared;
pub(crate) mod infiniband_incomplete;
pub(crate) mod network_mtu_too_large;
pub(crate) mod overlay_encrypted;
pub(crate) mod shared_memory_small;
pub(crate) mod sshd_port_taken;
pub(crate) mod stack_key_ignored;
pub(crate) mod stack_key_rejected;
