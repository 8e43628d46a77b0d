//! Rules about training scripts in Python.

pub(crate) mod checkpoint_on_one_rank;
pub(crate) mod collective_on_one_rank;
pub(crate) mod collective_retried;
pub(crate) mod device_fixed_for_all_ranks;
pub(crate) mod global_rank_as_local;
pub(crate) mod loader_workers_by_cores;
pub(crate) mod sampler_with_shuffle;
pub(crate) mod set_epoch_missing;
pub(crate) mod timeout_unit_wrong;
pub(crate) mod world_size_from_devices;
