//! The names of torch's CUDA builds.

use std::fmt;

/// The name of a CUDA build: `cu132`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CudaBuild {
    /// 13 of `cu132`.
    pub major: u32,
    /// 2 of `cu132`; `None` of `cu12`, the form that NVIDIA's packages have.
    pub minor: Option<u32>,
}

impl CudaBuild {
    /// Of a name: two or three digits, the last one of which is the minor version (`cu92` is CUDA 9.2).
    /// `None`: it is none of CUDA.
    pub fn parse(name: &str) -> Option<CudaBuild> {
        let digits = name.strip_prefix("cu")?;
        if !(2..=3).contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let number: u32 = digits.parse().ok()?;
        Some(match number {
            10..20 => CudaBuild { major: number, minor: None },
            _ => CudaBuild { major: number / 10, minor: Some(number % 10) },
        })
    }

    /// Of a version: `12.4`, `12.4.1`.
    pub fn of_cuda(version: &str) -> Option<CudaBuild> {
        let mut numbers = version.split('.').map(|number| number.parse().ok());
        Some(CudaBuild { major: numbers.next()??, minor: Some(numbers.next()??) })
    }

    /// Its CUDA, `13.2`; `None` where the name has no minor version.
    pub fn cuda(self) -> Option<String> {
        Some(format!("{}.{}", self.major, self.minor?))
    }
}

impl fmt::Display for CudaBuild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cu{}", self.major)?;
        self.minor.map_or(Ok(()), |minor| minor.fmt(f))
    }
}

/// Whether a text is the name of a CUDA build: `cu121`.
pub fn is_cuda_build(text: &str) -> bool {
    CudaBuild::parse(text).is_some()
}

/// The build whose wheels an index has: `cu121` of `https://download.pytorch.org/whl/cu121`; `None` where it
/// has several, or where that is not known.
pub fn build_of_index(url: &str) -> Option<&str> {
    let last = url.trim_end_matches('/').rsplit('/').next()?;
    (is_cuda_build(last) || last == "cpu").then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_builds_are_read_and_written() {
        for (name, cuda) in
            [("cu132", Some("13.2")), ("cu92", Some("9.2")), ("cu12", None), ("cu100", Some("10.0"))]
        {
            let build = CudaBuild::parse(name).unwrap();
            assert_eq!(build.cuda().as_deref(), cuda, "{name}");
            assert_eq!(build.to_string(), name);
        }
        for name in ["cpu", "cu", "cu1", "cu1210", "cu12x", "rocm6.1", "121", "cu+12"] {
            assert_eq!(CudaBuild::parse(name), None, "{name}");
        }
        for (version, name) in
            [("12.4", Some("cu124")), ("12.4.1", Some("cu124")), ("12", None), ("a.b", None)]
        {
            assert_eq!(
                CudaBuild::of_cuda(version).map(|build| build.to_string()).as_deref(),
                name,
                "{version}"
            );
        }
    }
}
