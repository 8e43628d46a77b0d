//! A package with compiled code has the CUDA of torch.

use crate::constraint::{Constraint, Judge};
use crate::criteria::Criteria;
use crate::universe::{Build, CompiledFor, Release, WithoutCuda};
use crate::verdict::{Gap, Judgement, PackageGap, PackageRefusal, Refusal};

pub(super) const CONSTRAINT: Constraint = Constraint {
    id: "package-cuda",
    description: "The compiled code of a package loads the CUDA libraries of one major version: that of \
        torch's build. With a CPU build of torch no package needs CUDA.",
    sources: &[
        "libraries that the wheels on PyPI load (ELF NEEDED) and their metadata, see the catalog's rows",
    ],
    judge: Judge::PackageBuild(judge),
};

fn judge(_criteria: &Criteria, build: &Build, release: &Release) -> Judgement {
    let Some(of_torch) = build.cuda() else { return without_cuda(release) };
    match release.compiled_for {
        CompiledFor::AnyCuda => Judgement::Holds,
        CompiledFor::Unknown => Judgement::Unknown(Gap::Package(PackageGap::CudaOfPackage)),
        CompiledFor::Cuda(cuda) => Judgement::unless(cuda == of_torch.major(), || {
            Refusal::Package(PackageRefusal::OtherCuda { cuda })
        }),
    }
}

/// Whether it works with a CPU build of torch.
fn without_cuda(release: &Release) -> Judgement {
    match release.without_cuda {
        WithoutCuda::Works => Judgement::Holds,
        WithoutCuda::Unknown => Judgement::Unknown(Gap::Package(PackageGap::WithoutCuda)),
        WithoutCuda::NotKnownToWork => {
            Judgement::Fails(Refusal::Package(PackageRefusal::NotKnownWithoutCuda))
        }
        WithoutCuda::Fails => Judgement::Fails(Refusal::Package(PackageRefusal::NeedsCuda)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::testing::{environment, judged_package, release};

    const IMAGE: &str = "nvidia/cuda:12.4.1-base-ubuntu22.04";

    fn on(package: &str, version: &str, torch: (&str, &str)) -> Judgement {
        judged_package(&CONSTRAINT, &[], &environment(torch, "3.12", IMAGE), release(package, version))
    }

    #[test]
    fn compiled_packages_need_the_cuda_major_of_torch() {
        let fails = |judgement: Judgement, wants: u32| match judgement {
            Judgement::Fails(Refusal::Package(PackageRefusal::OtherCuda { cuda })) => cuda == wants,
            _ => false,
        };
        let (cu126, cu130) = (("2.14.0", "cu126"), ("2.14.0", "cu130"));
        assert!(fails(on("vllm", "0.33.0", cu126), 13));
        assert_eq!(on("vllm", "0.33.0", cu130), Judgement::Holds);
        assert!(fails(on("vllm", "0.19.1", cu130), 12));
        assert!(fails(on("sglang-kernel", "0.4.10", cu126), 13));
        assert!(fails(on("sgl-kernel", "0.3.21", cu130), 12));
        assert!(fails(on("xformers", "0.0.35", cu130), 12));
        assert!(fails(on("transformer-engine-cu12", "2.20.2", cu130), 12));
        assert!(fails(on("transformer-engine-cu13", "2.20.2", cu126), 13));
        for package in [("transformers", "5.5.0"), ("flash-attn", "2.8.3"), ("numpy", "1.26.4")] {
            assert_eq!(on(package.0, package.1, cu126), Judgement::Holds, "{package:?}");
        }
    }

    #[test]
    fn a_release_that_was_not_read_is_unknown() {
        let environment = environment(("2.14.0", "cu126"), "3.12", IMAGE);
        let newer = Release { compiled_for: CompiledFor::Unknown, ..release("vllm", "0.33.0").clone() };
        let judged = judged_package(&CONSTRAINT, &[], &environment, &newer);
        assert_eq!(judged, Judgement::Unknown(Gap::Package(PackageGap::CudaOfPackage)));
    }
}
