//! PyTorch releases and their CUDA builds (Linux; x86_64 where nothing else is said).

use serde::Deserialize;

use super::file::{self, Contents, SharedSources};
use crate::Sources;
pub use crate::cuda_build::{CudaBuild, build_of_index, is_cuda_build};

/// A PyTorch release with its CUDA builds.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// `2.5.1`.
    pub version: String,
    pub released: Option<String>,
    /// The build that `pip install torch` gives: `cu124`.
    pub pypi_build: Option<String>,
    /// That build's CUDA: `12.4`.
    pub pypi_cuda: Option<String>,
    /// The torchvision of the same release.
    pub torchvision: Option<String>,
    /// The torchaudio of the same release.
    pub torchaudio: Option<String>,
    /// Pythons of `pythons` for which PyPI has no wheel of that torchvision.
    #[serde(default)]
    pub torchvision_lacks: Vec<String>,
    /// What that torchvision declares (`Requires-Python`), where it leaves out patch releases:
    /// `!=3.14.1,>=3.10`.
    pub torchvision_python: Option<String>,
    /// Pythons of `pythons` for which PyPI has no wheel of that torchaudio.
    #[serde(default)]
    pub torchaudio_lacks: Vec<String>,
    /// The triton that the PyPI build requires; may be a range such as `~=3.7.1`.
    pub triton: Option<String>,
    /// The Python from which on it no longer requires triton (`3.12`): there `torch.compile` has none.
    /// `None`: on every Python.
    pub triton_python_below: Option<String>,
    /// What it requires of setuptools; `None`: any version.
    pub setuptools: Option<String>,
    /// The NCCL that the PyPI build requires.
    pub nccl: Option<String>,
    /// The cuDNN that the PyPI build requires.
    pub cudnn: Option<String>,
    /// The Pythons that it declares: `>=3.9`.
    pub requires_python: Option<String>,
    /// The Pythons (`3.12`, `3.13t`) for which wheels exist on PyPI.
    pub pythons: Option<Vec<String>>,
    /// The Pythons for which the release matrix has every CUDA build; `None`: the same as `pythons`.
    matrix_pythons: Option<Vec<String>>,
    /// The Pythons for which PyPI has wheels for Linux on aarch64.
    pub aarch64_pythons: Option<Vec<String>>,
    /// What those aarch64 wheels are: `cpu`, or a CUDA build such as `cu130`.
    pub aarch64_build: Option<String>,
    /// The glibc that its wheels need.
    pub glibc_min: Option<String>,
    /// The glibc that the aarch64 wheels need, where it is another.
    pub aarch64_glibc_min: Option<String>,
    /// Whether the PyPI build uses the new C++ ABI.
    pub cxx11_abi: Option<bool>,
    /// False where builds besides those listed may exist.
    pub builds_complete: bool,
    /// Its CUDA builds.
    pub builds: Vec<Build>,
    /// Its build without CUDA, which the wheel index has next to the CUDA builds; `None`: of a torch that is
    /// no release.
    #[serde(skip)]
    pub cpu: Option<Build>,
    pub note: Option<String>,
    /// The CUDA builds for which its torchaudio was made, where that is the last one and older than torch.
    #[serde(skip)]
    torchaudio_builds: Option<Vec<String>>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

/// One CUDA build of a release.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// `cu121`.
    pub build: String,
    /// `12.1`.
    pub cuda: Option<String>,
    /// The Pythons for which this build is known to exist; `None` where that is not known.
    pub pythons: Option<Vec<String>>,
    /// The nvidia-cuda-runtime that it requires.
    pub cuda_runtime: Option<String>,
    /// The triton that it requires, where another than the build on PyPI.
    pub triton: Option<String>,
    /// The glibc that it needs, where another than the release.
    pub glibc_min: Option<String>,
    /// True where the release matrix has this build for aarch64 too; `None` where it is not known.
    pub aarch64: Option<bool>,
    /// The compute capabilities that its aarch64 wheels have machine code for.
    pub aarch64_architectures: Option<Vec<String>>,
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
    pub source: Option<Sources>,
}

impl Build {
    /// The compute capabilities that its wheels for a processor have machine code for; `None`: not known.
    pub fn architectures_for(&self, processor: &str) -> Option<&Vec<String>> {
        match processor {
            "x86_64" => self.architectures.as_ref(),
            _ => self.aarch64_architectures.as_ref(),
        }
    }
}

file::rows!(Release);

/// `catalog/torch.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Torch {
    checked: String,
    index: String,
    cpu_build: String,
    index_source: String,
    sources: SharedSources,
    rows: Vec<Release>,
}

impl Release {
    /// A torch that is no release, as an image brings it.
    pub fn of_image(version: String, build: Build, source: &Sources) -> Release {
        Release {
            version,
            builds_complete: true,
            builds: vec![build],
            source: source.clone(),
            ..Release::default()
        }
    }

    /// The build with this name (`cu121`); `None` where the release has none, or where it is not known
    /// (see `builds_complete`).
    pub fn build(&self, name: &str) -> Option<&Build> {
        self.builds.iter().find(|build| build.build == name)
    }

    /// The torchaudio that goes with one of its builds.
    ///
    /// torchaudio ended with 2.11.0, which later releases of torch use. It was built for the CUDA builds of
    /// torch 2.11.0, and refuses to be imported with a torch of another CUDA, even of the same major
    /// (measured: PyPI's, of CUDA 13.0, with torch 2.15.0+cu132; see
    /// docs/measurements/resolve-installs.md).
    pub fn torchaudio_of(&self, build: &str) -> Option<&String> {
        let built = |builds: &Vec<String>| builds.iter().any(|name| name == build);
        self.torchaudio.as_ref().filter(|_| self.torchaudio_builds.as_ref().is_none_or(built))
    }
}

impl Contents for Torch {
    const NAME: &str = "torch.yaml";
    const TEXT: &str = file::text!("torch.yaml");
}

file::sourced!(Torch, [rows], then derive_builds);

impl Torch {
    /// What builds have from their release.
    fn derive_builds(&mut self) {
        for release in &mut self.rows {
            complete_builds(release, &self.sources);
            release.cpu = Some(cpu_build(release, &self.cpu_build));
        }
        self.complete_torchaudio();
    }
}

/// Writes out what the builds of a release share.
fn complete_builds(release: &mut Release, sources: &SharedSources) {
    let matrix = release.matrix_pythons.as_ref().or(release.pythons.as_ref());
    for build in &mut release.builds {
        if let Some(source) = &mut build.source {
            *source = source.in_full(|key| sources.get(key).map(String::as_str));
        }
        if release.pypi_build.as_ref() == Some(&build.build) {
            build.pythons.clone_from(&release.pythons);
        } else if build.pythons.is_none() && build.in_release_matrix == Some(true) {
            build.pythons = matrix.cloned();
        }
    }
}

/// The build without CUDA. The release matrix has it for each Python that it has CUDA builds for; of a
/// release whose matrix was not read, the Pythons are not known.
fn cpu_build(release: &Release, name: &str) -> Build {
    let in_matrix = release.builds.iter().any(|build| build.in_release_matrix == Some(true));
    let pythons = release.matrix_pythons.as_ref().or(release.pythons.as_ref()).filter(|_| in_matrix);
    Build { build: name.to_owned(), pythons: pythons.cloned(), ..Build::default() }
}

impl Torch {
    /// See [`Release::torchaudio_of`].
    fn complete_torchaudio(&mut self) {
        let Some(ended) = self.last_torchaudio().map(str::to_owned) else { return };
        let last = self.release(&ended);
        let builds: Vec<String> =
            last.into_iter().flat_map(|row| &row.builds).map(|build| build.build.clone()).collect();
        for row in self.rows.iter_mut().filter(|row| row.version != ended) {
            if row.torchaudio.as_ref() == Some(&ended) {
                row.torchaudio_builds = Some(builds.clone());
            }
        }
    }

    /// The last torchaudio there was: that of the newest torch, where an earlier torch has it too.
    pub fn last_torchaudio(&self) -> Option<&str> {
        let (newest, earlier) = self.rows.split_last()?;
        let last = newest.torchaudio.as_ref()?;
        earlier.iter().any(|row| row.torchaudio.as_ref() == Some(last)).then_some(last)
    }

    /// All releases, oldest first.
    pub fn all(&self) -> &[Release] {
        &self.rows
    }

    /// The index that has the wheels of a build: `https://download.pytorch.org/whl/cu121`.
    pub fn index_url(&self, build: &Build) -> String {
        self.index.replace("{build}", &build.build)
    }

    /// The index that has the wheels without CUDA.
    pub fn cpu_index_url(&self) -> String {
        self.index.replace("{build}", &self.cpu_build)
    }

    /// The name of the builds without CUDA: `cpu`.
    pub fn cpu_build(&self) -> &str {
        &self.cpu_build
    }

    /// Where the addresses of the indexes were read.
    pub fn index_source(&self) -> &str {
        &self.index_source
    }

    /// The release with this version, without a local part (`2.5.1`, not `2.5.1+cu124`).
    pub fn release(&self, version: &str) -> Option<&Release> {
        self.all().iter().find(|row| row.version == version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> &'static Torch {
        crate::testing::catalog().torch()
    }

    #[test]
    fn reports_properties_of_torch_builds() {
        let torch = table().release("2.5.1").unwrap();
        assert_eq!(torch.pypi_build.as_deref(), Some("cu124"));
        let build = torch.build("cu121").unwrap();
        assert_eq!(build.nccl.as_deref(), Some("2.21.5"));
        assert!(
            build.source.as_ref().unwrap().to_string().contains("replicate/cog:"),
            "keys are written out"
        );
        assert!(build.architectures.as_ref().unwrap().contains(&"9.0".to_owned()));
        let newer = table().release("2.12.0").unwrap().build("cu132").unwrap();
        assert_eq!(newer.ptx, None, "nobody looked");
        assert_eq!(torch.build("cu124").unwrap().ptx.as_deref(), Some(&[][..]), "looked for, not there");
    }

    #[test]
    fn missing_builds_and_releases_are_not_found() {
        let torch = table().release("2.6.0").unwrap();
        assert!(torch.builds_complete && torch.build("cu121").is_none());
        assert!(torch.build("cu126").is_some());
        assert!(!table().release("2.15.0").unwrap().builds_complete);
        assert!(table().release("2.5.2").is_none());
        assert!(table().release("2.5.1+cu124").is_none());
    }

    #[test]
    fn reports_matching_torchvision_and_torchaudio() {
        let torch = table().release("2.4.0").unwrap();
        assert_eq!(
            (torch.torchvision.as_deref(), torch.torchaudio.as_deref()),
            (Some("0.19.0"), Some("2.4.0"))
        );
        assert_eq!(table().release("2.7.0").unwrap().glibc_min.as_deref(), Some("2.28"));
        assert_eq!(table().release("1.13.1").unwrap().nccl, None);
        // Wheels of torch for a Python that its partners were not built for.
        assert_eq!(table().release("2.5.1").unwrap().torchvision_lacks, ["3.13"]);
        assert_eq!(table().release("2.15.0").unwrap().torchaudio_lacks, ["3.15", "3.15t"]);
        let torchaudio =
            |version, build| table().release(version).unwrap().torchaudio_of(build).map(String::as_str);
        assert_eq!(torchaudio("2.15.0", "cu132"), None, "its last release has no build for CUDA 13.2");
        assert_eq!(torchaudio("2.14.1", "cu132"), None);
        assert_eq!(torchaudio("2.14.1", "cu130"), Some("2.11.0"));
        assert_eq!(torchaudio("2.14.1", "cu126"), Some("2.11.0"));
        assert_eq!(torchaudio("2.0.1", "cu118"), Some("2.0.2"));
        assert!(
            table().release("2.15.0").unwrap().torchvision_lacks.is_empty(),
            "one wheel for every Python"
        );
    }

    #[test]
    fn pythons_of_builds() {
        let pythons = |version: &str, build: &str| table().release(version)?.build(build)?.pythons.clone();
        assert_eq!(pythons("2.5.1", "cu124").unwrap().last().unwrap(), "3.13", "PyPI has it");
        assert_eq!(pythons("2.5.1", "cu121").unwrap().last().unwrap(), "3.12", "the matrix does not");
        assert_eq!(pythons("2.7.0", "cu118"), table().release("2.7.0").unwrap().pythons);
        assert_eq!(pythons("2.9.1", "cu129").unwrap(), ["3.10", "3.11", "3.12", "3.13", "3.14"]);
        assert_eq!(pythons("2.13.0", "cu129"), None, "seen, but not for which Python");
        assert_eq!(table().release("2.3.1").unwrap().triton_python_below.as_deref(), Some("3.12"));
    }

    #[test]
    fn pythons_of_cpu_builds_are_those_of_the_release_matrix() {
        let pythons = |version: &str| table().release(version)?.cpu.as_ref()?.pythons.clone();
        assert_eq!(pythons("2.5.1").unwrap().last().unwrap(), "3.12");
        assert_eq!(pythons("2.14.1"), table().release("2.14.1").unwrap().pythons);
        assert_eq!(pythons("2.15.0"), None, "its matrix was not read");
        assert!(table().all().iter().all(|row| row.cpu.as_ref().unwrap().build == table().cpu_build()));
        assert!(table().all().iter().all(|row| row.build(table().cpu_build()).is_none()));
    }

    #[test]
    fn reports_aarch64_builds_and_index_urls() {
        let torch = table().release("2.10.0").unwrap();
        assert_eq!(torch.aarch64_build.as_deref(), Some("cpu"));
        assert_eq!(torch.build("cu130").unwrap().aarch64, Some(true));
        assert_eq!(torch.build("cu129").unwrap().aarch64, None);
        let torch = table().release("2.11.0").unwrap();
        assert_eq!(torch.aarch64_build.as_deref(), Some("cu130"));
        let thor = torch.build("cu130").unwrap().aarch64_architectures.as_ref().unwrap();
        assert!(thor.contains(&"11.0".to_owned()));
        assert_eq!(
            table().index_url(torch.build("cu126").unwrap()),
            "https://download.pytorch.org/whl/cu126"
        );
        assert_eq!(table().cpu_index_url(), "https://download.pytorch.org/whl/cpu");
        assert!(table().index_source().contains('@'));
        let torch = table().release("2.6.0").unwrap();
        assert_eq!(torch.glibc_min.as_deref(), Some("2.17"));
        assert_eq!(torch.build("cu126").unwrap().glibc_min.as_deref(), Some("2.28"));
        assert_eq!(torch.aarch64_glibc_min.as_deref(), Some("2.28"));
    }
}
