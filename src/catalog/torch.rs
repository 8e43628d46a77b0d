//! PyTorch releases and their CUDA builds (Linux, x86_64).

use std::sync::OnceLock;

use serde::Deserialize;

use super::file::{self, Sources};

/// One torch release.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// `2.5.1`.
    pub version: String,
    /// The day of its release.
    pub released: Option<String>,
    /// The build that `pip install torch` gives: `cu124`.
    pub pypi_build: Option<String>,
    /// That build's CUDA: `12.4`.
    pub pypi_cuda: Option<String>,
    /// The torchvision of the same release.
    pub torchvision: Option<String>,
    /// The torchaudio of the same release.
    pub torchaudio: Option<String>,
    /// The triton that the PyPI build requires; may be a range such as `~=3.7.1`.
    pub triton: Option<String>,
    /// The NCCL that the PyPI build requires.
    pub nccl: Option<String>,
    /// The cuDNN that the PyPI build requires.
    pub cudnn: Option<String>,
    /// The Pythons that it declares: `>=3.9`.
    pub requires_python: Option<String>,
    /// The Pythons (`3.12`, `3.13t`) for which wheels exist on PyPI.
    pub pythons: Option<Vec<String>>,
    /// The glibc that its wheels need.
    pub glibc_min: Option<String>,
    /// Whether the PyPI build uses the new C++ ABI.
    pub cxx11_abi: Option<bool>,
    /// False where builds besides those listed may exist.
    pub builds_complete: bool,
    /// Its CUDA builds.
    pub builds: Vec<Build>,
    /// What else is to know.
    pub note: Option<String>,
    /// Where this was read.
    pub source: String,
    /// When.
    #[serde(default)]
    pub checked: String,
}

/// One CUDA build of a release.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// `cu121`.
    pub build: String,
    /// `12.1`.
    pub cuda: Option<String>,
    /// The compute capabilities that it has machine code for; `None` where nobody looked.
    pub architectures: Option<Vec<String>>,
    /// The compute capabilities that it has PTX for; empty where it was looked for and is not there.
    pub ptx: Option<Vec<String>>,
    /// The NCCL that it requires or carries.
    pub nccl: Option<String>,
    /// The cuDNN that it requires or carries.
    pub cudnn: Option<String>,
    /// Whether it uses the new C++ ABI.
    pub cxx11_abi: Option<bool>,
    /// True where the release matrix names it; false where it was only seen on the wheel index.
    pub in_release_matrix: Option<bool>,
    /// Where this was read, where not in the sources of the release.
    pub source: Option<String>,
}

file::rows!(Release);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    checked: String,
    sources: Sources,
    rows: Vec<Release>,
}

impl Release {
    /// The build with this name (`cu121`); `None` where the release has none, or where it is not known
    /// (see `builds_complete`).
    pub fn build(&self, name: &str) -> Option<&Build> {
        self.builds.iter().find(|build| build.build == name)
    }
}

/// All releases, oldest first.
pub fn all() -> &'static [Release] {
    static ROWS: OnceLock<Vec<Release>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let mut file: File = file::parse("torch.yaml", include_str!("../../catalog/torch.yaml"));
        file::complete(&mut file.rows, &file.checked, &file.sources);
        for source in
            file.rows.iter_mut().flat_map(|row| &mut row.builds).filter_map(|build| build.source.as_mut())
        {
            *source = file::in_full(source, &file.sources);
        }
        file.rows
    })
}

/// The release with this version, without a local part (`2.5.1`, not `2.5.1+cu124`).
pub fn release(version: &str) -> Option<&'static Release> {
    all().iter().find(|row| row.version == version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds() {
        let torch = release("2.5.1").unwrap();
        assert_eq!(torch.pypi_build.as_deref(), Some("cu124"));
        let build = torch.build("cu121").unwrap();
        assert_eq!(build.nccl.as_deref(), Some("2.21.5"));
        assert!(build.source.as_ref().unwrap().contains("replicate/cog:"), "keys are written out");
        assert!(build.architectures.as_ref().unwrap().contains(&"9.0".to_owned()));
        assert_eq!(build.ptx, None, "nobody looked");
        assert_eq!(torch.build("cu124").unwrap().ptx.as_deref(), Some(&[][..]), "looked for, not there");
    }

    #[test]
    fn what_does_not_exist() {
        let torch = release("2.6.0").unwrap();
        assert!(torch.builds_complete && torch.build("cu121").is_none());
        assert!(torch.build("cu126").is_some());
        assert!(!release("2.15.0").unwrap().builds_complete);
        assert!(release("2.5.2").is_none());
        assert!(release("2.5.1+cu124").is_none());
    }

    #[test]
    fn pairs() {
        let torch = release("2.4.0").unwrap();
        assert_eq!(
            (torch.torchvision.as_deref(), torch.torchaudio.as_deref()),
            (Some("0.19.0"), Some("2.4.0"))
        );
        assert_eq!(release("2.7.0").unwrap().glibc_min.as_deref(), Some("2.28"));
        assert_eq!(release("1.13.1").unwrap().nccl, None);
    }
}
