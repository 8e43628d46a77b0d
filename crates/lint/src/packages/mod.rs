//! Rules about lists of packages: requirements files, `pyproject.toml`, environments of conda.

pub(crate) mod conda_package_missing;
pub(crate) mod index_undefined;
pub(crate) mod requirements_line_invalid;
