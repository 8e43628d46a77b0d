//! The base image's CUDA is the one that torch was made with.

use crate::resolve::constraint::{Constraint, Judge, Judgement};
use crate::resolve::wanted::Wanted;
use crate::resolve::world::{Base, Build, series};

/// See the module.
pub const CONSTRAINT: Constraint = Constraint {
    id: "base-cuda-matches",
    says: "What is compiled in the image is compiled by the CUDA that torch was made with.",
    source: "torch.utils.cpp_extension (pytorch/pytorch:torch/utils/cpp_extension.py): another major is refused, another minor warned of",
    judge: Judge::Base(judge),
};

fn judge(wanted: &Wanted, build: &Build, base: &Base) -> Judgement {
    let Some(cuda) = &base.cuda else { return Judgement::Holds };
    let (own, of_torch) = (series(cuda), series(&build.cuda));
    if own == of_torch {
        return Judgement::Holds;
    }
    let says =
        || format!("{} has CUDA {cuda}, {} was made with CUDA {}", base.name(), build.name(), build.cuda);
    if own.0 != of_torch.0 {
        return Judgement::Fails(says());
    }
    match wanted.uses_nvcc() || base.has_nvcc() == Some(true) {
        true => Judgement::Costs(format!(
            "{}: what is compiled in the image is compiled by another minor",
            says()
        )),
        false => Judgement::Holds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::constraints::testing::{base, build, judged_base, python};

    #[test]
    fn another_minor_costs_another_major_fails() {
        let on =
            |image: &str| judged_base(&CONSTRAINT, &[], build("2.5.1", "cu121"), python("3.11"), base(image));
        assert_eq!(on("nvidia/cuda:12.1.1-devel-ubuntu22.04"), Judgement::Holds);
        assert_eq!(on("nvidia/cuda:12.4.1-base-ubuntu22.04"), Judgement::Holds);
        assert!(matches!(on("nvidia/cuda:12.4.1-devel-ubuntu22.04"), Judgement::Costs(_)));
        assert!(matches!(on("nvidia/cuda:11.8.0-base-ubuntu22.04"), Judgement::Fails(_)));
        assert_eq!(on(""), Judgement::Holds);
    }
}
