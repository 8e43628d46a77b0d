//! What is compiled needs nvcc.

use crate::constraint::{Constraint, Judge};
use crate::criteria::Criteria;
use crate::universe::{Base, Build};
use crate::verdict::{BaseGap, CompilerRefusal, Cost, Gap, Judgement, Refusal};

pub(crate) const CONSTRAINT: Constraint = Constraint {
    id: "nvcc-needed",
    description: "Where CUDA code is compiled, the base image has nvcc: of NVIDIA's flavours devel has it, \
        base and runtime have not. DeepSpeed compiles its operators when they are first used.",
    sources: &[
        "nvidia/container-images/cuda (mirror pdtgct/cuda):doc/README.md",
        "deepspeedai/DeepSpeed:op_builder/builder.py",
    ],
    judge: Judge::Base(judge),
};

fn judge(criteria: &Criteria, _build: &Build, base: &Base) -> Judgement {
    if !criteria.uses_nvcc() {
        return Judgement::Holds;
    }
    match base.has_nvcc() {
        Some(true) => Judgement::Holds,
        None => Judgement::Unknown(Gap::Base(BaseGap::Nvcc)),
        Some(false) if criteria.compile => Judgement::Fails(Refusal::Compiler(CompilerRefusal::NoNvcc)),
        Some(false) => Judgement::Costs(Cost::NoNvcc),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::testing::{base, build, compile, judged_base, python, with};
    use crate::request::Requirement;

    fn on(requirements: &[Requirement], image: &str) -> Judgement {
        judged_base(&CONSTRAINT, requirements, build("2.5.1", "cu121"), python("3.11"), base(image))
    }

    #[test]
    fn compiling_requires_a_devel_image() {
        let (devel, runtime) =
            ("nvidia/cuda:12.1.1-devel-ubuntu22.04", "nvidia/cuda:12.1.1-runtime-ubuntu22.04");
        assert_eq!(on(&[], runtime), Judgement::Holds);
        assert_eq!(on(&[compile()], devel), Judgement::Holds);
        assert!(matches!(on(&[compile()], runtime), Judgement::Fails(_)));
        assert!(matches!(on(&[with("deepspeed", "")], runtime), Judgement::Costs(_)));
        assert!(matches!(on(&[with("deepspeed", ""), compile()], runtime), Judgement::Fails(_)));
        assert!(matches!(on(&[compile()], ""), Judgement::Unknown(_)));
    }
}
