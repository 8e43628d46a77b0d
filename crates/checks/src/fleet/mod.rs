//! The checks of several machines together: what must be the same on all of them, and what must arrive
//! between them. One file a check, named after the fault.

mod compare;

mod fleet_address_unresolved;
mod fleet_architecture_differs;
mod fleet_clock_skew;
mod fleet_content_differs;
mod fleet_cuda_differs;
mod fleet_driver_differs;
mod fleet_engine_differs;
mod fleet_gpu_differs;
mod fleet_hostname_taken;
mod fleet_image_without_room;
mod fleet_mtu_broken;
mod fleet_nccl_differs;
mod fleet_ports_blocked;
mod fleet_same_machine;
mod fleet_toolkit_differs;

use diagnostic::Verdict;
use facts::fleet::Fleet;
pub use judge::fleet::FleetCheck;

/// Every one, in the order of the report: the most fundamental fault first.
pub const FLEET_CHECKS: &[&FleetCheck] = &[
    &fleet_same_machine::CHECK,
    &fleet_hostname_taken::CHECK,
    &fleet_address_unresolved::CHECK,
    &fleet_ports_blocked::CHECK,
    &fleet_mtu_broken::CHECK,
    &fleet_clock_skew::CHECK,
    &fleet_architecture_differs::CHECK,
    &fleet_gpu_differs::CHECK,
    &fleet_driver_differs::CHECK,
    &fleet_cuda_differs::CHECK,
    &fleet_nccl_differs::CHECK,
    &fleet_engine_differs::CHECK,
    &fleet_toolkit_differs::CHECK,
    &fleet_image_without_room::CHECK,
    &fleet_content_differs::CHECK,
];

/// Why a check of what lies between machines cannot say anything.
fn tried(fleet: &Fleet) -> Result<(), Verdict> {
    if fleet.members.len() < 2 {
        return Err(Verdict::NotApplicable("only one machine".into()));
    }
    match &fleet.not_tried {
        Some(why) => Err(Verdict::unknown(why.clone())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod testing;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::testing::ids_of_files;

    #[test]
    fn every_check_file_is_registered_under_its_id() {
        let ids: BTreeSet<String> = FLEET_CHECKS.iter().map(|check| check.id.to_owned()).collect();
        let files: BTreeSet<String> =
            ids_of_files("fleet", "rs").into_iter().filter(|id| id.starts_with("fleet-")).collect();
        assert_eq!(files, ids);
        assert_eq!(
            ids_of_files("fleet", "md"),
            ids,
            "explanations on the left, ids of FLEET_CHECKS on the right"
        );
        assert_eq!(ids.len(), FLEET_CHECKS.len(), "duplicate id");
    }

    #[test]
    fn every_check_is_documented_and_never_passes_unknown_facts() {
        for check in FLEET_CHECKS {
            let id = check.id;
            assert!(!check.summary.ends_with('.') && check.summary.len() <= 90, "{id}: summary");
            let mut at = 0;
            for heading in
                ["## What it checks\n", "## Why it matters\n", "## How to fix it\n", "## Sources\n"]
            {
                let found = check.explain[at..].find(heading);
                at += found.unwrap_or_else(|| panic!("{id}: {heading:?} is missing or out of order"));
            }
            assert!(!check.explain.lines().any(|line| line.len() > 110), "{id}: a line is too long");
            let verdict = (check.judge)(&testing::unseen()).unwrap_or_else(|verdict| verdict);
            assert!(!matches!(verdict, Verdict::Pass | Verdict::Found(_)), "{id}: {verdict:?}");
        }
    }
}
