//! The rank in the whole run is taken for the one on the node.

use crate::read::python::Program;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "global-rank-as-local",
    severity: Severity::Warning,
    summary: "ranks select their GPU by the local rank",
    explain: include_str!("global_rank_as_local.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\ndist.init_process_group(\"nccl\")\n\
             local_rank = dist.get_rank()\ntorch.cuda.set_device(local_rank)\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\ndist.init_process_group(\"nccl\")\n\
             rank = dist.get_rank()\ntorch.cuda.set_device(rank)\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\ndist.init_process_group(\"nccl\")\n\
             rank = dist.get_rank()\ntorch.cuda.set_device(rank % torch.cuda.device_count())\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nimport os\n\
             local_rank = int(os.environ[\"LOCAL_RANK\"])\nrank = dist.get_rank()\n\
             torch.cuda.set_device(local_rank)\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    if program.spawns() {
        return Vec::new();
    }
    let is_rank = |at: &std::ops::Range<usize>| {
        program.call_at(at).is_some_and(|call| {
            matches!(call.name.as_str(), "torch.distributed.get_rank" | "deepspeed.comm.get_rank")
                && call.arguments.is_empty()
        })
    };
    let fix = "int(os.environ[\"LOCAL_RANK\"])";
    let mut found = Vec::new();
    for one in program.assignments.iter().filter(|one| one.name.ends_with("local_rank") && is_rank(&one.at)) {
        let message = format!(
            "{} is the global rank; on the second node and later it exceeds the number of GPUs",
            one.name
        );
        found.push(Found::warning(one.line, message, fix));
    }
    for call in program.calls.iter().filter(|call| call.name == "torch.cuda.set_device") {
        let Some(device) = call.argument(0, "device") else { continue };
        let through = program.value(&device.text, &call.function, call.at.start);
        let named_local = through.is_some_and(|one| one.name.ends_with("local_rank"));
        let ranked = is_rank(&device.at) || through.is_some_and(|one| is_rank(&one.at));
        if ranked && !named_local && !call.conditional {
            let message = format!(
                "set_device({}) uses the global rank, which exceeds the number of GPUs on the second node \
                 and later",
                device.text
            );
            found.push(Found::warning(call.line, message, format!("torch.cuda.set_device({fix})")));
        }
    }
    found
}
