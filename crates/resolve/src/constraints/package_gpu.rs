//! A package supports every GPU.

use crate::constraint::{Constraint, Judge};
use crate::criteria::Criteria;
use crate::universe::Release;
use crate::verdict::{Judgement, PackageRefusal, Refusal};

pub(super) const CONSTRAINT: Constraint = Constraint {
    id: "package-gpu",
    description: "Every GPU has at least the compute capability that a package supports.",
    sources: &["README and build files in the source distributions, see the catalog's rows"],
    judge: Judge::Package(judge),
};

fn judge(criteria: &Criteria, release: &Release) -> Judgement {
    let Some(min) = release.compute_capability_min else { return Judgement::Holds };
    let older = criteria.gpus.iter().find(|gpu| gpu.capability < min);
    older.map_or(Judgement::Holds, |gpu| {
        let (gpu, capability) = (gpu.name.clone(), gpu.capability);
        Judgement::Fails(Refusal::Package(PackageRefusal::GpuTooOld { gpu, capability, min }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::testing::{card, environment, judged_package, release};

    #[test]
    fn packages_refuse_gpus_that_are_too_old() {
        let environment = environment(("2.8.0", "cu128"), "3.12", "nvidia/cuda:12.4.1-base-ubuntu22.04");
        let on = |package: &str, version: &str, gpu: &str| {
            judged_package(&CONSTRAINT, &[card(gpu)], &environment, release(package, version))
        };
        for gpu in ["t4", "v100", "p100"] {
            assert!(matches!(
                on("flash-attn", "2.8.3", gpu),
                Judgement::Fails(Refusal::Package(PackageRefusal::GpuTooOld { min: (8, 0), .. }))
            ));
        }
        assert_eq!(on("flash-attn", "2.8.3", "a100"), Judgement::Holds);
        assert_eq!(on("flash-attn", "1.0.9", "t4"), Judgement::Holds, "FlashAttention 1 supports Turing");
        assert!(matches!(on("vllm", "0.8.4", "p100"), Judgement::Fails(_)));
        assert_eq!(on("vllm", "0.8.4", "v100"), Judgement::Holds);
        assert_eq!(on("numpy", "1.26.4", "p100"), Judgement::Holds);
    }
}
