//! An image that brings torch brings the chosen one.

use crate::resolve::constraint::{Constraint, Judge, Judgement};
use crate::resolve::request::Base as Wished;
use crate::resolve::wanted::Wanted;
use crate::resolve::world::{Base, Build, series};

/// See the module.
pub const CONSTRAINT: Constraint = Constraint {
    id: "image-torch",
    says: "An image that brings torch (pytorch/pytorch) brings the chosen release for the chosen CUDA. NVIDIA's own images \
           (nvcr.io/nvidia/pytorch) bring builds that are no release: packages of a stack cannot be held against them.",
    source: "tags of pytorch/pytorch; release notes of NVIDIA's PyTorch containers, see the catalog's images",
    judge: Judge::Base(judge),
};

fn judge(wanted: &Wanted, build: &Build, base: &Base) -> Judgement {
    let Some(image) = base.image else { return Judgement::Holds };
    if image.repository == "nvcr.io/nvidia/pytorch" {
        // Of all of them together one sentence is enough.
        if !wanted.bases.iter().any(|wish| matches!(wish, Wished::Image(_))) {
            return Judgement::Fails(
                "the images of nvcr.io/nvidia/pytorch bring NVIDIA's own builds of torch, which are no releases of PyTorch: use one \
                 as it is, or choose another base image"
                    .into(),
            );
        }
        let own = image.torch.as_deref().unwrap_or("of an unknown version");
        return Judgement::Fails(format!(
            "{0} brings NVIDIA's own build of torch ({own}), which is no release of PyTorch: use it as it is (`envdoc explain {0}` \
             tells what is in it), or choose another base image",
            base.name()
        ));
    }
    match &image.torch {
        Some(own) if *own != build.release.version => {
            Judgement::Fails(format!("{} brings torch {own}, not {}", base.name(), build.release.version))
        }
        Some(_) => match &base.cuda {
            Some(cuda) => Judgement::unless(series(cuda) == series(&build.cuda), || {
                format!("the torch in {} was made for CUDA {cuda}, not {}", base.name(), build.cuda)
            }),
            None => Judgement::Unknown(format!(
                "for which CUDA the torch in {} was made is not known",
                base.name()
            )),
        },
        None if image.repository == "pytorch/pytorch" => {
            Judgement::Unknown(format!("which torch {} brings is not known", base.name()))
        }
        None => Judgement::Holds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::images::{Flavour, Image};
    use crate::resolve::constraints::testing::{base, build, judged_base, python};

    fn with(repository: &'static str, torch: Option<&str>, cuda: &str) -> Base {
        let mut image: Image = base("nvidia/cuda:12.1.1-devel-ubuntu22.04").image.unwrap().clone();
        image.repository = repository;
        image.torch = torch.map(str::to_owned);
        let image: &'static Image = Box::leak(Box::new(image));
        Base { image: Some(image), system: None, cuda: cuda.parse().ok(), flavour: Flavour::Devel }
    }

    #[test]
    fn the_torch_of_images() {
        let named = crate::resolve::request::Wish {
            says: String::new(),
            want: crate::resolve::request::Want::Base(Wished::Image("any".into())),
        };
        let on = |base: &Base| {
            judged_base(
                &CONSTRAINT,
                std::slice::from_ref(&named),
                build("2.5.1", "cu121"),
                python("3.11"),
                base,
            )
        };
        let (hub, ngc) = ("pytorch/pytorch", "nvcr.io/nvidia/pytorch");
        assert_eq!(on(&with(hub, Some("2.5.1"), "12.1")), Judgement::Holds);
        assert!(matches!(on(&with(hub, Some("2.5.1"), "12.4")), Judgement::Fails(_)));
        assert!(matches!(on(&with(hub, Some("2.5.0"), "12.1")), Judgement::Fails(_)));
        assert!(matches!(on(&with(hub, None, "12.1")), Judgement::Unknown(_)));
        let Judgement::Fails(says) = on(&with(ngc, Some("2.9.0a0+145a3a7bda"), "13.0.2")) else { panic!() };
        assert!(says.contains("2.9.0a0+145a3a7bda") && says.contains("no release"), "{says}");
        assert_eq!(on(base("nvidia/cuda:12.1.1-devel-ubuntu22.04")), Judgement::Holds);
        assert_eq!(on(base("")), Judgement::Holds);
    }
}
