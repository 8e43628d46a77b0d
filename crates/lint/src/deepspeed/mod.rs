//! Rules about DeepSpeed's configuration and hostfile.

pub mod deepspeed_batch_mismatch;
pub mod deepspeed_buckets_too_large;
pub mod deepspeed_config_unreadable;
pub mod deepspeed_fp16_on_newer_cards;
pub mod deepspeed_key_unknown;
pub mod deepspeed_settings_contradict;
pub mod hostfile_invalid;
pub mod hostfile_name_unresolved;
pub mod hostfile_slots_differ;
