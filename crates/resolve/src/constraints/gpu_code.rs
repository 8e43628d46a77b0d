//! torch has code for every GPU.

use crate::constraint::{Constraint, Judge};
use crate::criteria::Criteria;
use crate::request::Gpu;
use crate::universe::Build;
use crate::verdict::{BuildGap, BuildRefusal, Gap, Judgement, Refusal};
use facts::Fact;
use facts::support::code_for;

pub(super) const CONSTRAINT: Constraint = Constraint {
    id: "gpu-has-code",
    description: "The torch build has machine code for the compute capability of every GPU, or PTX that the \
        driver translates.",
    source: "architecture lists of the builds, see the catalog's torch rows; \
        https://docs.nvidia.com/cuda/cuda-c-programming-guide/#application-compatibility",
    judge: Judge::Build(judge),
};

fn judge(criteria: &Criteria, build: &Build) -> Judgement {
    criteria.gpus.iter().map(|gpu| has(criteria, build, gpu)).fold(Judgement::Holds, Judgement::and)
}

fn has(criteria: &Criteria, build: &Build, gpu: &Gpu) -> Judgement {
    let Some(compiled) = build.compiled_for(criteria.architecture()) else {
        return Judgement::Unknown(Gap::Build(BuildGap::Kernels));
    };
    let (gpu, capability) = (gpu.name.clone(), gpu.capability);
    match code_for(criteria.catalog, compiled, build.ptx.as_deref(), capability) {
        Fact::Known(true) => Judgement::Holds,
        Fact::Unknown(_) => Judgement::Unknown(Gap::Build(BuildGap::KernelsOfGpu { gpu, capability })),
        Fact::Known(false) | Fact::Absent => Judgement::Fails(Refusal::Build(BuildRefusal::NoKernels {
            gpu,
            capability,
            has: compiled.clone(),
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::testing::{build, card, gpu, judged};

    #[test]
    fn build_must_have_code_for_every_gpu() {
        let on =
            |name: &str, torch: (&str, &str)| judged(&CONSTRAINT, &[card(name)], build(torch.0, torch.1));
        assert!(matches!(
            on("b200", ("2.5.1", "cu124")),
            Judgement::Fails(Refusal::Build(BuildRefusal::NoKernels { capability: (10, 0), .. }))
        ));
        for (gpu, torch) in [("b200", "2.14.1"), ("rtx-5090", "2.13.0"), ("b300", "2.12.0")] {
            assert!(matches!(on(gpu, (torch, "cu126")), Judgement::Fails(_)), "the list has no PTX");
        }
        assert_eq!(on("b200", ("2.7.1", "cu128")), Judgement::Holds);
        assert_eq!(on("gtx-1080-ti", ("2.14.1", "cu126")), Judgement::Holds, "sm_60 runs on sm_61");
        assert!(matches!(on("gtx-1080-ti", ("2.14.1", "cu130")), Judgement::Fails(_)));
        assert_eq!(judged(&CONSTRAINT, &[], build("2.14.1", "cu130")), Judgement::Holds);
        // What certainly fails for one GPU is not made unknown by another.
        let (unknown, old) = (gpu("Orin", (8, 7), None), card("k80"));
        for pair in [[unknown.clone(), old.clone()], [old, unknown]] {
            assert!(matches!(judged(&CONSTRAINT, &pair, build("2.5.1", "cu124")), Judgement::Fails(_)));
        }
        let tegra = [gpu("Orin", (8, 7), None)];
        assert!(matches!(judged(&CONSTRAINT, &tegra, build("2.5.1", "cu124")), Judgement::Unknown(_)));
    }
}
