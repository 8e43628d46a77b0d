//! A collective that only one rank calls.

use catalog::distributed_functions::Kind;

use crate::read::python::{Call, Function, Program, contains, is_other_ranks, names};
use crate::rule::{Found, Judge, Rule, Severity, named};

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
    ],
    silent: &[
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
    let branch = program.on_one_rank(call).filter(|branch| !branch.leaves)?;
    let condition = branch.condition.replace('\n', " ");
    if let Some(name) = collective(program, call).filter(|_| !others_too(program, call)) {
        let message = format!(
            "only the rank with `{condition}` calls {name}; it waits for the others, and the job hangs"
        );
        return Some(Found::error(call.line, message, FIX));
    }
    // A function of this script that calls one in any case.
    let inner = reached(program, call, 0)?;
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

/// How many functions are followed from one to the next.
const STEPS_LIMIT: usize = 4;

/// The collective that a function or method of this script calls in any case, itself or through others.
fn reached<'p>(program: &'p Program, call: &Call, steps: usize) -> Option<&'p Call> {
    let function = called(program, call)?;
    let own = || program.calls.iter().filter(|one| one.function == function.at && !one.conditional);
    let direct = own().find(|one| collective(program, one).is_some());
    direct.or_else(|| match steps < STEPS_LIMIT {
        true => own().find_map(|one| reached(program, one, steps + 1)),
        false => None,
    })
}

/// The function of this script that a call runs: `reduce_mean(x)`, `metrics.write(x)` of an object that the
/// script makes, `self.write(x)` in its class.
fn called<'p>(program: &'p Program, call: &Call) -> Option<&'p Function> {
    let Some((object, method)) = call.name.rsplit_once('.') else { return program.function(&call.name) };
    let class = match object {
        "self" => program.classes.iter().find(|class| contains(&class.at, &call.at)),
        _ => {
            let mut sets = program.assignments.iter().filter(|one| one.name == object);
            let set = sets.next().filter(|_| sets.next().is_none())?;
            let made = program.call_at(&set.at)?;
            program.classes.iter().find(|class| class.name == made.name)
        }
    }?;
    let mut methods =
        program.functions.iter().filter(|one| one.name == method && contains(&class.at, &one.at));
    methods.next().filter(|_| methods.next().is_none())
}

/// The name of a collective of the whole run.
fn collective(program: &Program, call: &Call) -> Option<String> {
    let (before, last) = call.name.rsplit_once('.')?;
    let given = call.arguments.iter().filter_map(|one| one.name.as_deref());
    if given.into_iter().any(|name| matches!(name, "*" | "group" | "process_group")) {
        return None;
    }
    let plain = call.arguments.iter().filter(|one| one.name.is_none()).count();
    let known = program.catalog.distributed_functions().of_kind(&call.name, Kind::Collective);
    if known.is_some_and(|known| known.group_at.is_some_and(|at| plain <= at)) {
        return Some(call.name.clone());
    }
    let made_by = |makers: &[&str]| {
        let mut made = program.assignments.iter().filter(|one| first_name(&one.name) == before);
        made.any(|one| {
            program.call_at(&one.at).is_some_and(|call| {
                makers.iter().any(|maker| call.name == *maker || call.name.ends_with(&format!(".{maker}")))
            })
        })
    };
    let together = match last {
        "save_checkpoint" => made_by(&["deepspeed.initialize"]),
        "state_dict" => made_by(&["FullyShardedDataParallel"]),
        "wait_for_everyone"
        | "gather_for_metrics"
        | "gather"
        | "reduce"
        | "pad_across_processes"
        | "get_state_dict" => made_by(&["Accelerator"]),
        _ => false,
    };
    together.then(|| format!("{before}.{last}"))
}

/// `engine` of `engine, _, _, _`.
fn first_name(names: &str) -> &str {
    names.trim_start_matches('(').split(',').next().unwrap_or_default().trim()
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
