//! The engine cannot run a container with the machine's GPUs (`check --live`).

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "live-container-fails",
    group: Group::Docker,
    severity: Severity::Error,
    applies: Applies::Host,
    summary: "a container starts, with GPUs where the machine has them (`check --live`)",
    explain: include_str!("live_container_fails.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let live = facts.live.require("only with --live")?;
    let failure = match &live.in_container {
        Ok(_) => return Ok(Verdict::Pass),
        Err(failure) => failure,
    };
    if !failure.of_container {
        return Err(Verdict::unknown(format!(
            "a container of {} started, but envdoc could not run inside it ({}: {})",
            live.image, failure.step, failure.message
        )));
    }
    let with = if live.gpus { " with all GPUs" } else { "" };
    let message = format!(
        "could not run a container of {}{with}; {} failed: {}",
        live.image, failure.step, failure.message
    );
    Ok(Verdict::error(message, fix(failure.no_gpu_runtime))
        .evidence(format!("{}: {}", failure.step, failure.message)))
}

fn fix(no_gpu_runtime: bool) -> Fix {
    if no_gpu_runtime {
        let text = "Install nvidia-container-toolkit, then register it with Docker:";
        let commands =
            ["sudo nvidia-ctk runtime configure --runtime=docker", "sudo systemctl restart docker"];
        return Fix::restarts_service(text, &commands);
    }
    let text = "Read the engine's log:";
    Fix::safe(text, &["sudo journalctl -u docker --since -10min --no-pager"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge_one;
    use facts::live::{Failure, Live};
    use facts::testing::nothing_known;
    use facts::{Fact, Role};

    fn facts(failure: Option<(&'static str, bool)>) -> Facts {
        let mut facts = nothing_known("not looked at");
        facts.expected.role = Some(Role::GpuNode);
        let in_container = match failure {
            None => Ok(Box::new(nothing_known("inside"))),
            Some((message, of_container)) => {
                let step = "starting the container";
                Err(Failure { step, message: message.into(), of_container, no_gpu_runtime: of_container })
            }
        };
        facts.live = Fact::Known(Live { image: "debian:12".into(), gpus: true, in_container });
        facts
    }

    #[test]
    fn finding_quotes_the_engine_error() {
        // Docker's own text when neither the hook nor CDI serves `--gpus` (moby, daemon/devices.go).
        let message = "could not select device driver \"\" with capabilities: [[gpu]]";
        let verdict = judge_one(&CHECK, &facts(Some((message, true))));
        let Verdict::Found(found) = &verdict else { panic!("{verdict:?}") };
        assert!(found.message.contains(message), "{found:?}");
        assert!(format!("{found:?}").contains("nvidia-ctk runtime configure"), "{found:?}");
    }

    #[test]
    fn a_container_that_envdoc_cannot_look_into_is_unknown() {
        assert!(matches!(judge_one(&CHECK, &facts(Some(("no libc", false)))), Verdict::Unknown(_)));
        assert_eq!(judge_one(&CHECK, &facts(None)), Verdict::Pass);
        let mut none = facts(None);
        none.live = Fact::Absent;
        assert!(matches!(judge_one(&CHECK, &none), Verdict::NotApplicable(_)));
    }
}
