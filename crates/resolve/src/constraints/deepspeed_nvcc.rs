//! DeepSpeed accepts the image's nvcc beside torch's CUDA.

use crate::constraint::{Constraint, Judge, Judgement, Place};
use crate::wanted::Wanted;
use crate::world::Release;
use catalog::version::minor;

/// See the module.
pub const CONSTRAINT: Constraint = Constraint {
    id: "nvcc-matches-torch",
    says: "When DeepSpeed builds an operator, nvcc and torch have the same CUDA, or both minors stand in DeepSpeed's list for \
           their major. No list has CUDA 13 so far.",
    source: "deepspeedai/DeepSpeed:op_builder/builder.py, read at the tags; see the catalog's rows of DeepSpeed",
    judge: Judge::PackagePlace(judge),
};

fn judge(_wanted: &Wanted, place: &Place, release: &Release) -> Judgement {
    let Some(row) = release.deepspeed else { return Judgement::Holds };
    // Without nvcc no operator is built, which another constraint tells.
    let Some(nvcc) = place.base.cuda_text().filter(|_| place.base.has_nvcc() == Some(true)) else {
        return Judgement::Holds;
    };
    let (own, torch) = (minor(nvcc), place.build.cuda_minor);
    if own == Some(torch) {
        return Judgement::Holds;
    }
    let allowed = row.cuda_minor_allowed(torch.0);
    if allowed.is_none() && own.is_some_and(|own| own.0 == torch.0) {
        return Judgement::Unknown(format!(
            "which CUDA versions {} lets differ is not known",
            release.name()
        ));
    }
    let listed =
        |wanted: (u32, u32)| allowed.unwrap_or_default().iter().any(|one| minor(one) == Some(wanted));
    let both = own.is_some_and(|own| own.0 == torch.0 && listed(own)) && listed(torch);
    Judgement::unless(both, || {
        let skip = match row.skip_cuda_check {
            Some(true) => "; DS_SKIP_CUDA_CHECK=1 skips its check, not the difference",
            _ => "",
        };
        format!(
            "{} builds no operators with nvcc {nvcc} beside torch for CUDA {}: they must be the same, or both in its list{skip}",
            release.name(),
            place.build.cuda
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::testing::{judged_package, place, release};

    fn on(deepspeed: &str, torch: (&str, &str), image: &str) -> Judgement {
        judged_package(&CONSTRAINT, &[], &place(torch, "3.11", image), release("deepspeed", deepspeed))
    }

    #[test]
    fn minors_of_one_list() {
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
        let Judgement::Fails(says) = on("0.19.8", ("2.11.0", "cu130"), other) else { panic!() };
        assert!(says.contains("13.1.0") && says.contains("DS_SKIP_CUDA_CHECK"), "{says}");
    }

    #[test]
    fn without_nvcc() {
        assert_eq!(on("0.12.6", ("2.5.1", "cu121"), "nvidia/cuda:12.4.1-base-ubuntu22.04"), Judgement::Holds);
        assert_eq!(on("0.12.6", ("2.5.1", "cu121"), ""), Judgement::Holds);
    }
}
