//! A driver drives every GPU.

use crate::constraint::{Constraint, Judge};
use crate::criteria::Criteria;
use crate::host_driver::HostDriver;
use crate::request::Gpu;
use crate::universe::Build;
use crate::verdict::{BuildRefusal, Judgement, Refusal};
use facts::driver::DriverVersion;

pub(super) const CONSTRAINT: Constraint = Constraint {
    id: "gpu-driver",
    description: "Every GPU is driven by one of the drivers: it is not older than the GPU, and its branch \
        still has the GPU's architecture.",
    sources: &[
        "https://docs.nvidia.com/datacenter/tesla/drivers/cuda-toolkit-driver-and-architecture-matrix.html",
        "NVIDIA/open-gpu-kernel-modules: README.md of every release (table of GPUs)",
    ],
    judge: Judge::Build(judge),
};

/// No stack helps a driver that does not know its GPU.
fn judge(criteria: &Criteria, build: &Build) -> Judgement {
    if criteria.drivers.is_empty() {
        return one_driver_for_all(criteria, build);
    }
    // Which node has which GPU is unknown: one driver that supports it is enough.
    let any = |gpu: &&Gpu| {
        let all = criteria.drivers.iter().map(|driver| drives(criteria, *driver, gpu));
        all.reduce(Judgement::or).unwrap_or(Judgement::Holds)
    };
    criteria.gpus.iter().map(any).fold(Judgement::Holds, Judgement::and)
}

/// Several drivers are those of several nodes; without any, all GPUs are taken to be in one.
fn one_driver_for_all(criteria: &Criteria, build: &Build) -> Judgement {
    match HostDriver::of(criteria, build).apart {
        None => Judgement::Holds,
        Some([(newer, first), (older, last)]) => {
            Judgement::Fails(Refusal::Build(BuildRefusal::NoCommonDriver { newer, first, older, last }))
        }
    }
}

fn drives(criteria: &Criteria, driver: DriverVersion, gpu: &Gpu) -> Judgement {
    if let Some(oldest) = gpu.driver_branch_min.filter(|oldest| driver.branch < *oldest) {
        // NVIDIA's list of GPUs in the last release of the older branch does not have it.
        return Judgement::Fails(Refusal::Build(BuildRefusal::DriverOlderThanGpu {
            driver,
            gpu: gpu.name.clone(),
            branch: oldest,
        }));
    }
    let architecture = criteria.catalog.cuda().architecture(gpu.capability);
    match architecture.and_then(|row| Some((row, row.last_driver_branch?))) {
        Some((row, last)) if driver.branch > last => {
            Judgement::Fails(Refusal::Build(BuildRefusal::GpuDroppedByDriver {
                driver,
                gpu: gpu.name.clone(),
                last_branch: last,
                architecture: row.architecture.clone(),
            }))
        }
        _ => Judgement::Holds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::testing::{build, card, driver, judged, named};

    fn on(requirements: &[crate::request::Requirement]) -> Judgement {
        judged(&CONSTRAINT, requirements, build("2.6.0", "cu124"))
    }

    #[test]
    fn a_driver_that_dropped_the_gpu() {
        assert!(matches!(
            on(&[driver("590.48.01"), card("gtx-1080-ti")]),
            Judgement::Fails(Refusal::Build(BuildRefusal::GpuDroppedByDriver { last_branch: 580, .. }))
        ));
        assert_eq!(on(&[driver("580.65.06"), card("gtx-1080-ti")]), Judgement::Holds);
        // One of the two nodes has it.
        assert_eq!(on(&[driver("590.48.01"), driver("580.65.06"), card("v100")]), Judgement::Holds);
    }

    #[test]
    fn a_driver_that_is_older_than_the_gpu() {
        assert!(matches!(
            on(&[driver("550.54.14"), card("b200")]),
            Judgement::Fails(Refusal::Build(BuildRefusal::DriverOlderThanGpu { branch: 570, .. }))
        ));
        for (old, gpu) in [("470.256.02", "h100"), ("525.147.05", "l40s"), ("535.288.01", "h200")] {
            assert!(
                matches!(
                    on(&[driver(old), card(gpu)]),
                    Judgement::Fails(Refusal::Build(BuildRefusal::DriverOlderThanGpu { .. }))
                ),
                "{gpu}"
            );
        }
        assert_eq!(on(&[driver("570.124.06"), card("b200")]), Judgement::Holds);
    }

    #[test]
    fn gpus_by_every_name_that_users_type() {
        for name in ["5090", "RTX 5090", "rtx5090", "NVIDIA GeForce RTX 5090", "sm_120"] {
            assert!(
                matches!(
                    on(&[driver("560.35.03"), named(name)]),
                    Judgement::Fails(Refusal::Build(BuildRefusal::DriverOlderThanGpu { branch: 570, .. }))
                ),
                "{name}"
            );
        }
    }

    #[test]
    fn gpus_that_no_driver_supports_together_are_refused() {
        let both = [card("k80"), card("rtx-5090")];
        assert!(matches!(
            on(&both),
            Judgement::Fails(Refusal::Build(BuildRefusal::NoCommonDriver { first: 570, last: 470, .. }))
        ));
        // Two nodes, each with its driver.
        let nodes = [driver("470.256.02"), driver("570.124.06")];
        assert_eq!(on(&[&both[..], &nodes[..]].concat()), Judgement::Holds);
    }

    #[test]
    fn without_a_driver_or_a_gpu() {
        assert_eq!(on(&[card("b200")]), Judgement::Holds);
        assert_eq!(on(&[driver("470.256.02")]), Judgement::Holds);
    }
}
