//! A variable is set to something that is seldom better than its default.

use pep440_rs::Version;

use crate::read::settings::{Scope, Setting, Settings};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "default-made-worse",
    severity: Severity::Note,
    summary: "NCCL settings that NCCL chooses well itself are not overridden",
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
        "fails on adapters without relaxed ordering; the default 2 detects support",
    ),
    (
        "NCCL_P2P_LEVEL",
        "SYS",
        "forces GPU peer-to-peer across CPU sockets, which hangs or corrupts data if ACS or the IOMMU is \
         enabled",
    ),
    ("NCCL_PROTO", "LL128", "corrupts data on hardware without atomic 128-byte stores"),
    ("NCCL_LAUNCH_MODE", "GROUP", "deprecated; it applied to several GPUs in one process"),
    ("NCCL_CHECK_POINTERS", "1", "checks every pointer of every call, which is slow; the default is off"),
    ("NCCL_MAX_CTAS", "1", "a single channel limits the bandwidth"),
    ("NCCL_MAX_NCHANNELS", "1", "a single channel limits the bandwidth"),
];

fn judge(settings: &Settings) -> Vec<Found> {
    settings.known().filter_map(|(scope, one, value)| worse(scope, one, value)).collect()
}

fn worse(scope: &Scope, one: &Setting, value: &str) -> Option<Found> {
    let note = |effect: &str| {
        Some(Found::note(one.place.clone(), format!("{}={value}: {effect}", one.name), "Remove it"))
    };
    let row = SETTINGS.iter().find(|(name, bad, _)| one.name == *name && value.eq_ignore_ascii_case(bad));
    if let Some((_, _, effect)) = row {
        return note(effect);
    }
    match one.name.as_str() {
        "NCCL_CHUNK_SIZE" if value != "0" => {
            note("undocumented chunk size of collectives; NCCL_BUFFSIZE sets the buffer size")
        }
        "NCCL_IB_GID_INDEX" if value != "-1" => {
            let finds = scope.nccl.as_ref().is_some_and(|nccl| *nccl >= Version::new([2, 21]));
            finds.then(|| {
                note(
                    "NCCL 2.21 and newer detects the index; a fixed index breaks when an address \
                     changes",
                )
            })?
        }
        _ => None,
    }
}
