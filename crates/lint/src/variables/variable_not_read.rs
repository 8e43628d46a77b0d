//! A variable is set that nothing reads.

use crate::file::HERE;
use crate::read::settings::Settings;
use crate::rule::{Found, Judge, Kind, Rule, Severity, named};
use catalog::Catalog;
use catalog::variables::{Status, Variable};

pub(crate) const RULE: Rule = Rule {
    id: "variable-not-read",
    severity: Severity::Warning,
    summary: "every variable with a known prefix is read by some program",
    explain: include_str!("variable_not_read.md"),
    judge: Judge::Variables(judge),
    fires: &[
        named("train.env", "NCCL_BUFFLE_SIZE=4194304\nNCCL_TIMEOUT=1800\n"),
        named("train.sh", "export NCCL_SOCKET_IFNAM=eth0\ntorchrun train.py\n"),
        named("train.env", "NCCL_HEARTBEAT_TIMEOUT_SEC=900\n"),
        named("Dockerfile", "FROM python:3.12\nENV NCCL_IB_ENABLE=1\n"),
        named("train.sh", "mpirun -x NCCL_SOCKET_IFNAMES=eth0 train\n"),
    ],
    silent: &[
        named("train.env", "NCCL_DEBUG=WARN\nNCCL_OFI_TUNER_TYPE=x\nMASTER_ADDRESS=a\n"),
        named("train.sh", "NCCL_TIMEOUT=1800\ntrain --timeout $NCCL_TIMEOUT\n"),
        named("Dockerfile", "FROM python:3.12\nENV NCCL_VERSION=2.27.5\n"),
        named("compose.yaml", "services:\n  a:\n    image: b\n    environment: {NCCL_SOCKET_IFNAME: eth0}\n"),
        named("compose.yaml", "services:\n  a:\n    image: b\n    environment:\n    - NCCL_DEBUG = WARN\n"),
    ],
};

fn judge(settings: &Settings) -> Vec<Found> {
    let all = settings.scopes.iter().flat_map(|scope| &scope.settings);
    // NVIDIA's images set it as a label; in a file of settings somebody believes in it.
    let label = settings.name != HERE
        && matches!(settings.kind, Some(Kind::Environment | Kind::DeepspeedEnvironment | Kind::NcclConf));
    // `NCCL_DEBUG = WARN` in a list of Compose and in nccl.conf: other rules report the space.
    let strange = all.filter(|one| !settings.uses.contains(&one.name) && one.name.trim() == one.name);
    strange
        .filter_map(|one| {
            if one.name == "NCCL_VERSION" && label {
                let message = "NCCL_VERSION has no effect: it is a label in CUDA images and does not select \
                    or \
                    show the NCCL in use";
                return Some(Found::note(
                    one.location.clone(),
                    message,
                    "Use NCCL_DEBUG=VERSION or \
                     `torch.cuda.nccl.version()` to see the version",
                ));
            }
            if settings.catalog.variable(&one.name).is_some_and(Variable::is_harmless) {
                return None;
            }
            let (why, near) = unread(settings.catalog, &one.name)?;
            let fix = match near {
                Some(near) => format!("Set {near}={}", one.value.as_deref().unwrap_or("…")),
                None => "Remove it".to_owned(),
            };
            // What the other name takes need not be what this one was given.
            let fix = if settings.catalog.variable(&one.name).is_some() && near.is_some() {
                near.map(|near| format!("Remove it; {near} is the variable that is read")).unwrap_or_default()
            } else {
                fix
            };
            Some(Found::warning(one.location.clone(), format!("{} has no effect: {why}", one.name), fix))
        })
        .collect()
}

/// Why nothing reads a name, and the one that was meant.
pub(crate) fn unread(catalog: &'static Catalog, name: &str) -> Option<(String, Option<&'static str>)> {
    if let Some(row) = catalog.variable(name) {
        let near = row.deprecated_by.as_deref();
        let meaning = row.meaning.as_deref().unwrap_or("nothing reads it").trim_end_matches('.');
        return (row.status == Status::NotRead).then(|| (first_small(meaning), near));
    }
    if !catalog.variable_families().has(name) {
        return None;
    }
    let without = name.strip_prefix("TORCH_").map(str::to_owned);
    let other = without.unwrap_or_else(|| format!("TORCH_{name}"));
    let read = |row: &&Variable| matches!(row.status, Status::Current | Status::Deprecated);
    let row = catalog.variable(&other).filter(read).or_else(|| catalog.variables().nearest(name))?;
    Some((format!("nothing reads it; did you mean {}?", row.name), Some(&row.name)))
}

fn first_small(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
