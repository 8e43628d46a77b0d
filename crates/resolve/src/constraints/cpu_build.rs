//! What needs an NVIDIA GPU is not asked of a CPU build.

use crate::constraint::{Constraint, Judge};
use crate::criteria::Criteria;
use crate::universe::Build;
use crate::verdict::{BuildRefusal, Judgement, Refusal};

pub(super) const CONSTRAINT: Constraint = Constraint {
    id: "cpu-build-without-gpu",
    description: "A CPU build of torch contains no CUDA: it uses no GPU and no NVIDIA driver, and CUDA code \
        cannot be compiled against it.",
    sources: &["torch/version.py of CPU builds, in which cuda is None", "see the catalog's torch rows"],
    judge: Judge::Build(judge),
};

fn judge(criteria: &Criteria, build: &Build) -> Judgement {
    if !build.is_cpu() {
        return Judgement::Holds;
    }
    let fails = |refusal| Judgement::Fails(Refusal::Build(refusal));
    if let Some(gpu) = criteria.gpus.first() {
        return fails(BuildRefusal::GpuOfCpuBuild { gpu: gpu.name.clone() });
    }
    if let Some(driver) = criteria.drivers.first() {
        return fails(BuildRefusal::DriverOfCpuBuild { driver: *driver });
    }
    if criteria.compile {
        return fails(BuildRefusal::CompileOfCpuBuild);
    }
    Judgement::Holds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::testing::{build, card, compile, driver, judged, python_requirement};

    #[test]
    fn gpus_drivers_and_nvcc_need_a_cuda_build() {
        for requirement in [card("h100"), driver("580.95.05"), compile()] {
            let of_build =
                |name| judged(&CONSTRAINT, std::slice::from_ref(&requirement), build("2.10.0", name));
            assert!(matches!(of_build("cpu"), Judgement::Fails(Refusal::Build(_))), "{requirement:?}");
            assert_eq!(of_build("cu130"), Judgement::Holds, "{requirement:?}");
        }
        let other = [python_requirement("3.12")];
        assert_eq!(judged(&CONSTRAINT, &other, build("2.10.0", "cpu")), Judgement::Holds);
    }
}
