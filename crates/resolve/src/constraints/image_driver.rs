//! The container toolkit starts the image on every driver.

use crate::constraint::{Constraint, Judge};
use crate::criteria::Criteria;
use crate::universe::{Base, Build};
use crate::verdict::{BaseGap, Cost, Gap, Judgement, Note};
use catalog::driver_support::DriverSupport;
use catalog::images::Image;
use catalog::version::minor;
use facts::driver::DriverVersion;

pub(crate) const CONSTRAINT: Constraint = Constraint {
    id: "image-driver",
    description: "NVIDIA's container toolkit starts the image on every driver. Images of nvidia/cuda carry \
        a requirement (NVIDIA_REQUIRE_CUDA): the driver's own CUDA is as new as the image's, or its branch \
        is one of those that the cuda-compat package serves. Minor-version compatibility does not count \
        there. The toolkit's legacy mode enforces it; whether its CDI mode does is not known. NVIDIA's \
        PyTorch images ask in their release notes for the driver of their CUDA.",
    sources: &[
        "NVIDIA_REQUIRE_CUDA in nvidia/container-images/cuda (mirror pdtgct/cuda):dist@e3c1b680",
        "NVIDIA/nvidia-container-toolkit:api/config/v1@d34b3046",
        "release notes of NVIDIA's PyTorch containers",
    ],
    judge: Judge::Base(judge),
};

fn judge(criteria: &Criteria, build: &Build, base: &Base) -> Judgement {
    if let Some(image) = build.image {
        let all = criteria.drivers.iter().map(|driver| documented(criteria, build, image, *driver));
        return all.fold(Judgement::Holds, Judgement::and);
    }
    // Never a reason to take an older torch: one variable in the container's environment helps. rank.rs
    // prefers what starts.
    match starts(criteria, base) {
        Judgement::Costs(cost) => Judgement::Notes(Note::Start(cost)),
        Judgement::Unknown(gap) => Judgement::Notes(Note::StartUnknown(gap)),
        judgement => judgement,
    }
}

/// What the release notes of NVIDIA's PyTorch images ask for: the driver of their CUDA. They let older
/// branches do on data-centre GPUs, of which the catalog has no list.
fn documented(criteria: &Criteria, build: &Build, image: &Image, driver: DriverVersion) -> Judgement {
    let of_notes = image.driver_min.as_deref().and_then(|text| {
        let branch = || Some(DriverVersion { branch: text.parse().ok()?, minor: 0, patch: None });
        text.parse().ok().or_else(branch)
    });
    let Some(cuda) = build.cuda() else { return Judgement::Holds };
    let shipped = || criteria.catalog.cuda().of_minor(cuda.minor)?.driver_min.as_deref()?.parse().ok();
    match of_notes.or_else(shipped) {
        _ if cuda.driver_support(criteria.catalog, driver) == DriverSupport::Full => Judgement::Holds,
        Some(needs) if driver >= needs => Judgement::Holds,
        Some(needs) => Judgement::Costs(Cost::DriverOfImage { needs, driver }),
        None => Judgement::Unknown(Gap::Base(BaseGap::DriverOfImage { driver })),
    }
}

/// Whether the image starts on every driver as it is.
pub(crate) fn starts(criteria: &Criteria, base: &Base) -> Judgement {
    let Some(image) = base.image.filter(|image| image.repository == "nvidia/cuda") else {
        return Judgement::Holds;
    };
    let Some(needs) = image.cuda.as_deref().and_then(minor) else { return Judgement::Holds };
    let mut all = Judgement::Holds;
    for &driver in &criteria.drivers {
        if criteria.catalog.drivers().cuda_at_least(driver.branch) < Some(needs) {
            all = all.and(older(criteria, base, driver));
        }
    }
    all
}

fn older(criteria: &Criteria, base: &Base, driver: DriverVersion) -> Judgement {
    let Some(text) = base.cuda_text() else { return Judgement::Holds };
    let Some(own) = criteria.catalog.drivers().branch(driver.branch).and_then(|row| row.cuda.as_deref())
    else {
        return Judgement::Unknown(Gap::Base(BaseGap::CudaOfDriver { driver }));
    };
    let Some(row) = criteria.catalog.cuda().forward(text) else {
        return Judgement::Unknown(Gap::Base(BaseGap::DriversOfImage { cuda: text }));
    };
    if !row.driver_branches.contains(&driver.branch) {
        return Judgement::Costs(Cost::RequireCuda { driver, driver_cuda: own, requires: &row.toolkit });
    }
    let every_brand = row.geforce_branches.contains(&driver.branch);
    if every_brand || criteria.gpus.iter().all(|gpu| gpu.data_centre == Some(true)) {
        return Judgement::Holds;
    }
    Judgement::Unknown(Gap::Base(BaseGap::BrandsOfImage { driver, driver_cuda: own, requires: &row.toolkit }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::testing::{base, build, card, driver, judged_base, python};
    use crate::request::Requirement;

    fn on(requirements: &[Requirement], image: &str) -> Judgement {
        judged_base(&CONSTRAINT, requirements, build("2.7.1", "cu126"), python("3.12"), base(image))
    }

    #[test]
    fn driver_is_checked_against_nvidia_require_cuda() {
        let image = "nvidia/cuda:12.6.3-base-ubuntu24.04";
        assert_eq!(on(&[], image), Judgement::Holds);
        assert_eq!(on(&[driver("560.35.03")], image), Judgement::Holds);
        assert_eq!(on(&[driver("550.54.14"), card("h100")], image), Judgement::Holds);
        assert!(matches!(on(&[driver("550.54.14"), card("rtx-4090")], image), Judgement::Notes(_)));
        assert_eq!(on(&[driver("550.54.14")], image), Judgement::Holds);
        // Up to CUDA 12.4 the label names every brand.
        let older = "nvidia/cuda:12.4.1-base-ubuntu22.04";
        assert_eq!(on(&[driver("535.54.03"), card("rtx-4090")], older), Judgement::Holds);
        assert!(matches!(
            on(&[driver("545.23.06"), card("h100")], image),
            Judgement::Notes(Note::Start(Cost::RequireCuda { driver_cuda: "12.3", .. }))
        ));
    }

    #[test]
    fn image_without_a_recorded_label_uses_its_cuda_version() {
        let image = "nvidia/cuda:13.3.0-devel-ubuntu26.04";
        assert!(matches!(on(&[driver("580.65.06"), card("h100")], image), Judgement::Notes(_)));
        assert_eq!(on(&[driver("610.43.02"), card("h100")], image), Judgement::Holds);
    }
}
