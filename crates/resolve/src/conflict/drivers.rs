//! The nearest driver with which all other requirements hold.

use super::super::request::{Requirement, RequirementKind};
use super::super::verdict::Tolerance;
use super::core::Searcher;
use super::relaxed::{Cost, Relaxed};
use crate::host_driver::parse;
use crate::parameter::{Parameter, Source};
use facts::driver::DriverVersion;

/// The oldest newer driver that does, or else the newest older one.
pub(super) fn relax(
    searcher: &mut Searcher,
    driver: DriverVersion,
    source: &Source,
    others: &[Requirement],
) -> Vec<Relaxed> {
    let mut newer: Vec<DriverVersion> =
        floors(searcher, others).into_iter().filter(|one| *one > driver).collect();
    newer.sort();
    newer.dedup();
    let mut older: Vec<DriverVersion> = searcher
        .universe
        .catalog
        .drivers()
        .all()
        .iter()
        .filter_map(|row| parse(row.latest.as_deref()?))
        .filter(|one| *one < driver)
        .collect();
    older.sort_by(|one, other| other.cmp(one));
    for (candidates, or) in [(newer, "or newer "), (older, "")] {
        for tolerance in Tolerance::ALL {
            let holds = |one: &&DriverVersion| {
                let mut requirements = others.to_vec();
                requirements
                    .push(Requirement { source: Source::Trial, kind: RequirementKind::Driver(**one) });
                searcher.hold_within(&requirements, tolerance)
            };
            if let Some((index, found)) = candidates.iter().find(holds).map(|one| (0, *one)) {
                return vec![relaxed(found, driver, source, or, tolerance, index)];
            }
        }
    }
    Vec::new()
}

fn relaxed(
    found: DriverVersion,
    driver: DriverVersion,
    source: &Source,
    or_newer: &str,
    tolerance: Tolerance,
    steps: usize,
) -> Relaxed {
    let new_source = Source::option(Parameter::Driver, short(found).to_string());
    // The driver of a machine is not an option: the machine must get another one.
    let option = source.parameter().is_some().then(|| new_source.to_string());
    Relaxed {
        replacement: Some(Requirement { source: new_source, kind: RequirementKind::Driver(found) }),
        option,
        change: format!("driver {} {or_newer}instead of {}", short(found), short(driver)),
        cost: Cost { weight: 3, tolerance, steps },
    }
}

/// The drivers from which on something more is possible: what CUDA releases and the required GPUs need at
/// least.
fn floors(searcher: &Searcher, others: &[Requirement]) -> Vec<DriverVersion> {
    let majors = searcher.universe.catalog.cuda().majors().iter().map(|row| row.driver_min.as_str());
    let releases = searcher.universe.catalog.cuda().all().iter().filter_map(|row| row.driver_min.as_deref());
    let gpus = others.iter().filter_map(|requirement| match &requirement.kind {
        RequirementKind::Gpu(gpu) => {
            gpu.driver_branch_min.map(|branch| DriverVersion { branch, minor: 0, patch: None })
        }
        _ => None,
    });
    majors.chain(releases).filter_map(parse).chain(gpus).collect()
}

/// The branch alone if there is no minor number.
fn short(driver: DriverVersion) -> String {
    match driver {
        DriverVersion { branch, minor: 0, patch: None } => branch.to_string(),
        _ => driver.to_string(),
    }
}
