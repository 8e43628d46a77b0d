//! Rules for compose and stack files: one file a rule, named after the fault.

pub mod compose_unreadable;
pub mod compose_version_obsolete;
pub mod external_network_unseen;
pub mod gpu_request_invalid;
pub mod gpu_request_missing;
pub mod gpu_shared;
pub mod infiniband_incomplete;
pub mod network_mtu_too_large;
pub mod overlay_encrypted;
pub mod shared_memory_small;
pub mod sshd_port_taken;
pub mod stack_key_ignored;
pub mod stack_key_rejected;
