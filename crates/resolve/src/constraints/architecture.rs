//! Image, torch and packages exist for the processor.

use crate::constraint::{Constraint, Judge};
use crate::criteria::Criteria;
use crate::universe::{Base, Build, Python, Release};
use crate::verdict::{
    BaseGap, BaseRefusal, BuildGap, BuildRefusal, Gap, Judgement, PackageGap, PackageRefusal, PythonRefusal,
    Refusal,
};

pub(super) const BASE: Constraint = Constraint {
    id: "base-architecture",
    description: "The base image exists for the processor.",
    sources: &["nvidia/container-images/cuda (mirror pdtgct/cuda):dist", "see the catalog's images"],
    judge: Judge::Base(base),
};

pub(super) const TORCH: Constraint = Constraint {
    id: "torch-architecture",
    description: "The torch build has a wheel for the processor and the Python.",
    sources: &["wheel tags on PyPI and the release matrix, see the catalog's torch rows"],
    judge: Judge::Python(torch),
};

pub(super) const PACKAGE: Constraint = Constraint {
    id: "package-architecture",
    description: "A package has a wheel for the processor, or is compiled when it is installed on every \
        processor.",
    sources: &["wheel tags on PyPI, see the catalog's rows"],
    judge: Judge::Package(package),
};

/// A GPU that is on one board with its processor is in no machine with another.
pub(super) const GPU: Constraint = Constraint {
    id: "gpu-processor",
    description: "A GPU that comes with its processor (GH200, GB200, GB300, GB10, Tegra) is with the \
        required processor.",
    sources: &["NVIDIA/open-gpu-kernel-modules:README.md (products)", "see the catalog's GPU rows"],
    judge: Judge::Build(gpu),
};

/// The processor for which all rows were made.
const USUAL: &str = "x86_64";

/// The build does not come into it.
fn gpu(criteria: &Criteria, _build: &Build) -> Judgement {
    let with_processor = criteria.gpus.iter().filter_map(|gpu| Some((gpu, gpu.processor.as_deref()?)));
    for (gpu, processor) in with_processor {
        if let Some(other) = criteria.architectures.iter().find(|one| **one != processor) {
            return Judgement::Fails(Refusal::Build(BuildRefusal::GpuOfOtherProcessor {
                gpu: gpu.name.clone(),
                processor: processor.to_owned(),
                other: (*other).to_owned(),
            }));
        }
    }
    Judgement::Holds
}

fn base(criteria: &Criteria, _build: &Build, base: &Base) -> Judgement {
    let requirement = criteria.architecture();
    match base.image.map(|image| &image.architectures) {
        None => Judgement::Holds,
        Some(Some(list)) => Judgement::unless(list.contains(&requirement), || {
            Refusal::Base(BaseRefusal::BaseArchitecture {
                has: list.iter().map(|one| (*one).to_string()).collect(),
            })
        }),
        // The lists of tags that were read are those of x86-64.
        Some(None) if requirement == USUAL => Judgement::Holds,
        Some(None) => {
            Judgement::Unknown(Gap::Base(BaseGap::BaseArchitecture { architecture: requirement.to_owned() }))
        }
    }
}

pub(crate) fn torch(criteria: &Criteria, build: &Build, python: &Python) -> Judgement {
    let requirement = criteria.architecture();
    if requirement == USUAL {
        return Judgement::Holds;
    }
    // The wheels without CUDA on PyPI and those with it are made for the same Pythons.
    let pythons = build.release.aarch64_pythons.as_ref();
    if pythons.is_some_and(|list| !list.contains(&python.text)) {
        return Judgement::Fails(Refusal::Python(PythonRefusal::NoTorchWheelForArchitecture {
            architecture: requirement.to_owned(),
        }));
    }
    if build.on_pypi(requirement) {
        return Judgement::Holds;
    }
    match build.build.aarch64 {
        Some(true) => Judgement::Holds,
        Some(false) => Judgement::Fails(Refusal::Python(PythonRefusal::NoTorchForArchitecture {
            architecture: requirement.to_owned(),
        })),
        None => Judgement::Unknown(Gap::Build(BuildGap::TorchArchitecture {
            architecture: requirement.to_owned(),
        })),
    }
}

fn package(criteria: &Criteria, release: &Release) -> Judgement {
    let requirement = criteria.architecture();
    if requirement == USUAL || release.source_only {
        return Judgement::Holds;
    }
    match release.aarch64.filter(|_| requirement == "aarch64") {
        Some(true) => Judgement::Holds,
        Some(false) => Judgement::Fails(Refusal::Package(PackageRefusal::NoWheelForArchitecture {
            architecture: requirement.to_owned(),
        })),
        None => Judgement::Unknown(Gap::Package(PackageGap::PackageArchitecture {
            architecture: requirement.to_owned(),
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::testing::{
        architecture, base as image, build, environment, judged, judged_base, judged_package, judged_python,
        named, python, release,
    };
    use crate::request::Requirement;

    #[test]
    fn image_must_exist_for_the_architecture() {
        let on = |requirements: &[Requirement], name: &str| {
            judged_base(&BASE, requirements, build("2.5.1", "cu121"), python("3.11"), image(name))
        };
        let arm = [architecture("aarch64")];
        assert_eq!(on(&arm, "nvidia/cuda:12.1.1-base-ubuntu22.04"), Judgement::Holds);
        assert!(matches!(on(&arm, "nvidia/cuda:11.0.3-base-ubuntu20.04"), Judgement::Fails(_)));
        assert_eq!(on(&arm, "nvidia/cuda:13.2.1-base-ubuntu24.04"), Judgement::Holds);
        assert!(matches!(on(&arm, "nvidia/cuda:13.3.1-devel-ubuntu26.04"), Judgement::Unknown(_)));
        assert_eq!(on(&[], "nvidia/cuda:13.3.1-devel-ubuntu26.04"), Judgement::Holds);
        assert_eq!(on(&arm, ""), Judgement::Holds);
    }

    #[test]
    fn torch_on_aarch64() {
        let on = |torch: (&str, &str), of: &str, requirements: &[Requirement]| {
            judged_python(&TORCH, requirements, build(torch.0, torch.1), python(of))
        };
        let arm = [architecture("aarch64")];
        assert_eq!(on(("2.15.0", "cu132"), "3.12", &arm), Judgement::Holds);
        let missing = |torch, python| {
            let judged = on((torch, if torch == "1.13.1" { "cu117" } else { "cu124" }), python, &arm);
            matches!(
                judged,
                Judgement::Fails(Refusal::Python(PythonRefusal::NoTorchWheelForArchitecture { .. }))
            )
        };
        assert!(missing("2.5.1", "3.13") && missing("1.13.1", "3.11"), "PyPI has them for x86_64 only");
        assert!(matches!(on(("2.5.1", "cu121"), "3.12", &arm), Judgement::Unknown(_)));
        assert_eq!(on(("2.5.1", "cu121"), "3.12", &[]), Judgement::Holds);
    }

    #[test]
    fn grace_gpus_require_aarch64() {
        let on = |requirements: &[Requirement]| judged(&GPU, requirements, build("2.15.0", "cu132"));
        let (arm, intel) = (architecture("aarch64"), architecture("x86_64"));
        for name in ["gh200", "gb200", "gb300", "gb10", "sm_121", "sm_110"] {
            let on = |architecture: &Requirement| on(&[named(name), architecture.clone()]);
            assert_eq!(on(&arm), Judgement::Holds, "{name}");
            assert!(
                matches!(
                    on(&intel),
                    Judgement::Fails(Refusal::Build(BuildRefusal::GpuOfOtherProcessor { .. }))
                ),
                "{name} is not in a machine with x86_64"
            );
        }
        for name in ["h100", "b200", "sm_90", "sm_100", "sm_103"] {
            assert_eq!(on(&[named(name), arm.clone()]), Judgement::Holds, "{name}");
            assert_eq!(on(&[named(name), intel.clone()]), Judgement::Holds, "{name}");
        }
    }

    #[test]
    fn package_wheel_must_exist_for_the_architecture() {
        let environment = environment(("2.5.1", "cu121"), "3.11", "nvidia/cuda:12.1.1-base-ubuntu22.04");
        let on = |requirements: &[Requirement], aarch64: Option<bool>| {
            let mut numpy = release("numpy", "1.26.4").clone();
            numpy.aarch64 = aarch64;
            judged_package(&PACKAGE, requirements, &environment, &numpy)
        };
        let arm = [architecture("aarch64")];
        assert_eq!(on(&arm, Some(true)), Judgement::Holds);
        assert!(matches!(on(&arm, Some(false)), Judgement::Fails(_)));
        assert!(matches!(on(&arm, None), Judgement::Unknown(_)));
        assert_eq!(on(&[], None), Judgement::Holds);
        assert_eq!(
            judged_package(&PACKAGE, &arm, &environment, release("deepspeed", "0.16.4")),
            Judgement::Holds
        );
    }
}
