//! Rules about the commands of shell scripts.

pub(crate) mod accelerate_launch_contradicts;
pub(crate) mod array_index_outside;
pub(crate) mod background_not_awaited;
pub(crate) mod bash_syntax_in_sh_script;
pub(crate) mod command_retired;
pub(crate) mod continuation_broken;
pub(crate) mod hosts_file_pinned;
pub(crate) mod installed_release_missing;
pub(crate) mod launch_option_invalid;
pub(crate) mod mpirun_slots_exceeded;
pub(crate) mod name_takes_underscore;
pub(crate) mod nccl_test_alone;
pub(crate) mod processes_exceed_gpus;
pub(crate) mod rendezvous_not_shared;
pub(crate) mod sbatch_counts_contradict;
pub(crate) mod sbatch_directive_ignored;
pub(crate) mod sbatch_directive_invalid;
pub(crate) mod sbatch_gpu_missing;
pub(crate) mod sbatch_launcher_repeated;
pub(crate) mod sbatch_output_lost;
pub(crate) mod sbatch_rank_expanded_early;
pub(crate) mod shell_spacing_wrong;
pub(crate) mod started_image_missing;
pub(crate) mod started_image_without_torch;
pub(crate) mod variable_not_exported;
