//! Rules about lists of packages: requirements files, `pyproject.toml`, environments of conda.

pub(crate) mod build_isolation_of_uv;
pub(crate) mod conda_environment_invalid;
pub(crate) mod conda_package_missing;
pub(crate) mod conda_section_ignored;
pub(crate) mod conda_without_cuda;
pub(crate) mod git_branch_required;
pub(crate) mod index_undefined;
pub(crate) mod package_lacks_python;
pub(crate) mod project_metadata_invalid;
pub(crate) mod pyproject_invalid;
pub(crate) mod requirement_of_other_machine;
pub(crate) mod requirements_line_invalid;
pub(crate) mod requires_python_too_wide;
pub(crate) mod script_function_missing;
pub(crate) mod several_top_level_packages;
pub(crate) mod torch_lacks_python;
