//! A collective that only one rank calls.

use catalog::distributed_functions::Kind;

use crate::read::python::{Call, Program};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "collective-on-one-rank",
    severity: Severity::Warning,
    summary: "every rank calls a collective, not only the first",
    explain: include_str!("collective_on_one_rank.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch.distributed as dist\n\ndef save(model, rank):\n    if rank == 0:\n        \
             write(model)\n        dist.barrier()\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\n\ndef log(loss):\n    if dist.get_rank() == 0:\n\
             \x20       dist.all_reduce(loss)\n        print(loss)\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch.distributed as dist\n\ndef save(model, rank):\n    if rank == 0:\n        \
             write(model)\n    dist.barrier()\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\n\ndef load(rank):\n    if rank != 0:\n        dist.barrier()\n\
             \x20   data = read()\n    if rank == 0:\n        dist.barrier()\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\n\ndef load(rank):\n    if rank == 0:\n        \
             dist.broadcast(a, 0)\n    else:\n        dist.broadcast(b, 0)\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\n\ndef load(rank):\n    if rank == 0:\n        \
             dist.all_reduce(a, group=first)\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\nif rank == 0:\n    def hook():\n        dist.barrier()\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let functions = program.catalog.distributed_functions();
    let collectives: Vec<&Call> =
        program.calls.iter().filter(|call| functions.is(&call.name, Kind::Collective)).collect();
    let alone = program.branches.iter().filter(|branch| branch.alone && branch.is_first_rank());
    let guarded = alone.flat_map(|branch| {
        let own = collectives.iter().filter(move |call| branch.guards(call));
        own.map(move |call| (branch, *call))
    });
    // Another call of the function may be the part of the other ranks.
    let paired =
        |one: &Call| collectives.iter().any(|other| other.at != one.at && other.function == one.function);
    let whole = |call: &Call| {
        call.keyword("group").is_none() && !call.arguments.iter().any(|one| one.name.as_deref() == Some("*"))
    };
    let certain = guarded.filter(|(_, call)| whole(call) && !paired(call) && call.arguments.len() < 3);
    let found = certain.map(|(branch, call)| {
        let name = call.name.rsplit('.').next().unwrap_or_default();
        let message = format!(
            "only one rank calls {name} (`if {}`); it waits until the timeout for the ranks that do not",
            branch.condition
        );
        Found::warning(call.line, message, format!("Call {name} on every rank, outside of the condition"))
    });
    let mut found: Vec<Found> = found.collect();
    found.dedup();
    found
}
