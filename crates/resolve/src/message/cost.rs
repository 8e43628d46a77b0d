//! What a candidate costs.

use super::{Clause, Names};
use crate::verdict::Cost;

impl Cost {
    pub(super) fn clause(&self, names: &Names) -> Clause {
        let base = &names.base.text;
        let text = match self {
            Cost::ForwardCompatibility { driver } => format!(
                "driver {driver} is older than CUDA {}: forward compatibility needs the package \
                    cuda-compat-{}, with its \
                 libcuda before the driver's own",
                names.cuda_major,
                names.cuda.text.replace('.', "-")
            ),
            Cost::BaseCudaMinor { has, nvcc } => {
                let (torch, cuda) = (&names.build, &names.cuda.text);
                let was = torch.verb(("was", "were"));
                let effect = match nvcc {
                    true => "nvcc in the image compiles for another CUDA minor version than torch's",
                    false => "the image has the libraries of two CUDA minor versions, its own and torch's",
                };
                format!("{base} has CUDA {has}, but {} {was} built for CUDA {cuda}: {effect}", torch.text)
            }
            Cost::BaseCudaUnused { has } => {
                format!("{base} has CUDA {has}, which {} does not use", names.build.text)
            }
            Cost::NoNvcc => format!(
                "{base} has no nvcc: DeepSpeed cannot compile its operators (fused optimizers, offloading) \
                    at first use"
            ),
            Cost::Compilation(refusal) => return refusal.clause(names),
            Cost::DriverOfImage { needs, driver } => format!(
                "NVIDIA documents driver {needs} or newer for {base}, and {driver} is older; on data-centre \
                    GPUs its \
                 release notes allow some older branches"
            ),
            Cost::RequireCuda { driver, driver_cuda, requires } => format!(
                "driver {driver} supports CUDA {driver_cuda} and {base} requires CUDA {requires} \
                    (NVIDIA_REQUIRE_CUDA): \
                 in legacy mode NVIDIA's container toolkit starts it only with NVIDIA_DISABLE_REQUIRE=true"
            ),
        };
        Clause::whole(text)
    }
}
