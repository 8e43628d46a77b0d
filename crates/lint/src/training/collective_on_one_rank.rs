//! A collective that only one rank calls.

use crate::collectives::{After, after_branch, collective, is_certain, reached};
use crate::read::python::{Call, Program, contains, is_other_ranks, names};
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "collective-on-one-rank",
    severity: Severity::Error,
    summary: "every rank calls collectives and DeepSpeed's save_checkpoint",
    explain: include_str!("collective_on_one_rank.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch.distributed as dist\ndist.init_process_group(\"nccl\")\n\
             for epoch in range(10):\n    train(epoch)\n    if dist.get_rank() == 0:\n        save(epoch)\n\
             \x20       dist.barrier()\n",
        ),
        named(
            "train.py",
            "import deepspeed\nmodel_engine, _, _, _ = deepspeed.initialize(model=net, config=\"ds.json\")\n\
             if args.global_rank == 0:\n    model_engine.save_checkpoint(\"out\")\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\ndist.init_process_group(\"nccl\")\n\
             def validate(model):\n    total = run(model)\n    dist.all_reduce(total)\n    return total\n\
             def main():\n    if rank == 0:\n        print(validate(model))\nmain()\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\n\
             from torch.distributed.fsdp import FullyShardedDataParallel as FSDP\n\
             dist.init_process_group(\"nccl\")\nmodel = FSDP(net)\nif rank == 0:\n    \
             torch.save(model.state_dict(), \"a.pt\")\n",
        ),
        named(
            "train.py",
            "from accelerate import Accelerator\naccelerator = Accelerator()\n\
             if accelerator.is_main_process:\n    accelerator.wait_for_everyone()\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\ndef main():\n    dist.init_process_group(\"nccl\")\n    \
             if dist.get_rank() != 0:\n        return\n    dist.barrier()\n",
        ),
        named(
            "train.py",
            "from accelerate import Accelerator\naccelerator = Accelerator()\n\
             if accelerator.is_main_process:\n    p = accelerator.gather(pred)\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\ndist.init_process_group(\"nccl\")\nrank = dist.get_rank()\n\
             if rank < \
             4:\n    group = dist.new_group([0, 1, 2, 3])\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\ndef mean(x):\n    dist.all_reduce(x)\n    return x\nclass \
             Metrics:\n    def write(self, x):\n        self.rows.append({\"loss\": \
             mean(x)})\ndist.init_process_group(\"nccl\")\nmetrics = Metrics()\nfor x in data:\n    if rank \
             == \
             0:\n        metrics.write(x)\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\ndist.init_process_group(\"nccl\")\ndef score(n):\n    if \
             dist.get_rank() == 0:\n        parts = [None] * 4\n        dist.all_gather_object(parts, \
             n)\n        return sum(parts)\n    return None\nfor epoch in range(3):\n    score(epoch)\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\ndist.init_process_group(\"nccl\")\nfor step in \
             range(9):\n    if rank == 0:\n        dist.broadcast(x, src=0)\n        continue\n    \
             print(step)\n",
        ),
        named_with(
            "tune.py",
            "from accelerate import Accelerator\nacc = Accelerator()\nmodel = acc.prepare(net)\nfor step \
             in range(9):\n    if acc.is_main_process and step % 3 == 0:\n        \
             acc.save_state(f\"out/{step}\")\n",
            &[("fsdp.yaml", "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\n")],
        ),
        named(
            "train.py",
            "import lightning as pl\nfrom lightning.pytorch.utilities import rank_zero_only\nclass \
             Keep(pl.Callback):\n    @rank_zero_only\n    def on_validation_end(self, trainer, \
             module):\n        \
             trainer.save_checkpoint(\"a.ckpt\")\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\nimport torch.distributed.checkpoint as \
             dcp\ndist.init_process_group(\"nccl\")\nif dist.get_rank() == 0:\n    dcp.save(state, \
             checkpoint_id=\"out\")\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch.distributed as dist\ndist.init_process_group(\"nccl\")\ndef serve(x):\n    \
             dist.broadcast_object_list([x], src=0)\ndef follow():\n    \
             dist.broadcast_object_list(got, src=0)\ndef main(rank):\n    if rank == 0:\n        \
             serve(1)\n        return\n    follow()\n",
        ),
        named_with(
            "tune.py",
            "from accelerate import Accelerator\nacc = Accelerator()\nif acc.is_main_process:\n    \
             acc.save_state(\"out\")\n",
            &[
                ("fsdp.yaml", "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\n"),
                ("ddp.yaml", "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\n"),
                ("run.sh", "accelerate launch --config_file ddp.yaml tune.py\n"),
            ],
        ),
        named(
            "train.py",
            "import torch.distributed as dist\nclass Metrics:\n    def write(self, x):\n        \
             self.rows.append(x)\n    \
             def flush(self):\n        dist.all_reduce(self.t)\ndist.init_process_group(\"nccl\")\nmetrics = \
             Metrics()\nfor x in data:\n    if rank == 0:\n        metrics.write(x)\nmetrics.flush()\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\ndist.init_process_group(\"nccl\")\nrank = dist.get_rank()\n\
             group = \
             dist.new_group([0, 1, 2, 3])\nif rank < 4:\n    dist.barrier(group=group)\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\ndist.init_process_group(\"nccl\")\nif rank != 0:\n    \
             dist.barrier()\ndownload()\nif rank == 0:\n    dist.barrier()\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\ndist.init_process_group(\"nccl\")\nif rank == 0:\n    \
             download()\n    dist.barrier()\nelse:\n    dist.barrier()\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\ndist.init_process_group(\"nccl\")\nif rank == 0:\n    \
             save()\ndist.barrier()\nif rank == 0:\n    dist.all_reduce(x, group=group)\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\ndist.init_process_group(\"nccl\")\n\
             def validate(model):\n    if world_size > 1:\n        dist.all_reduce(total)\n\
             def main():\n    if rank == 0:\n        validate(model)\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\ndist.init_process_group(\"nccl\")\ndef main():\n    \
             if rank == 0:\n        dist.barrier()\n        return\n    dist.barrier()\n",
        ),
    ],
};

const FIX: &str = "Move it out of the branch, so that every rank calls it";

fn judge(program: &Program) -> Vec<Found> {
    let found = program.calls.iter().filter_map(|call| fault(program, call));
    let mut found: Vec<Found> = found.collect();
    found.extend(after_return(program));
    found.extend(decorated(program));
    found.extend(program.calls.iter().find_map(|call| group_of_some(program, call)));
    found
}

/// A group that only some ranks make: all of them must call new_group.
fn group_of_some(program: &Program, call: &Call) -> Option<Found> {
    if call.name != "torch.distributed.new_group" || call.keyword("use_local_synchronization").is_some() {
        return None;
    }
    let branch = program.branches_at(&call.at, &call.function).find(|branch| {
        let condition = branch.condition.as_str();
        let by_rank = names(condition).any(|name| {
            matches!(name.rsplit('.').next(), Some("rank" | "global_rank" | "local_rank" | "get_rank"))
        });
        by_rank && !condition.contains("world") && !condition.contains(" is ") && !condition.contains("-1")
    })?;
    let elsewhere = program.calls.iter().any(|one| one.name == call.name && one.at != call.at);
    let message = format!(
        "only ranks with `{}` call new_group, which all ranks must call, also those that are not in the \
         group; \
         the job hangs",
        branch.condition.replace('\n', " ")
    );
    let fix = "Call new_group for every group on every rank, and keep the one of the own rank";
    (!elsewhere && !branch.otherwise).then(|| Found::error(call.line, message, fix))
}

/// A collective behind `if rank != 0: return`, which the other ranks never reach.
fn after_return(program: &Program) -> Option<Found> {
    let left = program.branches.iter().filter(|branch| {
        let text = program.text.get(branch.at.clone()).unwrap_or_default();
        let ends = ["return", "sys.exit(", "exit(", "os._exit("];
        let leaves = ends.iter().any(|word| text.trim_start().starts_with(word));
        !branch.otherwise
            && leaves
            && is_other_ranks(&branch.condition)
            && program.loop_at(&branch.at).is_none()
    });
    left.into_iter().find_map(|branch| {
        let function = program
            .functions
            .iter()
            .filter(|one| contains(&one.at, &branch.at))
            .min_by_key(|one| one.at.len());
        let function = function.map_or(0..0, |one| one.at.clone());
        // Inside of another branch it is for some runs only.
        let nested = program.branches_at(&branch.at, &function).any(|other| other.at != branch.at);
        let call = program.calls.iter().find(|call| {
            let behind = call.at.start > branch.at.end && call.function == function && !call.conditional;
            behind && collective(program, call).is_some()
        })?;
        let condition = branch.condition.replace('\n', " ");
        let message = format!(
            "ranks with `{condition}` have left the function before {}; the remaining rank waits for them, \
             and the job \
             hangs",
            call.name
        );
        (!nested).then(|| Found::error(call.line, message, "Call it on every rank, before the others return"))
    })
}

fn fault(program: &Program, call: &Call) -> Option<Found> {
    let branch = program.on_one_rank(call)?;
    let condition = branch.condition.replace('\n', " ");
    if let Some(name) = collective(program, call).filter(|_| !others_too(program, call)) {
        let after = if branch.leaves { after_branch(program, call, branch) } else { After::Nothing };
        let ends = match after {
            After::Nothing => "it waits for the others, and the job hangs".to_owned(),
            After::Other(other) => format!(
                "the other ranks call {} (line {}) instead, and the job hangs or mixes their data",
                other.name, other.line
            ),
            After::Same | After::Unknown => return None,
        };
        let message = format!("only the rank with `{condition}` calls {name}; {ends}");
        let certain = matches!(after, After::Nothing) && is_certain(program, call);
        return Some(Found::error(call.line, message, FIX).unless_certain(certain));
    }
    // A function of this script that calls one in any case.
    let inner = reached(program, call, 0)?;
    if branch.leaves && !matches!(after_branch(program, call, branch), After::Nothing) {
        return None;
    }
    let elsewhere = program
        .calls
        .iter()
        .any(|one| one.name == call.name && one.at != call.at && !contains(&branch.at, &one.at));
    let message = format!(
        "only the rank with `{condition}` calls {}, which calls {} in line {}; it waits for the others, and \
         the job hangs",
        call.name,
        inner.name.trim_start_matches('.'),
        inner.line
    );
    (!elsewhere && !others_too(program, call)).then(|| Found::error(call.line, message, FIX))
}

/// A collective in a function that a decorator lets run in one process only.
fn decorated(program: &Program) -> Option<Found> {
    let of_main = |decorator: &&String| {
        let name = decorator.trim_start_matches('@').split('(').next().unwrap_or_default();
        matches!(name.rsplit('.').next(), Some("rank_zero_only" | "on_main_process"))
            || decorator.ends_with(").on_main_process")
    };
    program.functions.iter().find_map(|function| {
        let decorator = function.decorators.iter().find(of_main)?;
        let mut calls = program.calls.iter().filter(|call| call.function == function.at);
        let (call, name) = calls.find_map(|call| Some((call, collective(program, call)?)))?;
        let message = format!(
            "`{decorator}` runs {} on one process only, but it calls {name}, which waits for all ranks; the \
             job hangs",
            function.name
        );
        Some(Found::error(call.line, message, FIX).unless_certain(is_certain(program, call)))
    })
}

/// Whether the same is called where other ranks come by: in the other way of a branch, or under another
/// condition on the rank.
fn others_too(program: &Program, call: &Call) -> bool {
    let same = program.calls.iter().filter(|one| one.name == call.name && one.at != call.at);
    same.into_iter().any(|one| {
        program.branches_at(&one.at, &one.function).any(|branch| {
            let on_rank = branch.condition.contains("rank") || branch.condition.contains("main_process");
            on_rank && (branch.otherwise || program.on_one_rank(one).is_none())
        })
    })
}
