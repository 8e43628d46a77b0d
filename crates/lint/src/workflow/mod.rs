//! Rules about workflows of GitHub Actions.

pub(crate) mod registry_permission_missing;
pub(crate) mod runner_without_gpu;
pub(crate) mod step_terminal_missing;
pub(crate) mod version_read_as_number;
