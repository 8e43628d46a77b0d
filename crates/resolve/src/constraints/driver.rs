//! Every driver runs programs of the build's CUDA.

use crate::constraint::{Constraint, Judge};
use crate::criteria::Criteria;
use crate::request::Gpu;
use crate::universe::{Build, Cuda};
use crate::verdict::{BuildGap, BuildRefusal, Cost, Forward, Gap, Judgement, Refusal};
use catalog::driver_support::{DriverSupport, ForwardSupport};
use facts::Fact;
use facts::driver::DriverVersion;
use facts::support::code_for;

pub(super) const CONSTRAINT: Constraint = Constraint {
    id: "driver-new-enough",
    description: "Every driver runs the build's CUDA: because it is as new as that CUDA; or by \
        minor-version compatibility, from the oldest driver of the CUDA major on, where machine code runs \
        and PTX is not translated; or, on data-centre GPUs alone, by forward compatibility through the \
        newer libcuda of a cuda-compat package.",
    sources: &[
        "https://docs.nvidia.com/deploy/cuda-compatibility/",
        "branches of the cuda-compat packages: NVIDIA_REQUIRE_CUDA in nvidia/container-images/cuda",
        "drivers of the toolkits: the catalog's cuda rows",
    ],
    judge: Judge::Build(judge),
};

fn judge(criteria: &Criteria, build: &Build) -> Judgement {
    // A CPU build uses no driver; another constraint judges a request for one.
    let Some(cuda) = build.cuda() else { return Judgement::Holds };
    let mut all = Judgement::Holds;
    for &driver in &criteria.drivers {
        all = all.and(match cuda.driver_support(criteria.catalog, driver) {
            DriverSupport::Full => Judgement::Holds,
            DriverSupport::MinorVersion { .. } => minor_version(criteria, build, driver),
            DriverSupport::TooOld { needs } => forward(criteria, cuda, driver, needs),
            DriverSupport::Unknown => Judgement::Unknown(Gap::Build(BuildGap::DriverOfCuda)),
        });
    }
    all
}

/// Machine code runs, PTX of a newer CUDA than the driver's is not translated.
fn minor_version(criteria: &Criteria, build: &Build, driver: DriverVersion) -> Judgement {
    let Some(gpu) = criteria.gpus.iter().find(|gpu| by_ptx_alone(criteria, build, gpu)) else {
        return Judgement::Holds;
    };
    let gpu = gpu.name.clone();
    let of_branch =
        criteria.catalog.drivers().branch(driver.branch).is_some_and(|branch| branch.cuda.is_some());
    match of_branch && one_node(criteria) {
        true => Judgement::Fails(Refusal::Build(BuildRefusal::PtxOnly { gpu, driver })),
        false => Judgement::Unknown(Gap::Build(BuildGap::DriverOfNode { driver, gpu })),
    }
}

fn by_ptx_alone(criteria: &Criteria, build: &Build, gpu: &Gpu) -> bool {
    let catalog = criteria.catalog;
    let compiled = build.compiled_for(criteria.architecture());
    let (Some(compiled), ptx) = (compiled, build.ptx.as_deref()) else { return false };
    code_for(catalog, compiled, Some(&[]), gpu.capability) == Fact::Known(false)
        && code_for(catalog, compiled, ptx, gpu.capability) == Fact::Known(true)
}

/// Whether all drivers are the same, so that it is clear which GPU has which.
fn one_node(criteria: &Criteria) -> bool {
    criteria.drivers.windows(2).all(|pair| pair[0] == pair[1])
}

/// Through the cuda-compat package of the build's CUDA. `needs`: the oldest driver without it.
fn forward(criteria: &Criteria, cuda: &Cuda, driver: DriverVersion, needs: &'static str) -> Judgement {
    let fails = |forward| {
        Judgement::Fails(Refusal::Build(BuildRefusal::DriverTooOld { needs, has: driver, forward }))
    };
    let other = criteria.gpus.iter().find(|gpu| gpu.data_centre == Some(false));
    let data_centre = criteria.gpus.iter().any(|gpu| gpu.data_centre == Some(true));
    if criteria.gpus.is_empty() {
        return fails(Forward::NoGpuNamed);
    }
    if let Some(other) = other.filter(|_| !data_centre || one_node(criteria)) {
        return fails(Forward::NotDataCentre(other.name.clone()));
    }
    // Which of several nodes has this driver is not known: one with another kind of GPU may.
    let open = criteria.gpus.iter().find(|gpu| gpu.data_centre.is_none()).or(other);
    let all_data_centre = open.is_none().then_some(true);
    match (criteria.catalog.forward_support(driver.branch, &cuda.text(), all_data_centre), open) {
        (ForwardSupport::UnknownRelease, _) => {
            Judgement::Unknown(Gap::Build(BuildGap::ForwardDrivers { needs, driver }))
        }
        (ForwardSupport::OtherBranches(branches), _) => fails(Forward::Branches(branches.to_vec())),
        (_, Some(gpu)) => {
            Judgement::Unknown(Gap::Build(BuildGap::ForwardGpu { needs, driver, gpu: gpu.name.clone() }))
        }
        (_, None) => Judgement::Costs(Cost::ForwardCompatibility { driver }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::testing::{build, driver, gpu, judged};
    use crate::universe::Target;

    #[test]
    fn driver_of_the_cuda_release_holds() {
        for (version, name, of) in [
            ("550.54.14", "2.5.1", "cu124"),
            ("580.65.06", "2.11.0", "cu130"),
            ("535.54.03", "2.5.1", "cu121"),
        ] {
            assert_eq!(judged(&CONSTRAINT, &[driver(version)], build(name, of)), Judgement::Holds);
        }
    }

    #[test]
    fn minor_version_compatibility() {
        let cu126 = build("2.7.1", "cu126");
        assert_eq!(judged(&CONSTRAINT, &[driver("525.60.13")], cu126), Judgement::Holds);
        let refusal = Refusal::Build(BuildRefusal::DriverTooOld {
            needs: "525.60.13",
            has: "525.60.11".parse().unwrap(),
            forward: Forward::NoGpuNamed,
        });
        assert_eq!(judged(&CONSTRAINT, &[driver("525.60.11")], cu126), Judgement::Fails(refusal));
        // The floor of CUDA 13 is a branch.
        let cu130 = build("2.11.0", "cu130");
        assert!(matches!(judged(&CONSTRAINT, &[driver("575.57.08")], cu130), Judgement::Fails(_)));
        assert_eq!(judged(&CONSTRAINT, &[driver("580.65.06")], build("2.15.0", "cu132")), Judgement::Holds);
    }

    #[test]
    fn ptx_is_not_translated_by_an_older_driver() {
        // cu128 of 2.7.1 has PTX of 12.0 for what comes after it.
        let cu128 = build("2.7.1", "cu128");
        let newer = gpu("a later GPU", (12, 9), Some(false));
        let newer = [gpu("RTX 5090", (12, 0), Some(false)), newer];
        let with = |version: &str, many: &[_]| {
            let mut requirements = vec![driver(version)];
            requirements.extend_from_slice(many);
            judged(&CONSTRAINT, &requirements, cu128)
        };
        assert_eq!(with("570.124.06", &newer[..1]), Judgement::Holds);
        assert_eq!(with("565.57.01", &newer[..1]), Judgement::Holds);
        // Same major, higher minor: machine code of 12.0 runs on it.
        assert_eq!(with("565.57.01", &newer), Judgement::Holds);
        let ptx = [gpu("a GPU of the next major", (13, 0), Some(false))];
        assert_eq!(with("570.124.06", &ptx), Judgement::Holds);
        assert!(matches!(
            with("565.57.01", &ptx),
            Judgement::Fails(Refusal::Build(BuildRefusal::PtxOnly { .. }))
        ));
    }

    #[test]
    fn forward_compatibility_is_for_data_centre_gpus_on_listed_branches() {
        let cu124 = build("2.5.1", "cu124");
        let on = |version: &str, data_centre: Option<bool>| {
            judged(&CONSTRAINT, &[driver(version), gpu("some card", (8, 0), data_centre)], cu124)
        };
        assert!(matches!(on("470.256.02", Some(true)), Judgement::Costs(Cost::ForwardCompatibility { .. })));
        assert!(matches!(on("470.256.02", Some(false)), Judgement::Fails(_)));
        assert!(matches!(on("470.256.02", None), Judgement::Unknown(_)));
        let Judgement::Fails(Refusal::Build(BuildRefusal::DriverTooOld {
            forward: Forward::Branches(branches),
            ..
        })) = on("510.47.03", Some(true))
        else {
            panic!()
        };
        assert!(branches.starts_with(&[470, 525, 535]), "{branches:?}");
        assert!(matches!(judged(&CONSTRAINT, &[driver("470.256.02")], cu124), Judgement::Fails(_)));
        // CUDA 13.3 is unknown.
        let mut later = build("2.15.0", "cu132").clone();
        let cuda = Cuda { version: "13.3".parse().unwrap(), minor: (13, 3), toolkits: Vec::new() };
        later.target = Target::Cuda(cuda);
        let a100 = gpu("A100", (8, 0), Some(true));
        assert!(matches!(judged(&CONSTRAINT, &[driver("535.54.03"), a100], &later), Judgement::Unknown(_)));
    }

    #[test]
    fn unknown_if_driver_and_gpu_of_a_node_cannot_be_matched() {
        let cu124 = build("2.5.1", "cu124");
        let cards = [gpu("A100", (8, 0), Some(true)), gpu("RTX 4090", (8, 9), Some(false))];
        let mut requirements = vec![driver("470.256.02"), driver("580.65.06")];
        requirements.extend_from_slice(&cards);
        assert!(matches!(judged(&CONSTRAINT, &requirements, cu124), Judgement::Unknown(_)));
        requirements.remove(1);
        assert!(matches!(judged(&CONSTRAINT, &requirements, cu124), Judgement::Fails(_)));
    }

    #[test]
    fn unlisted_branch_supports_what_the_previous_one_does() {
        assert_eq!(judged(&CONSTRAINT, &[driver("600.10")], build("2.15.0", "cu132")), Judgement::Holds);
        assert_eq!(judged(&CONSTRAINT, &[driver("551.23")], build("2.5.1", "cu124")), Judgement::Holds);
    }
}
