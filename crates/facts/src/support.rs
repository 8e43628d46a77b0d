//! What the driver and the GPUs can run: facts of the machine held against the catalog. Derived, not judged.

use super::driver::DriverVersion;
use super::libraries::Library;
use super::python::{PythonEnvironment, Torch};
use super::toolkit::Toolkit;
use super::{Fact, Facts, cuda};
use catalog::driver_support::{DriverSupport, ForwardSupport};
use catalog::torch::{Build, Release};
use catalog::version::{self, Version, at_least};
use catalog::{Catalog, release};

/// How far a driver supports a CUDA version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CudaSupport {
    /// The driver is as new as that CUDA.
    Full,
    /// By minor-version compatibility: compiled code runs, PTX of the newer version does not.
    MinorVersion,
    /// Through a newer libcuda of a cuda-compat package, which the loader finds.
    Forward(String),
    /// Not at all; the oldest driver that would do.
    No(String),
}

impl Facts {
    /// The driver's version: of the loaded module, else (WSL, where it is not in this kernel) what
    /// `nvidia-smi` says.
    pub fn driver_version(&self) -> Fact<DriverVersion> {
        self.driver.module.as_ref().map(|module| module.version).or_look(|| self.gpu.driver.clone())
    }

    /// Whether programs made with a CUDA version (`12.4`, `12.4.1`) run here. Absent without a driver.
    pub fn cuda_support(&self, wanted: &str) -> Fact<CudaSupport> {
        let Some((minor, numbers)) =
            cuda::minor(wanted).and_then(|minor| Some((minor, version::minor(minor)?)))
        else {
            return Fact::unknown(format!("{wanted:?} is not a CUDA version"));
        };
        self.driver_version().and_then(|driver| {
            let reported = self.gpu.cuda.known();
            if reported.is_some_and(|cuda| at_least(cuda, minor) == Some(true)) {
                return Fact::Known(CudaSupport::Full);
            }
            match self.catalog.driver_support(&driver.to_string(), driver.branch, numbers) {
                DriverSupport::Full => Fact::Known(CudaSupport::Full),
                // Where nothing tells how new a CUDA the driver brings, it may well be new enough.
                DriverSupport::MinorVersion { older: false } if reported.is_none() => Fact::unknown(format!(
                    "the CUDA version of driver {driver} is unknown: neither nvidia-smi nor the catalog \
                        has it"
                )),
                DriverSupport::MinorVersion { .. } => Fact::Known(CudaSupport::MinorVersion),
                DriverSupport::TooOld { needs } => self.forward(driver, minor, needs),
                DriverSupport::Unknown => {
                    Fact::unknown(format!("envdoc's catalog does not know which driver CUDA {minor} needs"))
                }
            }
        })
    }

    fn forward(&self, driver: DriverVersion, minor: &str, floor: &str) -> Fact<CudaSupport> {
        let no = Fact::Known(CudaSupport::No(floor.to_owned()));
        let libraries = match &self.libraries.compat {
            Fact::Known(libraries) => libraries,
            Fact::Absent => return no,
            Fact::Unknown(why) => return Fact::Unknown(why.clone()),
        };
        let mut newer = None;
        let mut unread = None;
        for library in libraries.iter().filter(|library| library.is_reachable()) {
            match self.compat_brings(library, driver, minor) {
                Fact::Known(true) => newer = newer.or(Some(library)),
                Fact::Unknown(why) => unread = unread.or(Some(why)),
                Fact::Known(false) | Fact::Absent => {}
            }
        }
        let Some(library) = newer else { return unread.map_or(no, Fact::Unknown) };
        let data_centre = self.data_centre_gpus();
        match self.catalog.forward_support(driver.branch, minor, data_centre.known().copied()) {
            ForwardSupport::Works => Fact::Known(CudaSupport::Forward(library.path.clone())),
            ForwardSupport::NotDataCentre | ForwardSupport::OtherBranches(_) => no,
            ForwardSupport::UnknownGpu => match data_centre {
                Fact::Unknown(why) => Fact::Unknown(why),
                _ => Fact::unknown("which GPUs the machine has"),
            },
            ForwardSupport::UnknownRelease => Fact::unknown(format!(
                "{} is used, and it is not known on which driver branches it works",
                library.path
            )),
        }
    }

    /// Whether a compat library is newer than the driver and for this CUDA version.
    fn compat_brings(&self, library: &Library, driver: DriverVersion, minor: &str) -> Fact<bool> {
        let version = library.version.known().and_then(|version| version.parse::<DriverVersion>().ok());
        let Some(version) = version else {
            return Fact::unknown(format!("the driver version of {} is not known", library.path));
        };
        if version <= driver {
            return Fact::Known(false);
        }
        let cuda = self.catalog.drivers().branch(version.branch).and_then(|branch| branch.cuda.as_deref());
        cuda.and_then(|cuda| at_least(cuda, minor)).map_or_else(
            || Fact::unknown(format!("envdoc's catalog does not know which CUDA {} is for", library.path)),
            Fact::Known,
        )
    }

    /// Whether every GPU is a data-centre card, the kind on which forward compatibility works.
    pub fn data_centre_gpus(&self) -> Fact<bool> {
        self.gpu.list.as_ref().and_then(|gpus| {
            let rows = gpus.iter().map(|gpu| (gpu, self.catalog.gpus().by_name(&gpu.name)));
            let mut all = true;
            for (gpu, row) in rows {
                match row {
                    Some(row) => all &= row.data_centre,
                    // GeForce cards are never among them.
                    None if gpu.name.contains("GeForce") => all = false,
                    None => return Fact::unknown(format!("envdoc's catalog does not know the {}", gpu.name)),
                }
            }
            Fact::Known(all)
        })
    }

    /// The compute capabilities of the GPUs here, each once.
    pub fn compute_capabilities(&self) -> Fact<Vec<(u32, u32)>> {
        self.gpu.list.as_ref().and_then(|gpus| {
            let mut all = Vec::new();
            for gpu in gpus {
                match &gpu.compute_capability {
                    Fact::Known(one) if !all.contains(one) => all.push(*one),
                    Fact::Known(_) => {}
                    Fact::Absent => return Fact::unknown(format!("compute capability of the {}", gpu.name)),
                    Fact::Unknown(why) => return Fact::Unknown(why.clone()),
                }
            }
            Fact::Known(all)
        })
    }

    /// Whether a build of torch has code for a compute capability.
    pub fn build_runs_on(&self, release: &Release, build: &Build, capability: (u32, u32)) -> Fact<bool> {
        match &self.system.architecture {
            Fact::Known(name) if name == "x86_64" => {}
            Fact::Known(_) => {
                return Fact::unknown("what builds of PyTorch for other processors than x86-64 contain");
            }
            Fact::Absent => {}
            Fact::Unknown(why) => return Fact::Unknown(why.clone().about("processor architecture")),
        }
        let Some(architectures) = &build.architectures else {
            return Fact::unknown(format!(
                "the GPU architectures in torch {}+{} are not known",
                release.version, build.build
            ));
        };
        // Where nobody looked for PTX in this build: its sibling on PyPI was made by the same script.
        let sibling = || release.pypi_build.as_deref().and_then(|name| release.build(name)?.ptx.as_deref());
        has_code(self.catalog, architectures, build.ptx.as_deref().or_else(sibling), capability)
    }

    /// A build of the same release that runs on this driver and these GPUs: the one with the newest CUDA.
    pub fn suitable_build<'a>(&self, release: &'a Release) -> Option<&'a Build> {
        let capabilities = self.compute_capabilities().known().cloned()?;
        let runs = |build: &&Build| {
            let cuda = build.cuda.as_deref().map(|cuda| self.cuda_support(cuda));
            let supported =
                matches!(cuda, Some(Fact::Known(ref support)) if !matches!(support, CudaSupport::No(_)));
            supported
                && build.in_release_matrix == Some(true)
                && capabilities
                    .iter()
                    .all(|&one| self.build_runs_on(release, build, one) == Fact::Known(true))
        };
        let number = |build: &&Build| build.cuda.as_deref().and_then(Version::parse);
        release.builds.iter().filter(runs).max_by_key(number)
    }
}

/// Machine code runs on the same major from its minor on; PTX on everything newer. Tegra chips are apart from
/// both.
pub fn has_code(
    catalog: &Catalog,
    architectures: &[String],
    ptx: Option<&[String]>,
    capability: (u32, u32),
) -> Fact<bool> {
    code_for(catalog, &capabilities(architectures), ptx.map(capabilities).as_deref(), capability)
}

/// Compute capabilities as numbers: `9.0`.
pub fn capabilities(texts: &[String]) -> Vec<(u32, u32)> {
    let parse = |text: &String| {
        let (major, minor) = text.split_once('.')?;
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    };
    texts.iter().filter_map(parse).collect()
}

/// The same as [`has_code`], of numbers.
pub fn code_for(
    catalog: &Catalog,
    compiled: &[(u32, u32)],
    ptx: Option<&[(u32, u32)]>,
    capability: (u32, u32),
) -> Fact<bool> {
    let is_tegra = |capability| catalog.cuda().is_tegra(capability);
    if compiled.contains(&capability) {
        return Fact::Known(true);
    }
    if is_tegra(capability) {
        return Fact::unknown("code for discrete GPUs need not run on Tegra");
    }
    let same_major = |one: &&(u32, u32)| one.0 == capability.0 && one.1 <= capability.1 && !is_tegra(**one);
    if compiled.iter().any(|one| same_major(&one)) {
        return Fact::Known(true);
    }
    match ptx {
        Some(ptx) => Fact::Known(ptx.iter().any(|one| *one <= capability)),
        // PTX is for the newest of the list, if there is any: it does not help an older GPU.
        None if compiled.iter().all(|one| *one > capability) => Fact::Known(false),
        None => Fact::unknown("whether this build of PyTorch carries PTX is not known"),
    }
}

impl Toolkit {
    /// Whether the toolkit is at least of this version; absent when it is not installed.
    pub fn at_least(&self, version: &str) -> Fact<bool> {
        self.version.as_ref().and_then(|text| match release::at_least(text, version) {
            Some(newer) => Fact::Known(newer),
            None => Fact::unknown(format!("could not compare toolkit version {text:?}")),
        })
    }
}

impl PythonEnvironment {
    /// The command that puts another build of the same torch in, with its companions that are installed here.
    pub fn reinstall(&self, catalog: &Catalog, torch: &Torch, build: &str) -> String {
        let mut packages = vec![format!("torch=={}+{build}", torch.version)];
        if let Some(release) = catalog.torch().release(&torch.version) {
            let partners =
                [("torchvision", release.torchvision.as_ref()), ("torchaudio", release.torchaudio_of(build))];
            for (name, version) in partners {
                if let (Fact::Known(_), Some(version)) = (self.package(name), version) {
                    packages.push(format!("{name}=={version}"));
                }
            }
        }
        format!(
            "{} --force-reinstall {} --index-url https://download.pytorch.org/whl/{build}",
            self.pip("install"),
            packages.join(" ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::libraries::FoundIn;
    use crate::testing::files::node;
    use catalog::testing;

    #[test]
    fn unknown_processor_leaves_open_whether_a_build_runs() {
        let mut facts = node("580.65.06", "NVIDIA H100 80GB HBM3 9.0", &[]);
        facts.system.architecture = Fact::Unknown("permission denied".into());
        let release = facts.catalog.torch().release("2.5.1").unwrap();
        let runs = facts.build_runs_on(release, &release.builds[0], (9, 0));
        assert_eq!(runs, Fact::unknown("processor architecture: permission denied"));
    }

    #[test]
    fn compat_library_of_unknown_version_leaves_support_unknown() {
        let mut facts = node("470.57.02", "NVIDIA A100-SXM4-80GB 8.0", &[]);
        let library = |version: Fact<String>| Library {
            path: "/opt/compat/libcuda.so".into(),
            version,
            found_in: FoundIn::LdLibraryPath,
            directory: "/opt/compat".into(),
        };
        let of = |facts: &mut Facts, libraries: Vec<Library>| {
            facts.libraries.compat = Fact::Known(libraries);
            facts.cuda_support("12.4")
        };
        let version = |text: &str| library(Fact::Known(text.into()));
        assert!(matches!(of(&mut facts, vec![]), Fact::Known(CudaSupport::No(_))));
        assert!(matches!(of(&mut facts, vec![version("450.51.06")]), Fact::Known(CudaSupport::No(_))));
        let unread = of(&mut facts, vec![library(Fact::Absent)]);
        assert_eq!(unread, Fact::unknown("the driver version of /opt/compat/libcuda.so is not known"));
        let why = "envdoc's catalog does not know which CUDA /opt/compat/libcuda.so is for";
        assert_eq!(of(&mut facts, vec![version("9999.10.01")]), Fact::unknown(why));
        let both = of(&mut facts, vec![library(Fact::Absent), version("550.54.15")]);
        assert_eq!(both, Fact::Known(CudaSupport::Forward("/opt/compat/libcuda.so".into())));
    }

    #[test]
    fn code_runs_on_its_own_major_and_ptx_on_newer_ones() {
        let list = |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
        let old = list("5.0 6.0 7.0 7.5 8.0 8.6 9.0");
        let cases = [
            ((8, 6), Some(vec![]), Fact::Known(true)),
            ((8, 9), Some(vec![]), Fact::Known(true)),
            ((6, 1), Some(vec![]), Fact::Known(true)),
            ((12, 0), Some(vec![]), Fact::Known(false)),
            ((10, 0), Some(list("9.0")), Fact::Known(true)),
            ((3, 7), None, Fact::Known(false)),
        ];
        for (capability, ptx, expected) in cases {
            assert_eq!(
                has_code(testing::catalog(), &old, ptx.as_deref(), capability),
                expected,
                "{capability:?}"
            );
        }
        assert!(matches!(has_code(testing::catalog(), &old, None, (12, 0)), Fact::Unknown(_)));
        assert!(matches!(has_code(testing::catalog(), &old, Some(&[]), (8, 7)), Fact::Unknown(_)));
        assert_eq!(has_code(testing::catalog(), &list("8.6"), Some(&[]), (8, 0)), Fact::Known(false));
        assert_eq!(has_code(testing::catalog(), &list("12.0"), Some(&[]), (12, 1)), Fact::Known(true));
    }
}
