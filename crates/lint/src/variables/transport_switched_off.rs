//! A fast way between GPUs is switched off.

use super::with_facts;
use crate::read::settings::{Held, Settings};
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

/// The rule.
pub const RULE: Rule = Rule {
    id: "transport-switched-off",
    severity: Severity::Warning,
    summary: "no variable switches off a fast way between GPUs for good",
    explain: "\
## What it finds
NCCL_P2P_DISABLE, NCCL_SHM_DISABLE, NCCL_IB_DISABLE, NCCL_PXN_DISABLE, NCCL_NET=Socket, NCCL_P2P_LEVEL=LOC
and
NCCL_NET_GDR_LEVEL=LOC, where they hold for more than one command: a note, for there are machines that
need it;
a warning where the facts of the machine (`--from`, `--here`) show the way that is lost.

## Why it matters
They are right for finding out which part fails. Left on they hide the fault and cost most of the bandwidth.
None of them forces or forbids collectives: the data only takes a slower way.

## How to fix it
Take it out and mend what it hid: P2P errors are mostly ACS or the IOMMU, shared memory a small /dev/shm,
InfiniBand the adapter's port or the limit of locked memory. GeForce cards of the 40 series have no direct
way,
and need nothing set.

## Sources
- NVIDIA/nccl: docs/userguide/source/env.rst
- huggingface/accelerate#2328 (GeForce cards of the 40 series)
",
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

const SWITCHES: &[(&str, &str, &str)] = &[
    ("NCCL_P2P_DISABLE", "1", "GPUs of a node reach each other through the host's memory alone"),
    ("NCCL_P2P_LEVEL", "LOC", "GPUs of a node reach each other through the host's memory alone"),
    ("NCCL_SHM_DISABLE", "1", "processes of one node talk over the network"),
    ("NCCL_IB_DISABLE", "1", "nodes talk over TCP, even where there is InfiniBand or RoCE"),
    ("NCCL_NET", "Socket", "nodes talk over TCP, even where there is InfiniBand or RoCE"),
    ("NCCL_NET_GDR_LEVEL", "LOC", "data between nodes goes through the memory of the host"),
    ("NCCL_PXN_DISABLE", "1", "all-to-all between nodes loses the way over NVLink to the right adapter"),
];

fn judge(settings: &Settings) -> Vec<Found> {
    if let Some(facts) = &settings.facts {
        return with_facts(settings, facts, &["nccl-transport-disabled"]);
    }
    let found =
        settings.known().filter(|(_, one, _)| one.held != Held::Command).filter_map(|(_, one, value)| {
            let (_, _, effect) = SWITCHES
                .iter()
                .find(|(name, switch, _)| one.name == *name && value.eq_ignore_ascii_case(switch))?;
            let says = format!("{}={value}: {effect}", one.name);
            Some(Found::note(
                one.place.clone(),
                says,
                "take it out once the fault that it went around is found",
            ))
        });
    found.collect()
}
