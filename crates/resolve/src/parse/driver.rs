//! Driver versions as people name them.

use super::ParameterError;
use crate::outcome::Warning;
use crate::parameter::Parameter;
use catalog::Catalog;
use facts::driver::DriverVersion;

/// `550.54.14`, `550`, `R550`. A branch alone is read as its oldest release: what runs there runs on every
/// other.
pub(super) fn driver(
    catalog: &Catalog,
    text: &str,
) -> Result<(DriverVersion, Option<Warning>), ParameterError> {
    let typed = text.trim();
    let bare = typed.trim_start_matches(['r', 'R', 'v']);
    if let Ok(branch) = bare.parse::<u32>() {
        known(catalog, typed, branch)?;
        return Ok((DriverVersion { branch, minor: 0, patch: None }, warning(catalog, typed, branch)));
    }
    let driver: DriverVersion = bare.parse().map_err(|_| {
        let position = bare.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(bare.len());
        let position = typed.len() - bare.len() + position;
        let message = format!("{typed:?} is neither a driver version (550.54.14) nor a branch (550)");
        ParameterError::at(Parameter::Driver, typed, position, message)
    })?;
    known(catalog, typed, driver.branch)?;
    Ok((driver, unlisted(catalog, typed, driver.branch)))
}

/// Refuses what cannot be a branch; one that is between or above those of the catalog may be real.
fn known(catalog: &Catalog, typed: &str, branch: u32) -> Result<(), ParameterError> {
    let oldest = catalog.drivers().all().first().map_or(0, |row| row.branch);
    if (oldest..1000).contains(&branch) || (300..1000).contains(&branch) {
        return Ok(());
    }
    let near = catalog.drivers().all().iter().min_by_key(|row| row.branch.abs_diff(branch));
    Err(ParameterError::of_value(Parameter::Driver, typed, format!("there is no driver branch {branch}"))
        .near(near.map(|row| row.branch.to_string()).as_deref())
        .hint("`nvidia-smi` shows the driver's version; CUDA's goes to --cuda"))
}

fn warning(catalog: &Catalog, typed: &str, branch: u32) -> Option<Warning> {
    unlisted(catalog, typed, branch).or_else(|| floor_within(catalog, typed, branch))
}

/// A warning about a branch that the catalog does not have.
fn unlisted(catalog: &Catalog, typed: &str, branch: u32) -> Option<Warning> {
    let branches = catalog.drivers().all().iter().map(|row| row.branch);
    let before = branches.clone().filter(|known| *known <= branch).max()?;
    (before != branch).then(|| Warning {
        id: "driver-branch-unknown".into(),
        message: format!(
            "The catalog has no driver branch {branch} (--driver {typed}): it is taken to support what \
             branch {before} does. `nvidia-smi` shows the installed version."
        ),
    })
}

/// A warning where it matters which release of the branch it is.
fn floor_within(catalog: &Catalog, typed: &str, branch: u32) -> Option<Warning> {
    let majors = catalog.cuda().majors().iter();
    let floor = majors.filter_map(|row| Some((row.major, row.driver_min.parse::<DriverVersion>().ok()?)));
    let (major, floor) = floor.clone().find(|(_, floor)| floor.branch == branch && floor.minor > 0)?;
    Some(Warning {
        id: "driver-branch-alone".into(),
        message: format!(
            "--driver {typed} was read as the oldest release of the branch; from {floor} on it runs CUDA \
                {major}: \
             write the whole version if yours is as new"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::Naming;
    use catalog::testing::catalog;

    fn read(text: &str) -> String {
        driver(catalog(), text).unwrap().0.to_string()
    }

    #[test]
    fn versions_and_branches() {
        assert_eq!(read("550.54.14"), "550.54.14");
        assert_eq!(driver(catalog(), "550").unwrap(), driver(catalog(), "R550").unwrap());
        let oldest = driver(catalog(), "550").unwrap().0;
        assert!(oldest < "550.40.07".parse().unwrap() && oldest > "545.999.99".parse().unwrap());
        assert_eq!(
            driver(catalog(), "550").unwrap().1,
            None,
            "every release of 550 is above CUDA 12's floor"
        );
        assert!(driver(catalog(), "525").unwrap().1.unwrap().message.contains("525.60.13"));
        assert!(driver(catalog(), "525.60.13").unwrap().1.is_none());
    }

    #[test]
    fn a_branch_that_the_catalog_does_not_have_is_named() {
        for typed in ["999", "999.10"] {
            let warning = driver(catalog(), typed).unwrap().1.unwrap();
            assert!(warning.message.contains("no driver branch 999"), "{}", warning.message);
        }
        assert!(driver(catalog(), "580.65.06").unwrap().1.is_none());
    }

    #[test]
    fn rejects_invalid_driver_versions() {
        assert!(driver(catalog(), "12.4").unwrap_err().hints.join(" ").contains("--cuda"));
        let error = driver(catalog(), "550.x").unwrap_err().message(Naming::Options);
        assert!(error.ends_with("\n  --driver 550.x\n               ^"), "{error}");
        assert!(driver(catalog(), "").is_err() && driver(catalog(), "latest").is_err());
    }
}
