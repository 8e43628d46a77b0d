//! What the catalog does not have, as an indirect question: `whether …`, `which …`.

use super::Names;
use super::refusal::{kernels_for, sm};
use crate::verdict::Gap;

impl Gap {
    pub(crate) fn question(&self, names: &Names) -> String {
        self.of_build(names)
            .or_else(|| self.of_base(names))
            .or_else(|| self.of_package(names))
            .unwrap_or_else(|| format!("{self:?}"))
    }

    fn of_build(&self, names: &Names) -> Option<String> {
        let (build, cuda, major) = (&names.build.text, &names.cuda.text, names.cuda_major);
        let python = &names.python;
        Some(match self {
            Gap::GpuOnDriver { driver, gpu, branch } => {
                format!(
                    "whether driver {driver} supports the {gpu} (NVIDIA's open kernel module: from branch \
                        {branch})"
                )
            }
            Gap::DriverOfCuda => format!("which driver CUDA {major} needs"),
            Gap::DriverOfNode { driver, gpu } => {
                format!("whether driver {driver} on the node with the {gpu} is as new as CUDA {cuda}")
            }
            Gap::ForwardDrivers { needs, driver } => format!(
                "whether the cuda-compat package of CUDA {cuda} supports driver {driver} (without it CUDA \
                    {cuda} needs \
                 driver {needs})"
            ),
            Gap::ForwardGpu { needs, driver, gpu } => format!(
                "whether the {gpu} is a data-centre GPU with forward compatibility (without it CUDA {cuda} \
                    needs driver \
                 {needs}, not {driver})"
            ),
            Gap::Kernels => format!("which GPUs {build} has kernels for"),
            Gap::KernelsOfGpu { gpu, capability } => {
                format!("whether {build} has {}", kernels_for(gpu, *capability))
            }
            Gap::Partner { partner } => format!("which {partner} {build} needs"),
            Gap::PythonsOfTorch => format!("which Python versions {build} has wheels for"),
            Gap::PartnerWheel { partner, version } => format!(
                "whether the index of {build} has a wheel of {partner} {version} for Python {python} (PyPI \
                    has none)"
            ),
            Gap::TorchArchitecture { architecture } => {
                format!("whether {build} has a wheel for {architecture}")
            }
            _ => return None,
        })
    }

    fn of_base(&self, names: &Names) -> Option<String> {
        let (base, python) = (&names.base.text, &names.python);
        Some(match self {
            Gap::BaseArchitecture { architecture } => format!("whether {base} exists for {architecture}"),
            Gap::TorchOfImage => format!("which torch {base} contains"),
            Gap::CudaOfImageTorch => format!("which CUDA version the torch in {base} was built for"),
            Gap::Nvcc => "whether the machine has nvcc".to_owned(),
            Gap::Toolkit => format!("which CUDA toolkit {base} has"),
            Gap::ToolkitsOfGpu { capability } => {
                format!("which CUDA toolkits compile for {}", sm(*capability))
            }
            Gap::Compiler => format!("which compiler {base} has"),
            Gap::Gcc { system } => format!("which gcc {system} has"),
            Gap::GccOfNvcc { nvcc } => format!("which gcc versions nvcc of CUDA {nvcc} supports"),
            Gap::GlibcOfTorch => format!("which glibc {} needs", names.build.text),
            Gap::GlibcOfBase => format!("which glibc {base} has"),
            Gap::GlibcOfSystem { system } => format!("which glibc {system} has"),
            Gap::PythonOfImage => format!("which Python {base} contains torch for"),
            Gap::PythonOfBase => format!("whether {base} has Python {python}"),
            Gap::PythonSource { system } => format!("where Python {python} for {system} comes from"),
            Gap::DriverOfImage { driver } => format!("whether driver {driver} is new enough for {base}"),
            Gap::CudaOfDriver { driver } => {
                format!("which CUDA version driver {driver} supports ({base} requires one)")
            }
            Gap::DriversOfImage { cuda } => {
                format!("whether {base} starts on drivers older than CUDA {cuda}")
            }
            Gap::BrandsOfImage { driver, driver_cuda, requires } => format!(
                "whether NVIDIA's container toolkit starts {base} on driver {driver} (CUDA {driver_cuda}): \
                    the image \
                 requires CUDA {requires}, or certain GPU brands on this driver branch, data-centre GPUs \
                 among them"
            ),
            _ => return None,
        })
    }

    fn of_package(&self, names: &Names) -> Option<String> {
        let (build, release) = (&names.build.text, &names.release.text);
        Some(match self {
            Gap::TritonNotRequired => {
                format!(
                    "whether {release} works with {build}, which requires no triton on Python {}",
                    names.python
                )
            }
            Gap::GlibcOfPackage => format!("which glibc the wheel of {release} for {build} needs"),
            Gap::FlashAttnWheels => format!("the wheel list of {release}"),
            Gap::FlashAttnAbi => format!("which C++ ABI {build} has, which decides the wheel of {release}"),
            Gap::FlashAttnNightly { series } => format!(
                "whether the wheel of {release} for torch {series}, built with a nightly build of torch, \
                    loads with \
                 the release"
            ),
            Gap::PackageArchitecture { architecture } => {
                format!("whether {release} has a wheel for {architecture}")
            }
            Gap::CompilesWithTorch => format!("whether {release} compiles with {build}"),
            Gap::NvccDifference => format!("which nvcc versions {release} accepts next to torch's CUDA"),
            _ => return None,
        })
    }
}
