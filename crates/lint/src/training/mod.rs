//! Rules about training scripts in Python.

pub(crate) mod checkpoint_load_refused;
pub(crate) mod clipped_before_unscaling;
pub(crate) mod collective_on_cpu_tensor;
pub(crate) mod collective_on_one_rank;
pub(crate) mod collective_retried;
pub(crate) mod cuda_in_loader_worker;
pub(crate) mod device_fixed_for_all_ranks;
pub(crate) mod engine_bypassed;
pub(crate) mod environment_value_not_text;
pub(crate) mod evaluation_mode_kept;
pub(crate) mod global_rank_as_local;
pub(crate) mod gpus_list_not_quoted_in_program;
pub(crate) mod gradients_not_cleared;
pub(crate) mod graph_kept;
pub(crate) mod loader_options_contradict;
pub(crate) mod loader_workers_by_cores;
pub(crate) mod local_rank_option_old;
pub(crate) mod optimizer_before_fsdp;
pub(crate) mod python_not_parsed;
pub(crate) mod removed_argument;
pub(crate) mod sampler_missing;
pub(crate) mod set_epoch_missing;
pub(crate) mod timeout_unit_wrong;
pub(crate) mod world_size_from_devices;
