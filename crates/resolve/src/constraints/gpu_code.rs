//! torch has code for every GPU.

use crate::constraint::{Constraint, Judge};
use crate::criteria::Criteria;
use crate::request::Gpu;
use crate::universe::Build;
use crate::verdict::{BuildGap, BuildRefusal, Gap, Judgement, Refusal};
use facts::Fact;
use facts::support::{capabilities, code_for};

pub(super) const CONSTRAINT: Constraint = Constraint {
    id: "gpu-has-code",
    description: "The torch build has machine code for the compute capability of every GPU, or PTX that the \
        driver translates.",
    sources: &[
        "architecture lists of the builds, see the catalog's torch rows",
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#application-compatibility",
    ],
    judge: Judge::Build(judge),
};

fn judge(criteria: &Criteria, build: &Build) -> Judgement {
    // A CPU build runs on no GPU; another constraint judges a request for one.
    if build.is_cpu() {
        return Judgement::Holds;
    }
    if build.compiled_for(criteria.architecture()).is_none() && !criteria.gpus.is_empty() {
        let lacking = criteria.gpus.iter().find(|gpu| known_builds_lack(criteria, build, gpu));
        let lacking = lacking.map(|gpu| gpu.name.clone());
        return Judgement::Unknown(Gap::Build(BuildGap::Kernels { lacking }));
    }
    criteria.gpus.iter().map(|gpu| has(criteria, build, gpu)).fold(Judgement::Holds, Judgement::and)
}

fn has(criteria: &Criteria, build: &Build, gpu: &Gpu) -> Judgement {
    let Some(compiled) = build.compiled_for(criteria.architecture()) else {
        return Judgement::Unknown(Gap::Build(BuildGap::Kernels { lacking: None }));
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

/// Whether builds for the same CUDA are known, and none of them has code for the GPU.
fn known_builds_lack(criteria: &Criteria, build: &Build, gpu: &Gpu) -> bool {
    let on_arm = criteria.architecture() != "x86_64";
    let releases = criteria.catalog.torch().all().iter();
    let same_cuda =
        releases.flat_map(|release| &release.builds).filter(|other| other.cuda == build.build.cuda);
    let lists = same_cuda.filter_map(|other| {
        let list = if on_arm { &other.aarch64_architectures } else { &other.architectures };
        let ptx = other.ptx.as_deref().map(capabilities);
        Some(code_for(criteria.catalog, &capabilities(list.as_ref()?), ptx.as_deref(), gpu.capability))
    });
    let mut count = 0;
    lists.inspect(|_| count += 1).all(|code| code == Fact::Known(false)) && count > 0
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
        let unknown = judged(&CONSTRAINT, &[card("rtx-5090"), card("p100")], build("2.13.0", "cu129"));
        let Judgement::Unknown(Gap::Build(BuildGap::Kernels { lacking: Some(name) })) = &unknown else {
            panic!("{unknown:?}")
        };
        assert!(name.contains("P100"), "no known build for CUDA 12.9 has code for it: {name}");
        let tegra = [gpu("Orin", (8, 7), None)];
        assert!(matches!(judged(&CONSTRAINT, &tegra, build("2.5.1", "cu124")), Judgement::Unknown(_)));
    }
}
