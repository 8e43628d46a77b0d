//! The drivers of the host on which a stack runs with the GPUs that were named.

use facts::driver::DriverVersion;

use super::criteria::Criteria;
use super::request::Gpu;
use super::universe::Build;
use catalog::images::Image;

/// The drivers that run a build and drive every named GPU.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct HostDriver {
    /// The oldest one: a version (`525.60.13`) or a branch (`570`).
    pub min: Option<String>,
    /// The last branch that drives every GPU; `None`: none is known to be the last.
    pub max_branch: Option<u32>,
    /// A GPU and the branch that it begins with, and a GPU and the branch that it ends with, where the first
    /// is newer: no driver drives both.
    pub apart: Option<[(String, u32); 2]>,
}

impl HostDriver {
    /// What CUDA needs, or what an image's documentation names, and what every GPU needs.
    pub(crate) fn of(criteria: &Criteria, build: &Build) -> HostDriver {
        if build.is_cpu() {
            return HostDriver::default();
        }
        let of_cuda = of_cuda(criteria, build);
        let first = criteria.gpus.iter().filter_map(|gpu| Some((gpu.driver_branch_min?, *gpu)));
        let first = first.max_by_key(|(branch, _)| *branch);
        let last = criteria.gpus.iter().filter_map(|gpu| Some((last_branch(criteria, gpu)?, *gpu)));
        let last = last.min_by_key(|(branch, _)| *branch);
        if let (Some((first, newer)), Some((last, older))) = (first, last)
            && first > last
        {
            let apart = Some([(newer.name.clone(), first), (older.name.clone(), last)]);
            return HostDriver { min: of_cuda, max_branch: None, apart };
        }
        let of_gpus = first.map(|(branch, _)| DriverVersion { branch, minor: 0, patch: None });
        let above = of_gpus.filter(|gpus| of_cuda.as_deref().and_then(parse).is_none_or(|cuda| *gpus > cuda));
        HostDriver {
            min: above.map(|driver| driver.branch.to_string()).or(of_cuda),
            max_branch: last.map(|(branch, _)| branch),
            apart: None,
        }
    }
}

/// The oldest driver of the image's own documentation, or of the build's CUDA.
fn of_cuda(criteria: &Criteria, build: &Build) -> Option<String> {
    let cuda = build.cuda()?;
    let of_image = |image: &Image| {
        let toolkit = || criteria.catalog.cuda().minor(&cuda.text()).and_then(|row| row.driver_min.clone());
        image.driver_min.clone().or_else(toolkit)
    };
    let of_major = || criteria.catalog.cuda().major_driver_min(cuda.major()).map(str::to_owned);
    build.image.and_then(of_image).or_else(of_major)
}

/// The last driver branch that has the GPU's architecture.
pub(crate) fn last_branch(criteria: &Criteria, gpu: &Gpu) -> Option<u32> {
    criteria.catalog.cuda().architecture(gpu.capability)?.last_driver_branch
}

/// `525.60.13`, or a branch alone (`580`).
pub(crate) fn parse(text: &str) -> Option<DriverVersion> {
    text.parse().or_else(|_| format!("{text}.0").parse()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::testing::{build, card, gpu, named};
    use crate::request::{Request, Requirement};
    use catalog::testing::catalog;

    fn of(gpus: &[Requirement], torch: (&str, &str)) -> HostDriver {
        let request = Request { requirements: gpus.to_vec(), ..Request::default() };
        HostDriver::of(&Criteria::from_request(catalog(), &request), build(torch.0, torch.1))
    }

    fn range(gpus: &[Requirement], torch: (&str, &str)) -> (Option<String>, Option<u32>) {
        let driver = of(gpus, torch);
        assert_eq!(driver.apart, None);
        (driver.min, driver.max_branch)
    }

    fn text(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    const CU128: (&str, &str) = ("2.11.0", "cu128");

    #[test]
    fn minimum_driver_is_the_newest_of_cuda_and_all_gpus() {
        assert_eq!(range(&[], CU128), (text("525.60.13"), None));
        assert_eq!(range(&[card("rtx-5090")], CU128), (text("570"), None));
        assert_eq!(range(&[card("rtx-5090"), card("t4")], CU128), (text("570"), None));
        assert_eq!(range(&[card("b200")], ("2.15.0", "cu132")), (text("580"), None), "that of CUDA 13");
        assert_eq!(range(&[gpu("sm_80", (8, 0), None)], CU128), (text("525.60.13"), None));
    }

    #[test]
    fn capability_uses_the_minimum_driver_of_its_oldest_gpu() {
        assert_eq!(range(&[named("sm_120")], CU128), (text("570"), None));
        assert_eq!(range(&[named("sm_75")], CU128), (text("525.60.13"), None));
    }

    #[test]
    fn maximum_branch_is_the_last_that_supports_the_gpu() {
        assert_eq!(range(&[card("v100")], ("2.14.1", "cu126")), (text("525.60.13"), Some(580)));
        assert_eq!(range(&[card("k80")], ("2.7.1", "cu118")), (text("450.80.02"), Some(470)));
        assert_eq!(range(&[card("v100"), card("b200")], CU128), (text("570"), Some(580)));
    }

    #[test]
    fn reports_gpus_without_a_common_driver() {
        let driver = of(&[card("k80"), card("rtx-4090")], ("2.7.1", "cu118"));
        assert_eq!((driver.min, driver.max_branch), (text("450.80.02"), None));
        let [newer, older] = driver.apart.unwrap();
        assert!(newer.1 > 470, "{newer:?}");
        assert_eq!(older, ("Tesla K80".to_owned(), 470));
    }
}
