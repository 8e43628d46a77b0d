//! Rules about the commands of shell scripts.

pub mod command_retired;
pub mod hosts_file_pinned;
pub mod nccl_test_alone;
pub mod started_image_missing;
pub mod started_image_without_torch;
pub mod variable_not_exported;
