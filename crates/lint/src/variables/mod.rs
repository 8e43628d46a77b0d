//! Rules about environment variables, wherever they are set.

pub(crate) mod allocator_option_invalid;
pub(crate) mod debugging_left_on;
pub(crate) mod deepspeed_env_invalid;
pub(crate) mod deepspeed_timeout_unit;
pub(crate) mod default_made_worse;
pub(crate) mod device_kind_wrong;
pub(crate) mod driver_capabilities_incomplete;
pub(crate) mod env_file_line_misread;
pub(crate) mod failures_hidden;
pub(crate) mod launcher_variable_fixed;
pub(crate) mod libraries_shadowed;
pub(crate) mod loopback_between_nodes;
pub(crate) mod main_interface_excluded;
pub(crate) mod name_prefix_too_wide;
pub(crate) mod nccl_conf_misread;
pub(crate) mod rank_out_of_range;
pub(crate) mod transport_switched_off;
pub(crate) mod variable_names_nothing_here;
pub(crate) mod variable_no_longer_read;
pub(crate) mod variable_not_forwarded;
pub(crate) mod variable_not_read;
pub(crate) mod variable_renamed;
pub(crate) mod variable_value_not_taken;
pub(crate) mod variables_contradict;
pub(crate) mod visible_devices_invalid;

use std::collections::BTreeMap;

use super::read::settings::{Held, Settings};
use super::rule::Found;
use facts::{Fact, Facts};
use judge::{Verdict, judge_one, with_ids};

/// What checks of machines say where what a file sets is set there.
fn with_facts(settings: &Settings, facts: &Facts, ids: &[&str]) -> Vec<Found> {
    let mut found = Vec::new();
    for scope in &settings.scopes {
        // One at a time and with all: a check names the first that is wrong.
        let lasting =
            scope.settings.iter().filter(|one| one.held != Held::Command && one.held != Held::Unexported);
        let set: BTreeMap<String, String> =
            lasting.clone().filter_map(|one| Some((one.name.clone(), one.value.clone()?))).collect();
        let mut there = facts.clone();
        there.environment.variables = Fact::Known(set);
        there.environment.etc_environment = Fact::Known(BTreeMap::new());
        for check in with_ids(settings.checks, ids) {
            let verdict = judge_one(check, &there);
            let Verdict::Found(said) = verdict else { continue };
            let Some(name) = &said.subject.name else { continue };
            let Some(one) = lasting.clone().rfind(|one| one.name == *name) else { continue };
            found.push(Found::of_check(one.location.clone(), &said));
        }
    }
    found
}
