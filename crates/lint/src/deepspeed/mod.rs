//! Rules about DeepSpeed's configuration and hostfile.

pub(crate) mod auto_without_trainer;
pub(crate) mod deepspeed_batch_mismatch;
pub(crate) mod deepspeed_buckets_too_large;
pub(crate) mod deepspeed_config_not_json;
pub(crate) mod deepspeed_config_unreadable;
pub(crate) mod deepspeed_fp16_on_newer_cards;
pub(crate) mod deepspeed_key_unknown;
pub(crate) mod deepspeed_section_refused;
pub(crate) mod deepspeed_settings_contradict;
pub(crate) mod deepspeed_value_type;
pub(crate) mod hostfile_invalid;
pub(crate) mod hostfile_name_unresolved;
pub(crate) mod hostfile_slots_differ;
pub(crate) mod hostfile_start_differs;
pub(crate) mod offload_refuses_optimizer;
pub(crate) mod pipeline_with_zero;
pub(crate) mod precision_contradicts;
pub(crate) mod trainer_argument_contradicts;
pub(crate) mod weights_not_gathered;
