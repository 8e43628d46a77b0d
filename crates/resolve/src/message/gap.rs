//! What the catalog does not have, as an indirect question: `whether …`, `which …`.

use super::Names;
use super::refusal::{kernels_for, sm};
use crate::verdict::{BaseGap, BuildGap, Gap, PackageGap};

impl Gap {
    pub(crate) fn question(&self, names: &Names) -> String {
        match self {
            Gap::Build(gap) => gap.question(names),
            Gap::Base(gap) => gap.question(names),
            Gap::Package(gap) => gap.question(names),
        }
    }
}

impl BuildGap {
    fn question(&self, names: &Names) -> String {
        let (build, cuda, major) = (&names.build.text, &names.cuda.text, names.cuda_major);
        let python = &names.python;
        match self {
            BuildGap::DriverOfCuda => format!("which driver CUDA {major} needs"),
            BuildGap::DriverOfNode { driver, gpu } => {
                format!("whether driver {driver} on the node with the {gpu} is as new as CUDA {cuda}")
            }
            BuildGap::ForwardDrivers { needs, driver } => format!(
                "whether the cuda-compat package of CUDA {cuda} supports driver {driver} (without it CUDA \
                    {cuda} needs \
                 driver {needs})"
            ),
            BuildGap::ForwardGpu { needs, driver, gpu } => format!(
                "whether the {gpu} is a data-centre GPU with forward compatibility (without it CUDA {cuda} \
                    needs driver \
                 {needs}, not {driver})"
            ),
            BuildGap::Kernels { lacking: None } => format!("which GPUs {build} has kernels for"),
            BuildGap::Kernels { lacking: Some(gpu) } => format!(
                "whether {build} has kernels for the {gpu}; no build for CUDA {cuda} whose GPUs are known has"
            ),
            BuildGap::KernelsOfGpu { gpu, capability } => {
                format!("whether {build} has {}", kernels_for(gpu, *capability))
            }
            BuildGap::Partner { partner } => format!("which {partner} {build} needs"),
            BuildGap::PythonsOfTorch => format!("which Python versions {build} has wheels for"),
            BuildGap::PartnerWheel { partner, version } => format!(
                "whether the index of {build} has a wheel of {partner} {version} for Python {python} (PyPI \
                    has none)"
            ),
            BuildGap::TorchArchitecture { architecture } => {
                format!("whether {build} has a wheel for {architecture}")
            }
        }
    }
}

impl BaseGap {
    fn question(&self, names: &Names) -> String {
        let (base, python) = (&names.base.text, &names.python);
        match self {
            BaseGap::BaseArchitecture { architecture } => format!("whether {base} exists for {architecture}"),
            BaseGap::TorchOfImage => format!("which torch {base} contains"),
            BaseGap::CudaOfImageTorch => format!("which CUDA version the torch in {base} was built for"),
            BaseGap::Nvcc => "whether the machine has nvcc".to_owned(),
            BaseGap::Toolkit => format!("which CUDA toolkit {base} has"),
            BaseGap::ToolkitsOfGpu { capability } => {
                format!("which CUDA toolkits compile for {}", sm(*capability))
            }
            BaseGap::Compiler => format!("which compiler {base} has"),
            BaseGap::Gcc { system } => format!("which gcc {system} has"),
            BaseGap::GccOfNvcc { nvcc } => format!("which gcc versions nvcc of CUDA {nvcc} supports"),
            BaseGap::GlibcOfTorch => format!("which glibc {} needs", names.build.text),
            BaseGap::GlibcOfBase => format!("which glibc {base} has"),
            BaseGap::GlibcOfSystem { system } => format!("which glibc {system} has"),
            BaseGap::PythonOfImage => format!("which Python {base} contains torch for"),
            BaseGap::PythonOfBase => format!("whether {base} has Python {python}"),
            BaseGap::PythonSource { system } => format!("where Python {python} for {system} comes from"),
            BaseGap::DriverOfImage { driver } => format!("whether driver {driver} is new enough for {base}"),
            BaseGap::CudaOfDriver { driver } => {
                format!("which CUDA version driver {driver} supports ({base} requires one)")
            }
            BaseGap::DriversOfImage { cuda } => {
                format!("whether {base} starts on drivers older than CUDA {cuda}")
            }
            BaseGap::BrandsOfImage { driver, driver_cuda, requires } => format!(
                "whether NVIDIA's container toolkit starts {base} on driver {driver} (CUDA {driver_cuda}): \
                    the image \
                 requires CUDA {requires}, or certain GPU brands on this driver branch, data-centre GPUs \
                 among them"
            ),
        }
    }
}

impl PackageGap {
    fn question(&self, names: &Names) -> String {
        let (build, release) = (&names.build.text, &names.release.text);
        match self {
            PackageGap::TritonNotRequired => {
                format!(
                    "whether {release} works with {build}, which requires no triton on Python {}",
                    names.python
                )
            }
            PackageGap::GlibcOfPackage => format!("which glibc the wheel of {release} for {build} needs"),
            PackageGap::WithoutCuda => format!("whether {release} works with a CPU build of torch"),
            PackageGap::CudaOfPackage => format!("which CUDA version {release} was compiled for"),
            PackageGap::FlashAttnWheels => format!("the wheel list of {release}"),
            PackageGap::FlashAttnAbi => {
                format!("which C++ ABI {build} has, which decides the wheel of {release}")
            }
            PackageGap::FlashAttnNightly { series } => format!(
                "whether the wheel of {release} for torch {series}, built with a nightly build of torch, \
                 loads with the release"
            ),
            PackageGap::PackageArchitecture { architecture } => {
                format!("whether {release} has a wheel for {architecture}")
            }
            PackageGap::CompilesWithTorch => format!("whether {release} compiles with {build}"),
            PackageGap::RequirementBuilds { lacking } => {
                format!(
                    "whether {lacking}, which {release} requires and which has no wheel, builds from source"
                )
            }
            PackageGap::NvccDifference => {
                format!("which nvcc versions {release} accepts next to torch's CUDA")
            }
        }
    }
}
