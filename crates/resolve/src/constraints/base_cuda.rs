//! The base image and torch have the same CUDA version.

use crate::constraint::{Constraint, Judge};
use crate::criteria::Criteria;
use crate::universe::{Base, Build, series};
use crate::verdict::{BaseRefusal, Cost, Judgement, Refusal};

pub(crate) const CONSTRAINT: Constraint = Constraint {
    id: "base-cuda-matches",
    description: "The base image and torch have the same CUDA version. A different minor version is a cost: \
        the image then holds two sets of CUDA libraries, and torch warns when it compiles extensions.",
    sources: &[
        "torch.utils.cpp_extension (pytorch/pytorch:torch/utils/cpp_extension.py): a different major \
        version is an error, a different minor version a warning",
    ],
    judge: Judge::Base(judge),
};

fn judge(_criteria: &Criteria, build: &Build, base: &Base) -> Judgement {
    let Some(cuda) = &base.cuda else { return Judgement::Holds };
    let Some(of_torch) = build.cuda() else {
        return Judgement::Costs(Cost::BaseCudaUnused { has: cuda.clone() });
    };
    let (own, of_torch) = (series(cuda), series(&of_torch.version));
    if own == of_torch {
        return Judgement::Holds;
    }
    if own.0 != of_torch.0 {
        return Judgement::Fails(Refusal::Base(BaseRefusal::BaseCudaMismatch { has: cuda.clone() }));
    }
    Judgement::Costs(Cost::BaseCudaMinor { has: cuda.clone(), nvcc: base.has_nvcc() == Some(true) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::testing::{base, build, judged_base, python};

    #[test]
    fn other_cuda_minor_is_tolerated_but_other_major_fails() {
        let on =
            |image: &str| judged_base(&CONSTRAINT, &[], build("2.5.1", "cu121"), python("3.11"), base(image));
        assert_eq!(on("nvidia/cuda:12.1.1-devel-ubuntu22.04"), Judgement::Holds);
        assert!(matches!(on("nvidia/cuda:12.4.1-base-ubuntu22.04"), Judgement::Costs(_)));
        assert!(matches!(on("nvidia/cuda:12.4.1-devel-ubuntu22.04"), Judgement::Costs(_)));
        assert!(matches!(on("nvidia/cuda:11.8.0-base-ubuntu22.04"), Judgement::Fails(_)));
        assert_eq!(on(""), Judgement::Holds);
    }
}
