//! An image that contains torch contains the chosen release.

use crate::constraint::{Constraint, Judge};
use crate::criteria::Criteria;
use crate::universe::{Base, Build, series};
use crate::verdict::{BaseGap, BaseRefusal, Gap, Judgement, Refusal};
use catalog::images::NGC;

pub(super) const CONSTRAINT: Constraint = Constraint {
    id: "image-torch",
    description: "An image that brings torch (pytorch/pytorch) brings the chosen release for the chosen \
        CUDA. NVIDIA's own images (nvcr.io/nvidia/pytorch) bring builds that are no release of PyTorch and \
        stand on no index: each is in its image and nowhere else.",
    sources: &[
        "tags of pytorch/pytorch",
        "release notes of NVIDIA's PyTorch containers, see the catalog's images",
    ],
    judge: Judge::Base(judge),
};

fn judge(_criteria: &Criteria, build: &Build, base: &Base) -> Judgement {
    let Some(image) = base.image else { return Judgement::Holds };
    if let Some(own) = build.image {
        return Judgement::unless(own.reference() == image.reference(), || {
            Refusal::Base(BaseRefusal::TorchOfOtherImage { image: own.reference() })
        });
    }
    if image.repository == NGC {
        return Judgement::Fails(Refusal::Base(BaseRefusal::TorchOfNvidia));
    }
    match &image.torch {
        Some(own) if *own != build.release.version => {
            Judgement::Fails(Refusal::Base(BaseRefusal::TorchOfImage { has: own.clone() }))
        }
        Some(_) => match (&base.cuda, build.cuda()) {
            (Some(has), None) => {
                Judgement::Fails(Refusal::Base(BaseRefusal::CudaTorchOfImage { has: has.clone() }))
            }
            (Some(cuda), Some(own)) => Judgement::unless(series(cuda) == series(&own.version), || {
                Refusal::Base(BaseRefusal::TorchOfImageForCuda { has: cuda.clone() })
            }),
            (None, _) => Judgement::Unknown(Gap::Base(BaseGap::CudaOfImageTorch)),
        },
        None if image.repository == "pytorch/pytorch" => Judgement::Unknown(Gap::Base(BaseGap::TorchOfImage)),
        None => Judgement::Holds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::testing::{base, build, judged_base, python, row};
    use catalog::images::{Flavour, Image};

    fn with(repository: &'static str, torch: Option<&str>, cuda: &str) -> Base {
        let mut image: Image = base("nvidia/cuda:12.1.1-devel-ubuntu22.04").image.unwrap().clone();
        image.repository = repository;
        image.torch = torch.map(str::to_owned);
        Base { image: Some(row(image)), system: None, cuda: cuda.parse().ok(), flavour: Flavour::Devel }
    }

    #[test]
    fn build_must_match_the_torch_of_the_image() {
        let on = |base: &Base| judged_base(&CONSTRAINT, &[], build("2.5.1", "cu121"), python("3.11"), base);
        let (hub, ngc) = ("pytorch/pytorch", "nvcr.io/nvidia/pytorch");
        assert_eq!(on(&with(hub, Some("2.5.1"), "12.1")), Judgement::Holds);
        assert!(matches!(on(&with(hub, Some("2.5.1"), "12.4")), Judgement::Fails(_)));
        assert!(matches!(on(&with(hub, Some("2.5.0"), "12.1")), Judgement::Fails(_)));
        assert!(matches!(on(&with(hub, None, "12.1")), Judgement::Unknown(_)));
        let nvidia = on(&with(ngc, Some("2.9.0a0+145a3a7bda"), "13.0.2"));
        assert_eq!(nvidia, Judgement::Fails(Refusal::Base(BaseRefusal::TorchOfNvidia)));
        assert_eq!(on(base("nvidia/cuda:12.1.1-devel-ubuntu22.04")), Judgement::Holds);
        assert_eq!(on(base("")), Judgement::Holds);
    }
}
