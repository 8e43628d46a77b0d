//! Rules about files that configure a machine: Docker's daemon.json, the container toolkit's config.toml,
//! sshd_config. The first two are judged by the checks of machines, on facts in which nothing but the file is
//! known unless `--from` or `--here` says more.

use super::daemon_edits;
use super::read::machine::Machine;
use super::rule::Found;
use judge::{Subject, Verdict, judge_one, with_ids};

/// The findings of some checks about a file.
fn judged(machine: &Machine, ids: &[&str]) -> Vec<Found> {
    let Some(facts) = machine.with_this_file() else { return Vec::new() };
    let checks = with_ids(machine.checks, ids);
    let found = checks.filter_map(|check| {
        let verdict = judge_one(check, &facts);
        let key = verdict.found()?.subject.name.as_deref();
        Some(found(machine, &verdict)?.change_if(daemon_edits::change(machine, key)))
    });
    found.collect()
}

fn found(machine: &Machine, verdict: &Verdict) -> Option<Found> {
    let found = verdict.found()?;
    Some(Found::of_check(line(&machine.text, &found.subject), found))
}

/// The line that a finding is about: its own, else the first with the key that it names.
fn line(text: &str, subject: &Subject) -> usize {
    let count = text.lines().count().max(1);
    let with_key = |key: &String| text.lines().position(|line| line.contains(key.as_str()));
    let of_key = || subject.name.as_ref().and_then(with_key).map(|index| index + 1);
    subject.line.or_else(of_key).unwrap_or(1).clamp(1, count)
}
pub(crate) mod crontab_line_invalid;
pub(crate) mod crontab_percent_unescaped;
pub(crate) mod daemon_json_refused;
pub(crate) mod daemon_value_refused;
pub(crate) mod docker_api_open;
pub(crate) mod limit_above_nr_open;
pub(crate) mod limit_value_misread;
pub(crate) mod sshd_config_refused;
pub(crate) mod sshd_lets_anybody_in;
pub(crate) mod sshd_login_refused;
pub(crate) mod sshd_option_in_match;
pub(crate) mod sshd_option_repeated;
pub(crate) mod sshd_port_differs;
pub(crate) mod toolkit_config_refused;
pub(crate) mod toolkit_key_invalid;
pub(crate) mod toolkit_refuses_visible_devices;
pub(crate) mod toolkit_without_cgroups;
