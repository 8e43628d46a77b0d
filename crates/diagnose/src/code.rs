//! Failures by number or name: `xid 79`, `sxid 12028`, `CUDA error 803`, `cudaErrorSystemDriverMismatch`.

use std::fmt;

use catalog::Catalog;
use catalog::cuda_errors::CudaError;
use catalog::sxids::Sxid;
use catalog::xids::Xid;

/// What a number or name stands for.
#[derive(Debug, Clone, Copy)]
pub enum Code {
    /// A fault that the driver reports of a GPU.
    Xid(&'static Xid),
    /// An error that the driver reports of an NVSwitch.
    Sxid(&'static Sxid),
    /// An error of CUDA's runtime.
    Cuda(&'static CudaError),
    /// A number that the catalog does not have: its kind, and the number.
    Unknown(&'static str, u32),
}

/// The code that a text asks for; `None` where it asks for something else.
pub fn code(catalog: &'static Catalog, text: &str) -> Option<Code> {
    let lower = text.trim().to_ascii_lowercase();
    let lower = lower.strip_suffix('.').unwrap_or(&lower);
    let number = |words: &[&str]| {
        let rest = words.iter().find_map(|word| lower.strip_prefix(word))?;
        rest.trim_start_matches([' ', ':', '#', '=', '-']).parse::<u32>().ok()
    };
    if let Some(number) = number(&["xid"]) {
        return Some(catalog.xids().xid(number).map_or(Code::Unknown("Xid", number), Code::Xid));
    }
    if let Some(number) = number(&["sxid"]) {
        return Some(catalog.sxids().sxid(number).map_or(Code::Unknown("SXid", number), Code::Sxid));
    }
    if let Some(number) = number(&["cuda error", "cudaerror"]) {
        return Some(
            catalog.cuda_errors().numbered(number).map_or(Code::Unknown("CUDA error", number), Code::Cuda),
        );
    }
    catalog.cuda_errors().named(lower).map(Code::Cuda)
}

/// The failures with this number: `803` is an error of CUDA, `46` also an Xid.
pub fn numbered(catalog: &'static Catalog, text: &str) -> Vec<Code> {
    let Ok(number) = text.trim().parse::<u32>() else { return Vec::new() };
    let all = [
        catalog.xids().xid(number).map(Code::Xid),
        catalog.sxids().sxid(number).map(Code::Sxid),
        catalog.cuda_errors().numbered(number).map(Code::Cuda),
    ];
    all.into_iter().flatten().collect()
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Code::Xid(row) => write!(formatter, "xid {}", row.number),
            Code::Sxid(row) => write!(formatter, "sxid {}", row.number),
            Code::Cuda(row) => write!(formatter, "CUDA error {}", row.number),
            Code::Unknown(kind, number) => write!(formatter, "{kind} {number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Code;
    use catalog::testing::catalog;

    fn code(text: &str) -> Option<Code> {
        super::code(catalog(), text)
    }

    #[test]
    fn a_number_alone_is_every_code_that_has_it() {
        let names = |text: &str| -> Vec<String> {
            super::numbered(catalog(), text).iter().map(Code::to_string).collect()
        };
        assert_eq!(names("803"), ["CUDA error 803"]);
        assert_eq!(names("79"), ["xid 79"]);
        assert_eq!(names("46"), ["xid 46", "CUDA error 46"]);
        assert!(names("4711").is_empty() && names("xid 79").is_empty());
    }

    #[test]
    fn parses_xid_sxid_and_cuda_error_codes() {
        assert!(matches!(code("xid 79"), Some(Code::Xid(xid)) if xid.number == 79));
        assert!(matches!(code("xid-79"), Some(Code::Xid(xid)) if xid.number == 79));
        assert!(matches!(code("Xid:13"), Some(Code::Xid(xid)) if xid.number == 13));
        assert!(matches!(code("SXid 12028"), Some(Code::Sxid(sxid)) if sxid.number == 12028));
        assert!(matches!(code("CUDA error 803"), Some(Code::Cuda(error)) if error.number == 803));
        assert!(matches!(code("cudaErrorECCUncorrectable"), Some(Code::Cuda(error)) if error.number == 214));
        assert!(matches!(code("xid 4711"), Some(Code::Unknown("Xid", 4711))));
        assert!(matches!(code("cuda error 77"), Some(Code::Unknown("CUDA error", 77))));
        for text in ["cuda 12.1", "CUDA error: out of memory", "xid", "xid-errors", "79", "xid 79 or 13"] {
            assert!(code(text).is_none(), "{text}");
        }
    }
}
