//! How far a driver runs programs of a CUDA release: the one place where the tables of CUDA and of driver
//! branches meet.

use super::catalog::Catalog;
use super::version::at_least;

/// How far a driver runs programs of a CUDA release without a cuda-compat package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriverSupport<'c> {
    /// The driver is as new as that CUDA.
    Full,
    /// By minor-version compatibility: machine code runs, PTX of the newer CUDA is not translated.
    MinorVersion {
        /// Whether the driver is known to be older than that CUDA; it may be as new.
        older: bool,
    },
    /// The driver is older than what minor-version compatibility needs: a version, or a branch (`580`).
    TooOld {
        /// The oldest driver that does.
        needs: &'c str,
    },
    /// The catalog has no driver for this CUDA.
    Unknown,
}

/// Whether the cuda-compat package of a CUDA release makes a driver run it that is too old by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForwardSupport<'c> {
    Works,
    /// Forward compatibility needs data-centre GPUs.
    NotDataCentre,
    /// It works on these driver branches, and this driver is of another one.
    OtherBranches(&'c [u32]),
    /// It works on this driver branch; whether the GPU is a data-centre card is not known.
    UnknownGpu,
    /// The catalog does not know on which driver branches it works.
    UnknownRelease,
}

impl Catalog {
    /// Whether a driver of a branch runs programs of a CUDA release (`12.4`) by forward compatibility.
    /// `data_centre`: whether every GPU is a data-centre card, where that is known.
    pub fn forward_support(&self, branch: u32, cuda: &str, data_centre: Option<bool>) -> ForwardSupport<'_> {
        if data_centre == Some(false) {
            return ForwardSupport::NotDataCentre;
        }
        match (self.cuda().forward(cuda), data_centre) {
            (None, _) => ForwardSupport::UnknownRelease,
            (Some(row), _) if !row.driver_branches.contains(&branch) => {
                ForwardSupport::OtherBranches(&row.driver_branches)
            }
            (_, None) => ForwardSupport::UnknownGpu,
            _ => ForwardSupport::Works,
        }
    }

    /// How far a driver (`550.54.14`, of branch 550) runs programs of a CUDA minor.
    pub fn driver_support(&self, driver: &str, branch: u32, cuda: (u32, u32)) -> DriverSupport<'_> {
        let of_branch = self.drivers().cuda_at_least(branch);
        let shipped = self.cuda().of_minor(cuda).and_then(|row| row.driver_min.as_deref());
        let as_new = |full: &str| at_least(driver, full) == Some(true);
        if of_branch.is_some_and(|known| known >= cuda) || shipped.is_some_and(as_new) {
            return DriverSupport::Full;
        }
        let Some(needs) = self.cuda().major_driver_min(cuda.0) else { return DriverSupport::Unknown };
        match at_least(driver, needs) {
            Some(true) => {
                let older = self.drivers().branch(branch).is_some_and(|row| row.cuda.is_some());
                DriverSupport::MinorVersion { older: older || shipped.is_some() }
            }
            Some(false) => DriverSupport::TooOld { needs },
            None => DriverSupport::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn support(driver: &str, cuda: (u32, u32)) -> DriverSupport<'static> {
        let branch = driver.split('.').next().unwrap().parse().unwrap();
        crate::testing::catalog().driver_support(driver, branch, cuda)
    }

    #[test]
    fn forward_compatibility() {
        let forward =
            |branch, cuda, data_centre| crate::testing::catalog().forward_support(branch, cuda, data_centre);
        assert_eq!(forward(535, "12.4", Some(true)), ForwardSupport::Works);
        assert_eq!(forward(535, "12.4.1", None), ForwardSupport::UnknownGpu);
        assert_eq!(forward(535, "12.4", Some(false)), ForwardSupport::NotDataCentre);
        assert!(
            matches!(forward(530, "12.4", None), ForwardSupport::OtherBranches(list) if list.contains(&535))
        );
        assert_eq!(forward(535, "99.0", Some(true)), ForwardSupport::UnknownRelease);
    }

    #[test]
    fn classifies_driver_support_per_cuda_release() {
        assert_eq!(support("550.54.14", (12, 4)), DriverSupport::Full);
        assert_eq!(support("551.23", (12, 4)), DriverSupport::Full, "a branch after one that is known");
        assert_eq!(support("525.60.13", (12, 6)), DriverSupport::MinorVersion { older: true });
        assert_eq!(support("525.60.11", (12, 6)), DriverSupport::TooOld { needs: "525.60.13" });
        assert_eq!(support("575.57.08", (13, 0)), DriverSupport::TooOld { needs: "580" });
        assert_eq!(support("580.65.06", (99, 0)), DriverSupport::Unknown);
    }
}
