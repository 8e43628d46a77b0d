//! DEEPSPEED_TIMEOUT is given in seconds.

use crate::read::settings::Settings;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "deepspeed-timeout-unit",
    severity: Severity::Warning,
    summary: "DEEPSPEED_TIMEOUT is in minutes",
    explain: include_str!("deepspeed_timeout_unit.md"),
    judge: Judge::Variables(judge),
    fires: &[named("train.sh", "export DEEPSPEED_TIMEOUT=7200\ndeepspeed train.py\n")],
    silent: &[named("train.sh", "export DEEPSPEED_TIMEOUT=60\ndeepspeed train.py\n")],
};

/// Minutes of a day.
const DAY: u64 = 24 * 60;

fn judge(settings: &Settings) -> Vec<Found> {
    let found = settings.known().filter(|(_, one, _)| one.name == "DEEPSPEED_TIMEOUT").filter_map(
        |(_, one, value)| {
            let minutes = value.parse::<u64>().ok().filter(|minutes| *minutes >= DAY)?;
            let message =
                format!("DEEPSPEED_TIMEOUT={minutes} is {} hours; the unit is minutes", minutes / 60);
            let fix = format!("Set DEEPSPEED_TIMEOUT={}", (minutes / 60).max(10));
            Some(Found::warning(one.location.clone(), message, fix))
        },
    );
    found.collect()
}
