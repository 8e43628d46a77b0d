//! A fast way between GPUs is switched off.

use catalog::variables::DiscouragedKind;

use super::with_facts;
use crate::read::settings::{Held, Settings};
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "transport-switched-off",
    severity: Severity::Warning,
    summary: "no variable permanently disables a fast GPU transport",
    explain: include_str!("transport_switched_off.md"),
    judge: Judge::Variables(judge),
    fires: &[
        named_with(
            "train.env",
            "NCCL_P2P_DISABLE=1\n",
            &[("server.json", "healthy-h100-x8-sxm-ubuntu-22.04.json")],
        ),
        named("Dockerfile", "FROM python:3.12\nENV NCCL_IB_DISABLE=1\n"),
        named("train.sh", "export NCCL_PXN_DISABLE=1\ntorchrun train.py\n"),
    ],
    silent: &[
        named("train.env", "NCCL_P2P_DISABLE=0\nNCCL_NET=IB\n"),
        named("test.sh", "NCCL_P2P_DISABLE=1 torchrun test.py\n"),
        named_with("train.env", "NCCL_P2P_DISABLE=1\n", &[("server.json", "healthy-rtx4090-x8.json")]),
    ],
};

fn judge(settings: &Settings) -> Vec<Found> {
    if let Some(facts) = &settings.facts {
        return with_facts(settings, facts, &["nccl-transport-disabled"]);
    }
    let found =
        settings.known().filter(|(_, one, _)| one.held != Held::Command).filter_map(|(_, one, value)| {
            let row = settings.catalog.variable(&one.name)?;
            let effect = row.discouraged(DiscouragedKind::TransportOff, value)?;
            let message = format!("{}={value}: {effect}", one.name);
            Some(Found::note(
                one.location.clone(),
                message,
                "Remove it once the fault it works around is fixed",
            ))
        });
    found.collect()
}
