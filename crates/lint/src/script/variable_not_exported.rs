//! A script sets a variable for nobody.

use std::collections::BTreeSet;

use crate::programs;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};
use catalog::Catalog;
use catalog::variables::{self, Owner, Status};

pub(crate) const RULE: Rule = Rule {
    id: "variable-not-exported",
    severity: Severity::Warning,
    summary: "scripts export the variables that their programs read",
    explain: include_str!("variable_not_exported.md"),
    judge: Judge::Script(judge),
    fires: &[named("train.sh", "NCCL_SOCKET_IFNAME=eth0\ntorchrun train.py\n")],
    silent: &[
        named("train.sh", "export NCCL_SOCKET_IFNAME=eth0\nNCCL_DEBUG=WARN torchrun train.py\n"),
        named("train.sh", "NCCL_SOCKET_IFNAME=eth0\nexport NCCL_SOCKET_IFNAME\ntorchrun train.py\n"),
        named("train.sh", "NCCL_SOCKET_IFNAME=eth0\ntorchrun train.py --interface $NCCL_SOCKET_IFNAME\n"),
        named("train.sh", "set -a\nNCCL_SOCKET_IFNAME=eth0\ntorchrun train.py\n"),
        named("settings.sh", "NCCL_SOCKET_IFNAME=eth0\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let all = script
        .commands
        .iter()
        .any(|command| command.program() == "set" && (command.has("-a") || command.has("allexport")));
    if all {
        return Vec::new();
    }
    let exports: BTreeSet<&String> = script.commands.iter().flat_map(|command| &command.exports).collect();
    let exported = |name: &String| exports.contains(name);
    let readers = script.commands.iter().filter(|command| {
        programs::is_python(command.program()) || programs::starts_tasks(command.program())
    });
    let last_reader = readers.map(|command| command.line).max();
    let read_after = |line: usize| last_reader.is_some_and(|last| last > line);
    let alone =
        script.commands.iter().filter(|command| command.words.is_empty() && command.exports.is_empty());
    let sets =
        alone.flat_map(|command| command.sets.iter().map(move |(name, word)| (command.line, name, word)));
    sets.filter(|(_, name, _)| {
        is_read(script.catalog, name) && !script.uses.contains(*name) && !exported(name)
    })
    .filter(|(line, _, _)| read_after(*line))
    .map(|(line, name, word)| {
        let message = format!("{name} is set without `export`; programs started by the script do not see it");
        Found::warning(line, message, format!("Write `export {name}={}`", word.text)).about(name)
    })
    .collect()
}

/// Whether it is a variable that a program of the stack reads, and no script sets for itself.
fn is_read(catalog: &Catalog, name: &str) -> bool {
    use Owner::{Cuda, Deepspeed, Gloo, Nccl, Pytorch, Ucx};
    let read = |row: &variables::Variable| {
        !row.set_by_launcher
            && matches!(row.status, Status::Current | Status::Deprecated)
            && matches!(row.owner, Nccl | Pytorch | Gloo | Ucx | Cuda | Deepspeed)
    };
    let own = ["MAX_JOBS", "CUDA_HOME"].contains(&name);
    catalog.variable(name).is_some_and(read) && !own
}
