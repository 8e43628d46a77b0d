//! Calls of torch.distributed before the process group exists, or after it is gone.

use crate::read::python::{Call, Program};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "process-group-order",
    severity: Severity::Error,
    summary: "the process group is made before it is used, and destroyed last",
    explain: include_str!("process_group_order.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch.distributed as dist\nrank = dist.get_rank()\ndist.init_process_group(\"nccl\")\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\nfrom torch.utils.data import DistributedSampler\ndef \
             main():\n    \
             sampler = DistributedSampler(data)\n    dist.init_process_group(\"nccl\")\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\ndef main():\n    dist.init_process_group(\"nccl\")\n    \
             train()\n    \
             dist.destroy_process_group()\n    dist.barrier()\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch.distributed as dist\ndef is_main():\n    return dist.get_rank() == 0\ndef \
             main():\n    \
             dist.init_process_group(\"nccl\")\n    rank = dist.get_rank()\n    \
             dist.destroy_process_group()\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\nif dist.is_initialized():\n    rank = dist.get_rank()\n\
             setup()\nrank = dist.get_rank()\ndist.init_process_group(\"nccl\")\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\nfrom torch.utils.data import DistributedSampler\n\
             sampler = DistributedSampler(data, num_replicas=4, rank=0)\ndist.init_process_group(\"nccl\")\n\
             dist.destroy_process_group()\ndist.init_process_group(\"gloo\")\ndist.barrier()\n",
        ),
    ],
};

/// Functions of torch.distributed that need the group.
const NEED: &[&str] = &[
    "get_rank",
    "get_world_size",
    "barrier",
    "all_reduce",
    "broadcast",
    "all_gather",
    "reduce",
    "gather",
    "scatter",
    "all_gather_object",
    "broadcast_object_list",
    "new_group",
];

fn judge(program: &Program) -> Vec<Found> {
    let of = |name: &'static str| {
        let full = format!("torch.distributed.{name}");
        program.calls.iter().filter(move |call| call.name == full).collect::<Vec<&Call>>()
    };
    let (inits, ends) = (of("init_process_group"), of("destroy_process_group"));
    let guarded = program.text.contains("is_initialized") || !program.tries.is_empty();
    let [init] = inits[..] else { return Vec::new() };
    if guarded || init.conditional {
        return Vec::new();
    }
    let mut found: Vec<Found> = Vec::new();
    let used = program
        .calls
        .iter()
        .filter(|call| call.function == init.function && !call.conditional && needs(call));
    let used: Vec<&Call> = used.collect();
    // A function of another file, or of this one, may make it before.
    let may_init = |call: &Call, until: usize| {
        program.calls.iter().any(|other| {
            let before = other.at.end <= until && other.function == call.function && other.at != call.at;
            let plain = !other.name.starts_with("torch.") && !other.name.starts_with('.');
            let words = ["init", "setup", "distributed", "launch", "Accelerator"];
            before && plain && words.iter().any(|word| other.name.contains(word))
        })
    };
    if let Some(first) = used.iter().find(|call| call.at.end <= init.at.start)
        && !may_init(first, first.at.start)
        && !may_init(first, init.at.start)
    {
        let name = first.name.trim_start_matches("torch.distributed.");
        let message = format!(
            "{name} is called before init_process_group in line {}; `Default process group has not been \
             initialized`",
            init.line
        );
        found.push(Found::error(first.line, message, "Move it after init_process_group"));
    }
    if let [end] = ends[..]
        && end.function == init.function
        && !end.conditional
        && let Some(late) = used.iter().find(|call| call.at.start >= end.at.end)
    {
        let name = late.name.trim_start_matches("torch.distributed.");
        let message = format!(
            "{name} is called after destroy_process_group in line {}; `Default process group has not been \
             initialized`",
            end.line
        );
        found.push(Found::error(late.line, message, "Call destroy_process_group last"));
    }
    found
}

fn needs(call: &Call) -> bool {
    let given = |name: &str| call.keyword(name).is_some();
    if let Some(name) = call.name.strip_prefix("torch.distributed.") {
        return NEED.contains(&name);
    }
    let sampler =
        call.name.ends_with("DistributedSampler") && !(given("num_replicas") && given("rank")) && !given("*");
    let plain = call.arguments.iter().filter(|one| one.name.is_none()).count();
    sampler && plain < 3
        || call.name == "torch.nn.parallel.DistributedDataParallel" && !given("process_group")
}
