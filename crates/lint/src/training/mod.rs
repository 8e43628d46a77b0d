//! Rules about training scripts in Python.

pub mod collective_retried;
pub mod device_fixed_for_all_ranks;
pub mod global_rank_as_local;
pub mod loader_workers_by_cores;
pub mod set_epoch_missing;
pub mod timeout_unit_wrong;
pub mod world_size_from_devices;
