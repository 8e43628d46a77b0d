//! The nearest driver with which all other wishes hold.

use super::super::request::{Want, Wish};
use super::super::verdict::Tolerance;
use super::core::Searcher;
use super::nearest::{Cost, Relaxed};
use crate::parameter::{Parameter, Source};
use facts::driver::DriverVersion;

/// The oldest newer driver that does, or else the newest older one.
pub(super) fn relax(
    searcher: &mut Searcher,
    driver: DriverVersion,
    source: &Source,
    others: &[Wish],
) -> Vec<Relaxed> {
    let mut newer: Vec<DriverVersion> =
        floors(searcher, others).into_iter().filter(|one| *one > driver).collect();
    newer.sort();
    newer.dedup();
    let mut older: Vec<DriverVersion> = searcher
        .world
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
                let mut wishes = others.to_vec();
                wishes.push(Wish { source: Source::Trial, want: Want::Driver(**one) });
                searcher.hold_within(&wishes, tolerance)
            };
            if let Some((place, found)) = candidates.iter().find(holds).map(|one| (0, *one)) {
                return vec![relaxed(found, driver, source, or, tolerance, place)];
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
    let instead = Source::option(Parameter::Driver, short(found).to_string());
    // The driver of a machine is not an option: the machine must get another one.
    let typed = source.parameter().is_some().then(|| instead.to_string());
    Relaxed {
        replacement: Some(Wish { source: instead, want: Want::Driver(found) }),
        instead: typed,
        change: format!("driver {} {or_newer}instead of {}", short(found), short(driver)),
        cost: Cost { weight: 3, tolerance, steps },
    }
}

/// The drivers from which on something more is possible: what CUDA releases and the wished GPUs need at
/// least.
fn floors(searcher: &Searcher, others: &[Wish]) -> Vec<DriverVersion> {
    let majors = searcher.world.catalog.cuda().majors().iter().map(|row| row.driver_min.as_str());
    let releases = searcher.world.catalog.cuda().all().iter().filter_map(|row| row.driver_min.as_deref());
    let gpus = others.iter().filter_map(|wish| match &wish.want {
        Want::Gpu(gpu) => gpu.driver_branch_min.map(|branch| DriverVersion { branch, minor: 0, patch: None }),
        _ => None,
    });
    majors.chain(releases).filter_map(parse).chain(gpus).collect()
}

/// `525.60.13`, or a branch alone (`580`).
fn parse(text: &str) -> Option<DriverVersion> {
    text.parse().or_else(|_| format!("{text}.0").parse()).ok()
}

/// A branch alone where there is no more to say.
fn short(driver: DriverVersion) -> String {
    match driver {
        DriverVersion { branch, minor: 0, patch: None } => branch.to_string(),
        _ => driver.to_string(),
    }
}
