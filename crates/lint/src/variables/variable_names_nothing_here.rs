//! A variable names an interface, adapter or GPU that the machine does not have.

use super::with_facts;
use crate::read::settings::Settings;
use crate::rule::{Found, Judge, Kind, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "variable-names-nothing-here",
    severity: Severity::Error,
    summary: "variables name interfaces, adapters and GPUs that exist on the machine",
    explain: include_str!("variable_names_nothing_here.md"),
    judge: Judge::Variables(judge),
    fires: &[
        named_with(
            "train.env",
            "NCCL_SOCKET_IFNAME=enp999s0\n",
            &[("server.json", "healthy-h100-x8-sxm-ubuntu-22.04.json")],
        ),
        named_with(
            "train.sh",
            "export CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7,8\ntrain\n",
            &[("server.json", "healthy-h100-x8-sxm-ubuntu-22.04.json")],
        ),
    ],
    silent: &[
        named("train.env", "NCCL_SOCKET_IFNAME=enp999s0\n"),
        named_with(
            "train.env",
            "CUDA_VISIBLE_DEVICES=0,1\n",
            &[("server.json", "healthy-h100-x8-sxm-ubuntu-22.04.json")],
        ),
    ],
};

fn judge(settings: &Settings) -> Vec<Found> {
    let Some(facts) = &settings.facts else { return Vec::new() };
    let mut checks = vec!["nccl-hca-wrong", "cuda-visible-devices-hides-gpus"];
    // In an image or a service the interfaces are the container's.
    if !matches!(settings.kind, Some(Kind::Dockerfile | Kind::Compose)) {
        checks.push("nccl-interface-missing");
    }
    with_facts(settings, facts, &checks)
}
