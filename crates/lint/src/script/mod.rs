//! Rules about the commands of shell scripts.

pub(crate) mod command_retired;
pub(crate) mod hosts_file_pinned;
pub(crate) mod installed_release_missing;
pub(crate) mod nccl_test_alone;
pub(crate) mod started_image_missing;
pub(crate) mod started_image_without_torch;
pub(crate) mod variable_not_exported;
