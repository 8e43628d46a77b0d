//! Clocks of nodes that differ: the certificates of a swarm hold for a time.

use diagnostic::Fix;
use diagnostic::units::rough_time;

use crate::observed_state::ObservedState;
use crate::problem::{Problem, Step};

/// Seconds by which clocks may differ before the certificates of a swarm do not hold.
const CLOCK_SKEW_LIMIT_SECONDS: i64 = 300;
/// Seconds by which clocks may differ before a note is printed.
const CLOCK_SKEW_NOTE_SECONDS: i64 = 3;

/// Nodes whose clocks are far from the first one's.
pub(super) fn apart(observed: &[ObservedState]) -> Vec<Problem> {
    let Some((first, ahead)) = observed.first().and_then(|first| Some((first, first.ahead?))) else {
        return Vec::new();
    };
    let off = |node: &ObservedState| {
        node.ahead.map(|own| own - ahead).filter(|off| off.abs() > CLOCK_SKEW_LIMIT_SECONDS)
    };
    let problem = |(node, off): (&ObservedState, i64)| {
        let word = if off > 0 { "ahead of" } else { "behind" };
        Problem::of(
            Step::Connect,
            &node.name,
            format!(
                "the clock of {} is {} {word} that of {}; swarm certificates would be invalid",
                node.name,
                rough_time(off.abs() as f64),
                first.name
            ),
        )
        .fix(Fix::run("Synchronize the clocks on both nodes:", "timedatectl set-ntp true"))
    };
    observed.iter().filter_map(|node| off(node).map(|off| (node, off))).map(problem).collect()
}

/// Notes about clocks that differ by less.
pub(super) fn slightly_apart(observed: &[ObservedState]) -> Vec<String> {
    let Some(ahead) = observed.first().and_then(|first| first.ahead) else { return Vec::new() };
    let off = |node: &ObservedState| {
        node.ahead
            .map(|own| own - ahead)
            .filter(|off| (CLOCK_SKEW_NOTE_SECONDS..=CLOCK_SKEW_LIMIT_SECONDS).contains(&off.abs()))
    };
    let message = |(node, off): (&ObservedState, i64)| {
        format!(
            "the clock of {} is {} off; synchronize it: `timedatectl set-ntp true`",
            node.name,
            rough_time(off.abs() as f64)
        )
    };
    observed.iter().filter_map(|node| off(node).map(|off| (node, off))).map(message).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_differ_are_a_problem_or_a_note() {
        let node = |name: &str, ahead| ObservedState {
            name: name.into(),
            ahead: Some(ahead),
            ..ObservedState::default()
        };
        let observed = [node("node1", 1), node("node2", 3601), node("node3", 0), node("node4", 11)];
        let problems = apart(&observed);
        assert_eq!(problems.len(), 1);
        assert!(
            problems[0].message.starts_with("the clock of node2 is 60 minutes ahead of that of node1"),
            "{problems:?}"
        );
        assert_eq!(slightly_apart(&observed).len(), 1);
    }
}
