//! Swarm services are offered GPUs that they cannot get.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use catalog::toolkit;
use facts::Fact;
use facts::Facts;
use facts::docker::texts;

pub(super) const CHECK: Check = Check {
    id: "swarm-without-nvidia-default-runtime",
    group: Group::Docker,
    severity: Severity::Warning,
    applies: Applies::GpuHost,
    summary: "swarm services get the GPUs that the node offers",
    explain: include_str!("swarm_without_nvidia_default_runtime.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    let info = docker.answering()?;
    if !*docker.in_swarm().require("no engine")? {
        return Err(Verdict::NotApplicable("not in a swarm".into()));
    }
    let shown =
        info.get("GenericResources").is_some_and(|list| list.to_string().to_lowercase().contains("gpu"));
    let value = docker.configured();
    let configured = texts(value.decided()?.and_then(|file| file.get("node-generic-resources")));
    if !shown && !configured.iter().any(|resource| resource.to_lowercase().contains("gpu")) {
        return Err(Verdict::NotApplicable("this node offers no GPU to swarm services".into()));
    }
    let mut missing = Vec::new();
    let runtime = docker.info_text(&["DefaultRuntime"]);
    let runtime = runtime.require("the engine reports no default runtime")?;
    if runtime != "nvidia" {
        missing.push(format!("the default runtime is {runtime}, not nvidia"));
    }
    let config = facts.toolkit.config.decided()?;
    if !config.is_some_and(|config| matches!(config.swarm_resource, Fact::Known(_))) {
        missing.push("swarm-resource is not set in the toolkit's config.toml".to_owned());
    }
    facts.toolkit.version.decided()?;
    let cdi_by_default = facts.toolkit.at_least(toolkit::TOOLKIT_DEFAULTS_TO_CDI) == Fact::Known(true);
    let no_swarm = facts.toolkit.at_least(toolkit::TOOLKIT_CDI_WITH_SWARM) == Fact::Known(false);
    let legacy = facts.toolkit.mode() == Fact::Known("legacy".into());
    if cdi_by_default && no_swarm && !legacy {
        missing.push("toolkit 1.18 ignores swarm-resource in its default mode".to_owned());
    }
    if missing.is_empty() {
        return Ok(Verdict::Pass);
    }
    let message = format!(
        "this node offers GPUs to swarm services, but they will not get them: {}",
        missing.join("; ")
    );
    let commands = [
        "sudo nvidia-ctk runtime configure --runtime=docker --set-as-default",
        "sudo nvidia-ctk config --set swarm-resource=DOCKER_RESOURCE_GPU --in-place",
        "sudo systemctl restart docker",
    ];
    Ok(Verdict::warning(
        message,
        Fix::restarts_service(
            "Upgrade the toolkit to 1.19 or newer (or set mode = \"legacy\" in config.toml), then configure \
             Docker:",
            &commands,
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::sparse::gpu_host;

    use facts::testing::sparse::engine;

    #[test]
    fn gpu_resource_requires_the_nvidia_default_runtime() {
        let of = |runtime: &str, config: &str, version: &str| {
            let info = format!(
                r#"{{"DefaultRuntime":"{runtime}","Swarm":{{"LocalNodeState":"active"}},
                "GenericResources":[{{"NamedResourceSpec":{{"Kind":"GPU","Value":"GPU-1"}}}}]}}"#
            );
            let mut facts =
                gpu_host(&engine(&info, &[("read /etc/nvidia-container-runtime/config.toml", config)]));
            facts.toolkit.version = Fact::Known(version.into());
            verdict_line(&CHECK, &facts)
        };
        let set = "swarm-resource = \"DOCKER_RESOURCE_GPU\"\n";
        assert!(of("runc", set, "1.17.8").contains("the default runtime is runc"));
        assert!(of("nvidia", "", "1.17.8").contains("swarm-resource is not set"));
        assert!(of("nvidia", set, "1.18.2").contains("toolkit 1.18"));
        assert_eq!(of("nvidia", set, "1.19.0"), "pass");
        let idle = gpu_host(&engine(r#"{"Swarm":{"LocalNodeState":"active"}}"#, &[]));
        assert!(verdict_line(&CHECK, &idle).starts_with("not-applicable: this node offers no GPU"));
    }
}
