//! The image's nvcc compiles for every GPU.

use crate::constraint::{Constraint, Judge};
use crate::criteria::Criteria;
use crate::request::Gpu;
use crate::universe::{Base, Build};
use crate::verdict::{BaseGap, CompilerRefusal, Cost, Gap, Judgement, Refusal};
use catalog::version::minor;

pub(super) const CONSTRAINT: Constraint = Constraint {
    id: "base-gpu-compilable",
    description: "Where CUDA code is compiled, the nvcc of the base image knows the architecture of every \
        GPU: each toolkit has a first and a last architecture.",
    sources: &[
        "https://docs.nvidia.com/datacenter/tesla/drivers/cuda-toolkit-driver-and-architecture-matrix.html",
        "spack/spack-packages:repos/spack_repo/builtin/build_systems/cuda.py",
    ],
    judge: Judge::Base(judge),
};

fn judge(criteria: &Criteria, _build: &Build, base: &Base) -> Judgement {
    if !criteria.uses_nvcc() || base.has_nvcc() != Some(true) {
        return Judgement::Holds;
    }
    let Some(nvcc) = base.cuda_text() else {
        return Judgement::Unknown(Gap::Base(BaseGap::Toolkit));
    };
    let all =
        criteria.gpus.iter().map(|gpu| compiles(criteria, nvcc, gpu)).fold(Judgement::Holds, Judgement::and);
    match all {
        // DeepSpeed itself runs, what it would compile does not.
        Judgement::Fails(refusal) if !criteria.compile => {
            Judgement::Costs(Cost::Compilation(Box::new(refusal)))
        }
        all => all,
    }
}

fn compiles(criteria: &Criteria, nvcc: &'static str, gpu: &Gpu) -> Judgement {
    let capability = gpu.capability;
    let Some(row) = criteria.catalog.cuda().architecture(capability) else {
        return Judgement::Unknown(Gap::Base(BaseGap::ToolkitsOfGpu { capability }));
    };
    let number = |text: &Option<String>| text.as_deref().and_then(minor);
    let own = minor(nvcc);
    match (number(&row.first_toolkit), number(&row.last_toolkit)) {
        (Some(first), _) if own < Some(first) => {
            Judgement::Fails(Refusal::Compiler(CompilerRefusal::NvccTooOldForGpu {
                nvcc,
                gpu: gpu.name.clone(),
                capability,
                first,
            }))
        }
        (_, Some(last)) if own > Some(last) => {
            Judgement::Fails(Refusal::Compiler(CompilerRefusal::NvccTooNewForGpu {
                nvcc,
                gpu: gpu.name.clone(),
                capability,
                last,
            }))
        }
        _ => Judgement::Holds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::testing::{base, build, card, compile, judged_base, python, with};
    use crate::request::Requirement;

    fn on(requirements: &[Requirement], image: &str) -> Judgement {
        judged_base(&CONSTRAINT, requirements, build("2.5.1", "cu121"), python("3.11"), base(image))
    }

    #[test]
    fn nvcc_must_be_in_the_toolkit_range_of_the_gpu() {
        let (old, new) = ("nvidia/cuda:12.6.3-devel-ubuntu22.04", "nvidia/cuda:13.0.2-devel-ubuntu22.04");
        assert!(matches!(
            on(&[compile(), card("b200")], old),
            Judgement::Fails(Refusal::Compiler(CompilerRefusal::NvccTooOldForGpu { first: (12, 8), .. }))
        ));
        assert_eq!(on(&[compile(), card("b200")], new), Judgement::Holds);
        assert!(matches!(
            on(&[compile(), card("v100")], new),
            Judgement::Fails(Refusal::Compiler(CompilerRefusal::NvccTooNewForGpu { last: (12, 9), .. }))
        ));
        assert_eq!(on(&[compile(), card("v100")], old), Judgement::Holds);
        assert_eq!(on(&[card("b200")], old), Judgement::Holds);
        assert!(matches!(on(&[with("deepspeed", ""), card("b200")], old), Judgement::Costs(_)));
    }

    #[test]
    fn unlisted_architecture_is_unknown() {
        let image = "nvidia/cuda:12.6.3-devel-ubuntu22.04";
        let gpu = crate::constraints::testing::gpu("Rubin", (15, 0), None);
        assert!(matches!(on(&[compile(), gpu], image), Judgement::Unknown(_)));
    }
}
