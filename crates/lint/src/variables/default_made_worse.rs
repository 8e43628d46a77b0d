//! A variable is set to something that is seldom better than its default.

use pep440_rs::Version;

use crate::read::settings::{Scope, Setting, Settings};
use crate::rule::{Found, Judge, Rule, Severity, named};

/// The rule.
pub const RULE: Rule = Rule {
    id: "default-made-worse",
    severity: Severity::Note,
    summary: "what NCCL chooses well by itself is left to it",
    explain: include_str!("default_made_worse.md"),
    judge: Judge::Variables(judge),
    fires: &[
        named("train.env", "NCCL_IB_PCI_RELAXED_ORDERING=1\nNCCL_CHUNK_SIZE=1048576\n"),
        named("train.sh", "export NCCL_CHECK_POINTERS=1\ntrain\n"),
    ],
    silent: &[named(
        "train.env",
        "NCCL_IB_PCI_RELAXED_ORDERING=2\nNCCL_CHUNK_SIZE=0\nNCCL_IB_GID_INDEX=3\nNCCL_P2P_LEVEL=NVL\n",
    )],
};

const SETTINGS: &[(&str, &str, &str)] = &[
    (
        "NCCL_IB_PCI_RELAXED_ORDERING",
        "1",
        "fails where the adapter has no relaxed ordering; the default 2 asks first",
    ),
    (
        "NCCL_P2P_LEVEL",
        "SYS",
        "GPUs talk directly even across CPUs, which hangs or damages data where ACS or the IOMMU is on",
    ),
    ("NCCL_PROTO", "LL128", "damages data on hardware that does not keep 128 bytes together"),
    ("NCCL_LAUNCH_MODE", "GROUP", "was for kernels of several GPUs in one process, and is deprecated"),
    (
        "NCCL_CHECK_POINTERS",
        "1",
        "checks every pointer of every call: it switches checks on, and is off by default",
    ),
    ("NCCL_MAX_CTAS", "1", "one channel is a small part of the bandwidth"),
    ("NCCL_MAX_NCHANNELS", "1", "one channel is a small part of the bandwidth"),
];

fn judge(settings: &Settings) -> Vec<Found> {
    settings.known().filter_map(|(scope, one, value)| worse(scope, one, value)).collect()
}

fn worse(scope: &Scope, one: &Setting, value: &str) -> Option<Found> {
    let note = |effect: &str| {
        Some(Found::note(one.place.clone(), format!("{}={value}: {effect}", one.name), "take it out"))
    };
    let row = SETTINGS.iter().find(|(name, bad, _)| one.name == *name && value.eq_ignore_ascii_case(bad));
    if let Some((_, _, effect)) = row {
        return note(effect);
    }
    match one.name.as_str() {
        "NCCL_CHUNK_SIZE" if value != "0" => {
            note("undocumented: it sets how collectives are cut up; the size of the buffers is NCCL_BUFFSIZE")
        }
        "NCCL_IB_GID_INDEX" if value != "-1" => {
            let finds = scope.nccl.as_ref().is_some_and(|nccl| *nccl >= Version::new([2, 21]));
            finds.then(|| note("NCCL since 2.21 finds the index by itself, and a fixed one breaks when an address changes"))?
        }
        _ => None,
    }
}
