//! A container was started with all GPUs, and they did not arrive in it (`check --live`).

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "live-gpu-missing",
    group: Group::Toolkit,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "a container gets the GPUs, device nodes and driver library (`check --live`)",
    explain: include_str!("live_gpu_missing.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let live = facts.live.require("only with --live")?;
    let in_container = match &live.in_container {
        Ok(in_container) => in_container,
        Err(failure) => {
            return Err(Verdict::Unknown(
                format!("could not check inside a container: {} failed", failure.step).into(),
            ));
        }
    };
    let fix = Fix::restarts_service(
        "Register the toolkit with Docker, then check again:",
        &[
            "sudo nvidia-ctk runtime configure --runtime=docker",
            "sudo systemctl restart docker",
            "envdoc check --live",
        ],
    );
    let nodes = in_container.driver.device_nodes.decided()?.cloned().unwrap_or_default();
    let host = facts.driver.device_nodes.decided()?.cloned().unwrap_or_default();
    if nodes.gpus.len() < host.gpus.len() || !nodes.control {
        let message = format!(
            "a container with all GPUs has {} of the host's {} device nodes /dev/nvidiaN{}",
            nodes.gpus.len(),
            host.gpus.len(),
            if nodes.control { "" } else { " and no /dev/nvidiactl" }
        );
        return Ok(Verdict::error(message, fix));
    }
    let Some(library) = in_container.driver.library.decided()? else {
        let message = "a container with all GPUs has their device nodes but no libcuda.so.1: the driver's \
                       library was not injected, so CUDA cannot start";
        return Ok(Verdict::error(message, fix));
    };
    let module = facts.driver.module.require("the driver is not loaded")?;
    if module.version != *library {
        let message = format!(
            "the driver library inside a container is {library} but the loaded kernel module is {}; CUDA \
             cannot start until the two match",
            module.version
        );
        let fix = Fix::safe(
            "Regenerate the CDI specification:",
            &["sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"],
        );
        return Ok(Verdict::error(message, fix));
    }
    Ok(Verdict::Pass)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge_one;
    use facts::driver::{DeviceNodes, Module};
    use facts::live::Live;
    use facts::testing::nothing_known;
    use facts::{Fact, Role};

    fn facts(in_container: impl FnOnce(&mut Facts)) -> Facts {
        let version = "550.90.07".parse().unwrap();
        let mut facts = nothing_known("not looked at");
        facts.expected.role = Some(Role::GpuNode);
        facts.driver.device_nodes =
            Fact::Known(DeviceNodes { gpus: vec![0, 1], control: true, uvm: true, ..DeviceNodes::default() });
        facts.driver.module = Fact::Known(Module { version, open: true });
        facts.driver.library = Fact::Known(version);
        let mut container = facts.clone();
        in_container(&mut container);
        facts.live = Fact::Known(Live {
            image: "debian:12".into(),
            gpus: true,
            in_container: Ok(Box::new(container)),
        });
        facts
    }

    type Change = fn(&mut Facts);

    #[test]
    fn names_missing_device_nodes_and_libraries() {
        let cases: [(Change, &str); 3] = [
            (|f| f.driver.device_nodes = Fact::Absent, "0 of the host's 2 device nodes"),
            (|f| f.driver.library = Fact::Absent, "no libcuda.so.1"),
            (
                |f| f.driver.library = Fact::Known("535.183.01".parse().unwrap()),
                "inside a container is 535.183.01",
            ),
        ];
        for (change, expected) in cases {
            let verdict = judge_one(&CHECK, &facts(change));
            assert!(
                matches!(&verdict, Verdict::Found(found) if found.message.contains(expected)),
                "{verdict:?}"
            );
        }
    }

    #[test]
    fn complete_container_passes_and_unknown_stays_unknown() {
        assert_eq!(judge_one(&CHECK, &facts(|_| {})), Verdict::Pass);
        let verdict = judge_one(&CHECK, &facts(|f| f.driver.library = Fact::Unknown("why".into())));
        assert!(matches!(verdict, Verdict::Unknown(_)));
    }
}
