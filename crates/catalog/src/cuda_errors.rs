//! The errors of CUDA's runtime: number, name and the text that programs print.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// A `cudaError_t` value.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CudaError {
    /// 803; as CUDA 12 and 13 number them.
    pub number: u32,
    /// `cudaErrorSystemDriverMismatch`.
    pub name: String,
    /// What CUDA itself says of it.
    pub text: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

file::table!(CudaError, "cuda_errors.yaml");

impl Table<CudaError> {
    /// `None`: no such error, or success (0).
    pub fn numbered(&self, number: u32) -> Option<&CudaError> {
        self.all().binary_search_by_key(&number, |row| row.number).ok().map(|index| &self.all()[index])
    }

    /// The error with this name, however it is capitalised.
    pub fn named(&self, name: &str) -> Option<&CudaError> {
        self.all().iter().find(|row| row.name.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> &'static Table<CudaError> {
        crate::testing::catalog().cuda_errors()
    }

    #[test]
    fn finds_cuda_errors_by_number_and_name() {
        assert_eq!(table().numbered(803).unwrap().name, "cudaErrorSystemDriverMismatch");
        assert_eq!(table().named("cudaerrorecCuncorrectable").unwrap().number, 214);
        assert!(
            table().numbered(0).is_none()
                && table().numbered(77).is_none()
                && table().named("cudaSuccess").is_none()
        );
    }
}
