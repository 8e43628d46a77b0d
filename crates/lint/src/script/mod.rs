//! Rules about the commands of shell scripts.

pub(crate) mod command_retired;
pub(crate) mod hosts_file_pinned;
pub(crate) mod installed_release_missing;
pub(crate) mod nccl_test_alone;
pub(crate) mod sbatch_counts_contradict;
pub(crate) mod sbatch_directive_ignored;
pub(crate) mod sbatch_directive_invalid;
pub(crate) mod sbatch_gpu_missing;
pub(crate) mod sbatch_launcher_repeated;
pub(crate) mod sbatch_output_lost;
pub(crate) mod sbatch_rank_expanded_early;
pub(crate) mod started_image_missing;
pub(crate) mod started_image_without_torch;
pub(crate) mod variable_not_exported;
