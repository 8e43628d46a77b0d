//! The base image's CUDA is the one that torch was made with.

use crate::resolve::constraint::{Constraint, Judge, Judgement};
use crate::resolve::wanted::Wanted;
use crate::resolve::world::{Base, Build, Python, series};

/// See the module.
pub const CONSTRAINT: Constraint = Constraint {
    id: "base-cuda-matches",
    says: "What is compiled in the image is compiled by the CUDA that torch was made with.",
    source: "torch.utils.cpp_extension (pytorch/pytorch:torch/utils/cpp_extension.py): another major is refused, another minor warned of",
    judge: Judge::Base(judge),
};

fn judge(_wanted: &Wanted, build: &Build, _python: &Python, base: &Base) -> Judgement {
    match &base.cuda {
        Some(cuda) if series(cuda).0 != series(&build.cuda).0 => Judgement::Fails(format!(
            "it has CUDA {cuda}, {} was made with CUDA {}",
            build.name(),
            build.cuda
        )),
        _ => Judgement::Holds,
    }
}
