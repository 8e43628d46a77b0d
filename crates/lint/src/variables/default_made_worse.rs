//! A variable is set to something that is seldom better than its default.

use catalog::Catalog;
use catalog::variables::DiscouragedKind;
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

fn judge(settings: &Settings) -> Vec<Found> {
    settings.known().filter_map(|(scope, one, value)| worse(settings.catalog, scope, one, value)).collect()
}

fn worse(catalog: &Catalog, scope: &Scope, one: &Setting, value: &str) -> Option<Found> {
    let note = |effect: &str| {
        Some(Found::note(one.location.clone(), format!("{}={value}: {effect}", one.name), "Remove it"))
    };
    let row = catalog.variable(&one.name);
    if let Some(effect) = row.and_then(|row| row.discouraged(DiscouragedKind::WorseThanDefault, value)) {
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
