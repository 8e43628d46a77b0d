//! A checkpoint that all ranks write to one file.

use crate::read::python::{Branch, Call, Program};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "saved-by-every-rank",
    severity: Severity::Warning,
    summary: "one rank writes a checkpoint",
    explain: include_str!("saved_by_every_rank.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nfrom torch.nn.parallel import \
             DistributedDataParallel as DDP\ndist.init_process_group(\"nccl\")\nmodel = DDP(net, \
             device_ids=[0])\nfor epoch in range(9):\n    torch.save({\"model\": \
             model.module.state_dict(), \"epoch\": epoch}, \"/ckpt/last.pt\")\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nfrom torch.nn.parallel import \
             DistributedDataParallel as DDP\n\ndef save(model, epoch):\n    \
             torch.save(model.module.state_dict(), f\"/ckpt/e{epoch}.pt\")\n\ndef main():\n    \
             dist.init_process_group(\"nccl\")\n    model = DDP(net, device_ids=[0])\n    for epoch in \
             range(9):\n        if epoch % 2 == 0:\n            save(model, epoch)\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nfrom torch.nn.parallel import \
             DistributedDataParallel as DDP\n\ndef save(model, epoch):\n    \
             torch.save(model.module.state_dict(), f\"/ckpt/e{epoch}.pt\")\n\ndef main():\n    \
             dist.init_process_group(\"nccl\")\n    model = DDP(net, device_ids=[0])\n    if \
             dist.get_rank() == 0:\n        save(model, 1)\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nfrom torch.nn.parallel import \
             DistributedDataParallel as DDP\ndist.init_process_group(\"nccl\")\nmodel = DDP(net, \
             device_ids=[0])\ntorch.save(model.module.state_dict(), f\"/ckpt/rank{dist.get_rank()}.pt\")\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nfrom torch.nn.parallel import \
             DistributedDataParallel as DDP\n\ndef save(model, rank):\n    if rank != 0:\n        \
             return\n    torch.save(model.module.state_dict(), \"/ckpt/last.pt\")\n\ndef main(rank):\n    \
             dist.init_process_group(\"nccl\")\n    model = DDP(net, device_ids=[0])\n    save(model, \
             rank)\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let starts = program.calls.iter().any(|call| call.name == "torch.distributed.init_process_group");
    let wraps = program.calls.iter().any(|call| call.name.ends_with("DistributedDataParallel"));
    if !starts || !wraps {
        return Vec::new();
    }
    let saves = program.calls.iter().filter(|call| call.name == "torch.save");
    let found = saves.filter_map(|save| {
        let object = program.text.get(save.argument(0, "obj")?.at.clone())?;
        let state = object.contains("state_dict") || object.contains("model");
        let to = save.argument(1, "f")?;
        let path = program.origin(&to.at, &save.function).text;
        let literal = |text: &str| text.trim_start_matches('f').starts_with(['"', '\'']);
        let one_file =
            literal(path) && !path.contains("rank") && !path.contains("local") && !path.contains("/tmp");
        // Plain names in the path may hold the rank.
        let simple =
            path.matches('{').count() == path.matches("{epoch").count() + path.matches("{step").count();
        let message = format!(
            "every rank writes {} at the same time; the file may be torn, and is written as often as there \
             are ranks",
            to.text
        );
        (state && one_file && simple && !is_guarded(program, save, 0))
            .then(|| Found::warning(save.line, message, "Write it on one rank: `if dist.get_rank() == 0:`"))
    });
    found.take(1).collect()
}

/// How many functions up the callers are looked at.
const DEPTH_MAX: usize = 3;

/// Whether something about the rank decides whether a call runs, as far as the file shows it.
fn is_guarded(program: &Program, call: &Call, depth: usize) -> bool {
    const WORDS: &[&str] = &["rank", "main", "master", "primary", "chief", "leader", "is_"];
    let by_rank = |branch: &Branch| {
        let lower = branch.condition.to_ascii_lowercase();
        WORDS.iter().any(|word| lower.contains(word))
    };
    if program.branches_at(&call.at, &call.function).any(by_rank) {
        return true;
    }
    // `if rank != 0: return` above it.
    let left = program.branches.iter().any(|branch| {
        branch.leaves
            && by_rank(branch)
            && branch.at.end < call.at.start
            && branch.at.start >= call.function.start
    });
    if left || call.function.is_empty() {
        return left;
    }
    let Some(own) = program.functions.iter().find(|one| one.at == call.function) else { return true };
    if own.decorators.iter().any(|text| text.contains("rank") || text.contains("main")) || depth >= DEPTH_MAX
    {
        return true;
    }
    if matches!(own.name.as_str(), "main" | "train" | "run" | "worker" | "main_worker") {
        return false;
    }
    let mut callers =
        program.calls.iter().filter(|one| one.name.rsplit('.').next() == Some(own.name.as_str()));
    let mut any = false;
    let all = callers.all(|one| {
        any = true;
        is_guarded(program, one, depth + 1)
    });
    all || !any
}
