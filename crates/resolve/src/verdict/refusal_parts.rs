//! What a refusal is about.

use super::refusal::{BaseRefusal, BuildRefusal, Forward, PackageRefusal, Party, PythonRefusal, Refusal};

impl Refusal {
    /// Whether the candidate only differs from what the request names.
    pub(crate) fn is_request(&self) -> bool {
        matches!(
            self,
            Refusal::Build(BuildRefusal::TorchRequested { .. })
                | Refusal::Build(BuildRefusal::CudaRequested { .. })
                | Refusal::Build(BuildRefusal::CudaRequestedOfCpuBuild { .. })
                | Refusal::Build(BuildRefusal::CpuRequested)
                | Refusal::Python(PythonRefusal::PythonRequested { .. })
                | Refusal::Base(BaseRefusal::SystemRequested { .. })
                | Refusal::Base(BaseRefusal::BaseRequested)
                | Refusal::Base(BaseRefusal::BaseCudaRequested { .. })
                | Refusal::Package(PackageRefusal::PackageRequested { .. })
        )
    }

    /// Whether it only says that nothing speaks for the candidate: it may hold.
    pub(crate) fn is_not_known(&self) -> bool {
        matches!(self, Refusal::Package(PackageRefusal::NotKnownWithoutCuda))
    }

    /// Without the details in which candidates that are refused alike differ.
    #[must_use]
    pub(crate) fn without_details(&self) -> Refusal {
        let mut general = self.clone();
        match &mut general {
            Refusal::Build(BuildRefusal::NoKernels { has, .. }) => has.clear(),
            Refusal::Python(PythonRefusal::NoTorchWheel { has }) => has.clear(),
            Refusal::Build(BuildRefusal::DriverTooOld { forward: Forward::Branches(branches), .. }) => {
                branches.clear()
            }
            _ => {}
        }
        general
    }

    /// The parts of a stack other than the judged package that it is about, by name.
    pub(crate) fn other_parts(&self) -> Vec<&str> {
        let name = |party: &Party| match party {
            Party::Package { name, .. } => Some(*name),
            Party::Torch => Some("torch"),
            Party::Candidate | Party::Cuda => None,
        };
        match self {
            Refusal::Package(PackageRefusal::Incompatible { package, with, .. }) => {
                [package, with].into_iter().filter_map(name).collect()
            }
            Refusal::Package(PackageRefusal::Requires { by, package, .. }) => {
                name(by).into_iter().chain([*package]).collect()
            }
            Refusal::Package(PackageRefusal::TritonRequired { .. })
            | Refusal::Package(PackageRefusal::NoFlashAttnWheel { .. })
            | Refusal::Package(PackageRefusal::OtherCuda { .. })
            | Refusal::Package(PackageRefusal::NeedsCuda)
            | Refusal::Package(PackageRefusal::NotKnownWithoutCuda)
            | Refusal::Package(PackageRefusal::NoWheelAndOlderThanTorch { .. })
            | Refusal::Package(PackageRefusal::NvccDiffers { .. }) => vec!["torch"],
            _ => Vec::new(),
        }
    }
}
