//! CPU limits in words, and in the verdict.

use super::cpu_limit::{Limit, REMARK_PART, Reading, Throttled};
use super::outcome::{Outcome, Verdict};
use diagnostic::Fix;

/// What CPU limits explain of a run that was measured: reasons, each with what to do. What explains nothing
/// becomes a remark, and so does a counter that was not read.
pub(super) fn judge(outcome: &mut Outcome) -> Vec<(String, Vec<Fix>)> {
    let mut reasons = Vec::new();
    for reading in &outcome.network.cpu_limits {
        match &reading.found {
            Ok(Some(found)) if found.is_cause() => {
                reasons.push((message(reading, found), fixes(reading, found)))
            }
            Ok(Some(found)) if found.part() >= REMARK_PART => outcome.remarks.push(message(reading, found)),
            Ok(_) => {}
            Err(why) => outcome
                .remarks
                .push(format!("could not check whether a CPU limit throttled {}: {why}", subject(reading))),
        }
    }
    reasons
}

/// Adds the CPU limits that throttled a rank to a run in which a phase failed. Whether they are why it failed
/// is not known: a worker that exits exits for another reason.
pub(super) fn add(outcome: &mut Outcome) {
    for (message, fixes) in judge(outcome) {
        // A CPU limit does not make sums wrong.
        if outcome.verdict == Verdict::Wrong {
            outcome.remarks.push(message);
        } else {
            outcome.message += &format!("; {message}");
            outcome.fixes.extend(fixes);
        }
    }
}

fn subject(reading: &Reading) -> String {
    reading
        .container
        .as_ref()
        .map_or("the ranks of this machine".to_owned(), |name| format!("container {name}"))
}

/// `0.1 CPUs`.
fn limit(limit: Limit) -> String {
    match limit {
        Limit::Cpus(cpus) => format!("the CPU limit of {} CPUs", (cpus * 100.0).round() / 100.0),
        Limit::Unlimited => "a CPU limit".to_owned(),
        Limit::Unknown => "a CPU limit that could not be read".to_owned(),
    }
}

fn message(reading: &Reading, found: &Throttled) -> String {
    let Throttled { group, periods, throttled_periods, throttled_seconds, seconds } = found;
    format!(
        "{} throttled {} in {throttled_periods} of {periods} periods (nr_throttled in {}), for \
            {throttled_seconds:.1} s (sum over CPUs) in {seconds:.1} s",
        limit(group.limit),
        subject(reading),
        group.file,
    )
}

fn fixes(reading: &Reading, found: &Throttled) -> Vec<Fix> {
    let (stat, max) = (&found.group.file, &found.group.limit_file);
    let Some(name) = &reading.container else {
        return vec![
            Fix::run("Confirm the CPU limit:", format!("cat {max} {stat}")),
            Fix::run(
                "Raise the CPU limit of the container, on its machine, if this session is in one:",
                "docker update --cpus N CONTAINER",
            ),
            Fix::run(
                "Raise the CPU limit of the systemd unit, if this session is in one:",
                "sudo systemctl set-property UNIT CPUQuota=",
            ),
        ];
    };
    vec![
        Fix::safe(
            format!("Confirm the CPU limit on the machine of {name}:"),
            &[
                &format!("docker exec {name} cat {max} {stat}"),
                &format!(
                    "docker inspect -f '{{{{.HostConfig.NanoCpus}}}} {{{{.HostConfig.CpuQuota}}}}' {name}"
                ),
            ],
        ),
        Fix::run(
            format!("Raise the CPU limit of the container on the machine of {name}:"),
            format!("docker update --cpus N {name}"),
        ),
        Fix::run(
            format!("Remove its CpuQuota, where it is set, on the machine of {name}:"),
            format!("docker update --cpu-quota -1 {name}"),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::cpu_limit::{Unread, tests::throttled};
    use super::*;

    fn reading(container: Option<&str>, found: Result<Option<Throttled>, Unread>) -> Reading {
        Reading { container: container.map(str::to_owned), found }
    }

    fn outcome(readings: Vec<Reading>) -> Outcome {
        let names = ["node1", "node2"].map(str::to_owned).to_vec();
        let mut outcome = Outcome::new(catalog::testing::catalog(), names);
        outcome.network.cpu_limits = readings;
        outcome
    }

    #[test]
    fn a_throttled_container_is_named_with_its_limit_and_the_commands() {
        let mut outcome =
            outcome(vec![reading(Some("node1"), Ok(None)), reading(Some("node2"), Ok(Some(throttled(60))))]);
        let [(message, fixes)] = &judge(&mut outcome)[..] else { panic!() };
        assert_eq!(
            message,
            "the CPU limit of 0.1 CPUs throttled container node2 in 60 of 80 periods (nr_throttled in \
                /sys/fs/cgroup/cpu.stat), for 5.4 s (sum over CPUs) in 8.0 s"
        );
        let confirm = "docker exec node2 cat /sys/fs/cgroup/cpu.max /sys/fs/cgroup/cpu.stat";
        assert_eq!(fixes[0].commands[0], confirm);
        assert_eq!(fixes[1].commands, ["docker update --cpus N node2"]);
        assert!(outcome.remarks.is_empty());
    }

    #[test]
    fn unread_counter_and_brief_throttling_are_only_remarks() {
        let mut outcome = outcome(vec![
            reading(Some("node1"), Err(Unread::NoCounter)),
            reading(Some("node2"), Ok(Some(throttled(2)))),
        ]);
        assert!(judge(&mut outcome).is_empty());
        assert_eq!(
            outcome.remarks[0],
            "could not check whether a CPU limit throttled container node1: no `cpu.stat` of its cgroup in \
                /sys/fs/cgroup"
        );
        assert!(outcome.remarks[1].contains("container node2 in 2 of 80 periods"), "{:?}", outcome.remarks);
    }

    #[test]
    fn throttling_extends_failures_but_not_wrong_results() {
        let mut failed = outcome(vec![reading(None, Ok(Some(throttled(70))))]);
        (failed.verdict, failed.message) = (Verdict::Failed, "bandwidth: the connection stalled".into());
        add(&mut failed);
        assert!(
            failed.message.starts_with(
                "bandwidth: the connection stalled; the CPU limit of 0.1 CPUs throttled the ranks of this \
                    machine"
            ),
            "{}",
            failed.message
        );
        assert!(failed.fixes[1].title.starts_with("Raise the CPU limit"), "{:?}", failed.fixes);
        let mut wrong = outcome(vec![reading(None, Ok(Some(throttled(70))))]);
        (wrong.verdict, wrong.message) = (Verdict::Wrong, "3 elements are wrong".into());
        add(&mut wrong);
        assert!(
            wrong.message == "3 elements are wrong" && wrong.remarks.len() == 1 && wrong.fixes.is_empty()
        );
    }
}
