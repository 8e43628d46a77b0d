//! The toolkit leaves control groups alone under a rootful engine.

use super::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

/// The check.
pub const CHECK: Check = Check {
    id: "toolkit-cgroups-disabled",
    group: Group::Toolkit,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "the toolkit gives containers of a rootful engine the right to the devices",
    explain: "\
## What it checks
Whether `no-cgroups = true` stands in the toolkit's `config.toml` while the engine runs with root rights.
The setting is meant for rootless engines.

## Why it matters
The hook then mounts the device files but does not add them to the container's device control group: they
are there and cannot be opened, and `nvidia-smi` in the container says \"Failed to initialize NVML: Unknown
Error\". Where GPUs come by CDI the setting has no effect.

## How to fix it
Take the setting back. Who needs both engines on one machine gives GPUs by CDI.

## Sources
- NVIDIA/cloud-native-docs:container-toolkit/install-guide.md@52dcb7b8 (rootless mode)
- NVIDIA/nvidia-container-toolkit:cmd/nvidia-container-runtime-hook/main.go@d34b3046
",
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    let config = facts.toolkit.config.require("no config.toml: the defaults count")?;
    if config.no_cgroups.decided()? != Some(&true) {
        return Ok(Verdict::Pass);
    }
    docker.answering()?;
    if *docker.rootless().require("no engine")? || docker.gives_gpus_by_cdi(&facts.toolkit)? {
        return Ok(Verdict::Pass);
    }
    let says = format!(
        "{} has no-cgroups = true, which is for rootless engines, and this one is not: containers see the GPUs and may not open \
         them (\"Failed to initialize NVML: Unknown Error\")",
        config.path
    );
    let fix =
        Fix::safe("", &["sudo nvidia-ctk config --set nvidia-container-cli.no-cgroups=false --in-place"]);
    Ok(Verdict::error(says, fix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::says;
    use facts::testing::{Sparse, sparse::gpu_host};

    use facts::testing::sparse::engine;

    #[test]
    fn only_a_rootful_engine_minds() {
        let of = |options: &str, config: &str| {
            let info = format!(r#"{{"ServerVersion":"27.5.1","SecurityOptions":[{options}]}}"#);
            says(
                &CHECK,
                &gpu_host(&engine(&info, &[("read /etc/nvidia-container-runtime/config.toml", config)])),
            )
        };
        let off = "[nvidia-container-cli]\nno-cgroups = true\n";
        assert!(of("", off).starts_with("error: "));
        assert_eq!(of(r#""name=rootless""#, off), "pass");
        assert_eq!(of("", "[nvidia-container-cli]\n"), "pass");
        let denied = Sparse::new(&[])
            .failing(&[("read /etc/nvidia-container-runtime/config.toml", "permission denied")]);
        assert!(says(&CHECK, &gpu_host(&denied)).starts_with("unknown: "));
    }
}
