//! The errors of CUDA's runtime: number, name and the text that programs print.

use std::sync::OnceLock;

use serde::Deserialize;

use super::file;

/// One error.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CudaError {
    /// 803; as CUDA 12 and 13 number them.
    pub number: u32,
    /// `cudaErrorSystemDriverMismatch`.
    pub name: String,
    /// What CUDA itself says of it.
    pub text: String,
    /// Where this was read.
    pub source: String,
    /// When.
    #[serde(default)]
    pub checked: String,
}

file::rows!(CudaError);

/// All errors, by number.
pub fn all() -> &'static [CudaError] {
    static ROWS: OnceLock<Vec<CudaError>> = OnceLock::new();
    ROWS.get_or_init(|| file::table("cuda_errors.yaml", include_str!("../../../catalog/cuda_errors.yaml")))
}

/// The error with this number.
pub fn numbered(number: u32) -> Option<&'static CudaError> {
    all().binary_search_by_key(&number, |row| row.number).ok().map(|place| &all()[place])
}

/// The error with this name, however it is capitalised.
pub fn named(name: &str) -> Option<&'static CudaError> {
    all().iter().find(|row| row.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_number_and_name() {
        assert_eq!(numbered(803).unwrap().name, "cudaErrorSystemDriverMismatch");
        assert_eq!(named("cudaerrorecCuncorrectable").unwrap().number, 214);
        assert!(numbered(0).is_none() && numbered(77).is_none() && named("cudaSuccess").is_none());
    }
}
