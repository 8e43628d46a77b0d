//! DeepSpeed accepts the image's nvcc together with torch's CUDA.

use crate::constraint::{Constraint, Environment, Judge};
use crate::criteria::Criteria;
use crate::universe::Release;
use crate::verdict::{Gap, Judgement, PackageGap, PackageRefusal, Refusal};
use catalog::version::minor;

pub(super) const CONSTRAINT: Constraint = Constraint {
    id: "nvcc-matches-torch",
    description: "When DeepSpeed builds an operator, nvcc and torch need the same CUDA minor version, \
     or both \
        must be in DeepSpeed's list of compatible minors of that major version. DeepSpeed has no list for \
        CUDA 13 yet.",
    sources: &[
        "deepspeedai/DeepSpeed:op_builder/builder.py, read at the tags",
        "see the catalog's rows of DeepSpeed",
    ],
    judge: Judge::PackageEnvironment(judge),
};

fn judge(_criteria: &Criteria, environment: &Environment, release: &Release) -> Judgement {
    let Some(row) = release.deepspeed else { return Judgement::Holds };
    // Without nvcc no operator is built: another constraint reports that.
    let Some(nvcc) = environment.base.cuda_text().filter(|_| environment.base.has_nvcc() == Some(true))
    else {
        return Judgement::Holds;
    };
    // Operators for the CPU are compiled without nvcc.
    let Some(cuda) = environment.build.cuda() else { return Judgement::Holds };
    let (own, torch) = (minor(nvcc), cuda.minor);
    if own == Some(torch) {
        return Judgement::Holds;
    }
    let allowed = row.cuda_minor_allowed(torch.0);
    if allowed.is_none() && own.is_some_and(|own| own.0 == torch.0) {
        return Judgement::Unknown(Gap::Package(PackageGap::NvccDifference));
    }
    let listed = |cuda: (u32, u32)| allowed.unwrap_or_default().iter().any(|one| minor(one) == Some(cuda));
    let both = own.is_some_and(|own| own.0 == torch.0 && listed(own)) && listed(torch);
    Judgement::unless(both, || {
        Refusal::Package(PackageRefusal::NvccDiffers {
            nvcc,
            check_can_be_skipped: row.skip_cuda_check == Some(true),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::testing::{environment, judged_package, release};

    fn on(deepspeed: &str, torch: (&str, &str), image: &str) -> Judgement {
        judged_package(&CONSTRAINT, &[], &environment(torch, "3.11", image), release("deepspeed", deepspeed))
    }

    #[test]
    fn nvcc_and_torch_minors_must_be_in_the_deepspeed_list() {
        let image = "nvidia/cuda:12.4.1-devel-ubuntu22.04";
        assert_eq!(on("0.16.4", ("2.5.1", "cu124"), image), Judgement::Holds);
        assert_eq!(on("0.16.4", ("2.5.1", "cu121"), image), Judgement::Holds);
        assert!(matches!(on("0.12.6", ("2.5.1", "cu121"), image), Judgement::Fails(_)));
        assert!(matches!(on("0.16.4", ("2.5.1", "cu118"), image), Judgement::Fails(_)));
    }

    #[test]
    fn cuda_13_is_in_no_list() {
        let (same, other) = ("nvidia/cuda:13.0.2-devel-ubuntu22.04", "nvidia/cuda:13.1.0-devel-ubuntu22.04");
        assert_eq!(on("0.19.8", ("2.11.0", "cu130"), same), Judgement::Holds);
        let refusal =
            Refusal::Package(PackageRefusal::NvccDiffers { nvcc: "13.1.0", check_can_be_skipped: true });
        assert_eq!(on("0.19.8", ("2.11.0", "cu130"), other), Judgement::Fails(refusal));
    }

    #[test]
    fn holds_without_nvcc() {
        assert_eq!(on("0.12.6", ("2.5.1", "cu121"), "nvidia/cuda:12.4.1-base-ubuntu22.04"), Judgement::Holds);
        assert_eq!(on("0.12.6", ("2.5.1", "cu121"), ""), Judgement::Holds);
    }
}
