//! A collective that failed is tried again.

use catalog::distributed_functions::Kind;
use std::ops::Range;

use crate::read::python::{Call, Program};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "collective-retried",
    severity: Severity::Warning,
    summary: "after a failed collective, all ranks restart",
    explain: include_str!("collective_retried.md"),
    judge: Judge::Training(judge),
    fires: &[named(
        "train.py",
        "import torch\nimport torch.distributed as dist\n\
         def safe_barrier():\n    try:\n        dist.barrier()\n    except RuntimeError:\n        \
         dist.destroy_process_group()\n        dist.init_process_group(\"nccl\")\n",
    )],
    silent: &[
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\ntry:\n    dist.barrier()\n\
             except RuntimeError:\n    save()\n    raise\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\ntry:\n    load()\n\
             except OSError:\n    dist.barrier()\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\ntry:\n    dist.barrier()\n\
             except RuntimeError as error:\n    if \"PrivateUse1\" in str(error):\n        \
             dist.all_reduce(torch.tensor(0.0))\n    else:\n        raise\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let functions = program.catalog.distributed_functions();
    let collective = |call: &&Call| functions.is(&call.name, Kind::Collective);
    let within = |call: &Call, range: &Range<usize>| range.start <= call.at.start && call.at.end <= range.end;
    let mut found = Vec::new();
    for one in &program.tries {
        if !program.calls.iter().filter(collective).any(|call| within(call, &one.body)) {
            continue;
        }
        let again = program.calls.iter().find(|call| {
            let handled = one.handlers.iter().any(|handler| within(call, handler));
            handled && (call.name.ends_with(".init_process_group") || collective(call))
        });
        // A handler that asks for one error, none of the communicator, knows that all ranks get it.
        let asked = |call: &&Call| {
            program.branches.iter().any(|branch| {
                let handled = one.handlers.iter().any(|handler| handler.start <= branch.at.start);
                let condition = branch.condition.to_ascii_lowercase();
                let of_nccl = ["nccl", "time", "abort"].iter().any(|word| condition.contains(word));
                handled && within(call, &branch.at) && condition.contains("str(") && !of_nccl
            })
        };
        if let Some(call) = again.filter(|call| !asked(call)) {
            let message = "a failed collective is retried, but its communicator is aborted and the other \
                ranks \
                do not take part";
            found.push(Found::warning(
                call.line,
                message,
                "Let the rank exit, and restart all ranks with `torchrun --max-restarts`",
            ));
        }
    }
    found
}
