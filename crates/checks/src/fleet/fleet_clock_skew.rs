//! The machines' clocks differ.

use super::FleetCheck;
use crate::{Fix, Judged, Verdict};
use diagnostic::Severity;
use diagnostic::units::rough_time;
use facts::Fact;
use facts::fleet::{Fleet, Skew};

pub(super) const CHECK: FleetCheck = FleetCheck {
    id: "fleet-clock-skew",
    severity: Severity::Error,
    summary: "the clocks of all machines agree within a second",
    explain: include_str!("fleet_clock_skew.md"),
    judge,
};

/// Seconds between the first and the last clock above which the order of log lines is lost.
const LOGS: f64 = 1.0;
/// Seconds above which certificates and tokens that were just made are refused.
const CERTIFICATES: f64 = 60.0;

fn judge(fleet: &Fleet) -> Judged {
    if fleet.members.len() < 2 {
        return Err(Verdict::NotApplicable("only one machine".into()));
    }
    let known: Vec<(&str, Skew)> = fleet
        .members
        .iter()
        .filter_map(|member| member.skew.known().map(|skew| (member.name.as_str(), *skew)))
        .collect();
    let unknown = fleet.members.iter().find_map(|member| match &member.skew {
        Fact::Known(_) => None,
        Fact::Absent => Some(format!("{}: clock not read", member.name)),
        Fact::Unknown(why) => Some(format!("{}: {why}", member.name)),
    });
    let by_time = |a: &&(&str, Skew), b: &&(&str, Skew)| a.1.seconds.total_cmp(&b.1.seconds);
    let (Some(last), Some(first)) = (known.iter().min_by(by_time), known.iter().max_by(by_time)) else {
        return Err(Verdict::unknown(unknown.unwrap_or_default()));
    };
    let apart = first.1.seconds - last.1.seconds;
    // What the way to them may have added is no difference.
    let surely = apart - first.1.uncertain - last.1.uncertain;
    if surely <= LOGS {
        return match unknown {
            Some(why) => Err(Verdict::unknown(why)),
            None if apart + first.1.uncertain + last.1.uncertain > LOGS => Err(Verdict::unknown(format!(
                "the connections to {} and {} are too slow to compare clocks to the second",
                first.0, last.0
            ))),
            None => Ok(Verdict::Pass),
        };
    }
    let message = format!(
        "the clock of {} is {} ahead of the clock of {}; certificates and tokens may count as not yet valid, \
         and log times do not match",
        first.0,
        rough_time(apart),
        last.0
    );
    let fix = Fix::safe(
        "Turn on time synchronization on the machines whose clock is wrong:",
        &["timedatectl set-ntp true", "timedatectl"],
    );
    let finding = match surely > CERTIFICATES {
        true => Verdict::error(message, fix),
        false => Verdict::warning(message, fix),
    };
    Ok(known.iter().fold(finding, |finding, (name, skew)| {
        finding.evidence(format!("{name}: {:+.3} s (± {:.3})", skew.seconds, skew.uncertain))
    }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{two, verdict_line};
    use super::*;

    #[test]
    fn skew_within_measurement_uncertainty_is_unknown() {
        let of = |seconds: f64, uncertain: f64| {
            let mut fleet = two();
            fleet.members[1].skew = Fact::Known(Skew { seconds, uncertain });
            verdict_line(&CHECK, &fleet)
        };
        assert_eq!(of(0.2, 0.05), "pass");
        assert!(of(1.5, 3.0).starts_with("unknown: the connections to node2 and node1"));
        assert!(of(3.0, 0.1).starts_with("warning: the clock of node2 is 3 s ahead of the clock of node1"));
        assert!(
            of(-3600.0, 0.1)
                .starts_with("error: the clock of node1 is 60 minutes ahead of the clock of node2")
        );
    }
}
