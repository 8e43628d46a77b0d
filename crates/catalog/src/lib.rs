//! What changes with the world outside: typed rows of `catalog/*.yaml`, embedded in the program.
//!
//! In: the YAML files, embedded or from the cache. Out: one [`Catalog`], which is made once and passed down.
//!
//! Every file is `{checked, sources, rows}`. A row's `source` is a list of keys of `sources` or of plain
//! text; reading replaces the keys. `checked` is the day on which the row was compared with its
//! source; a row without its own has the file's. [`rules`] holds a file to this, embedded or cached;
//! [`cache`] has the newer files that a refresh wrote. [`Catalog`] holds all tables. Signatures of failures
//! ([`signatures`]) are one file each and have a form of their own. What a source did not tell is left out of
//! the row and is `None` here: it means "not known", never "no".

pub mod accelerate_config;
pub mod apt_options;
pub mod base_images;
pub mod browse;
pub mod cache;
pub mod capabilities;
mod catalog;
pub mod conda_torch;
pub mod cuda;
mod cuda_build;
pub mod cuda_errors;
pub mod cudnn_users;
pub mod cudnn_wheels;
pub mod deepspeed;
pub mod deepspeed_exports;
pub mod deepspeed_keys;
pub mod distributed_functions;
pub mod docker_daemon;
pub mod docker_options;
pub mod docker_warnings;
pub mod driver_support;
pub mod drivers;
pub mod elsewhere;
pub mod embedded;
pub mod expected_bandwidth;
pub mod expression;
mod file;
pub mod flash_attn;
pub mod gpu_builds;
pub mod gpu_extras;
pub mod gpu_images;
pub mod gpus;
pub mod hypervisors;
pub mod image_variables;
pub mod images;
pub mod kubernetes_kinds;
pub mod mirrors;
pub mod misleading_packages;
pub mod model_layers;
pub mod model_servers;
pub mod nccl;
pub mod nccl_functions;
pub mod network_interfaces;
pub mod nvidia_packages;
pub mod object_keys;
pub mod other_gpus;
mod package_facts;
pub mod package_order;
pub mod packages;
pub mod pip_options;
pub mod presets;
pub mod release;
pub mod removed_arguments;
pub mod rules;
pub mod sbatch_options;
pub mod severity;
pub mod signatures;
mod sources;
pub mod sshd_keywords;
pub mod stack_keys;
pub mod strtoll;
pub mod sxids;
pub mod system_packages;
mod system_pythons;
mod system_releases;
pub mod systems;
#[doc(hidden)]
pub mod testing;
pub mod throttle_reasons;
pub mod time_services;
pub mod toolkit;
pub mod toolkit_keys;
pub mod torch;
pub mod torch_partners;
pub mod tracebacks;
pub mod variable_families;
mod variable_owner;
pub mod variables;
pub mod verify;
pub mod version;
pub mod wheel_pythons;
pub mod xids;

pub use catalog::Catalog;
pub use file::Table;
pub use sources::Sources;

#[cfg(test)]
mod tests;
