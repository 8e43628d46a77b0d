//! The result of a collective that returns none, and reductions that do not exist.

use catalog::distributed_functions::{DistributedFunction, Kind};

use crate::read::python::{Call, Program, is_name, names, string};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "collective-result-used",
    severity: Severity::Error,
    summary: "collectives are used in place, with a reduction that exists",
    explain: include_str!("collective_result_used.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch.distributed as dist\ndef mean(loss, world):\n    \
             loss = dist.all_reduce(loss, op=dist.ReduceOp.SUM)\n    return loss / world\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\nfrom torch.distributed import ReduceOp\n\
             dist.all_reduce(x, op=ReduceOp.MEAN)\ndist.all_reduce(y, \"mean\")\n",
        ),
        named("train.py", "import torch.distributed as dist\ntotal = dist.all_reduce(x) / world\n"),
        named("train.py", "import torch.distributed as dist\ndist.broadcast(x, src=0).wait()\n"),
        named(
            "train.py",
            "import torch.distributed as dist\nwork = dist.all_reduce(loss, async_op=True)\nprint(loss / \
             8)\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch.distributed as dist\nwork = dist.all_reduce(loss, async_op=True)\nwork.wait()\n\
             print(loss / 8)\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\nwork = dist.all_reduce(x, async_op=True)\nwork.wait()\n\
             dist.all_reduce(x, op=dist.ReduceOp.AVG)\n_ = dist.barrier()\nhandle = dist.barrier()\n",
        ),
        named(
            "train.py",
            "import torch.distributed.nn.functional as F\nimport horovod.torch as hvd\nx = F.all_reduce(x)\n\
             y = hvd.allreduce(y)\nz = x + y\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\nresult = dist.all_reduce(x, dist.ReduceOp.SUM, group, True)\n\
             result.wait()\n",
        ),
    ],
};

/// What torch.distributed.ReduceOp has.
const REDUCTIONS: &[&str] =
    &["SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM", "RedOpType", "UNUSED"];

fn judge(program: &Program) -> Vec<Found> {
    let found = program.calls.iter().filter_map(|call| {
        used(program, call).or_else(|| not_awaited(program, call)).or_else(|| reduction(call))
    });
    found.collect()
}

/// An asynchronous collective for which the program never waits.
fn not_awaited(program: &Program, call: &Call) -> Option<Found> {
    let name = call.name.strip_prefix("torch.distributed.")?;
    collective(program, call)?;
    call.keyword("async_op").filter(|one| one.text == "True")?;
    let waits = ["wait(", "get_future", "is_completed", "synchronize("];
    if waits.iter().any(|word| program.text.contains(word)) {
        return None;
    }
    let what = call.arguments.first().map_or("the tensor", |one| one.text.as_str());
    let message = format!(
        "{name} with async_op=True only starts; nothing waits for it, and {what} has its old values, or half \
         of the new ones, when it is used"
    );
    let fix = "Keep what it returns and call `.wait()` on it, or leave out async_op";
    Some(Found::warning(call.line, message, fix))
}

/// The collective of tensors or objects that a call is; a barrier has none.
fn collective<'p>(program: &'p Program, call: &Call) -> Option<&'p DistributedFunction> {
    let known = program.catalog.distributed_functions().of_kind(&call.name, Kind::Collective);
    known.filter(|known| !known.function.ends_with("barrier"))
}

fn used(program: &Program, call: &Call) -> Option<Found> {
    let name = call.name.strip_prefix("torch.distributed.")?;
    // A function without async_op returns nothing in any case.
    let known = collective(program, call)?;
    let given = call.arguments.iter().any(|one| matches!(one.name.as_deref(), Some("async_op" | "*")));
    let plain = call.arguments.iter().filter(|one| one.name.is_none()).count();
    if given || known.async_op_at.is_some_and(|at| plain > at) {
        return None;
    }
    let behind = program.text.get(call.at.end..)?;
    let operator =
        behind.trim_start_matches([' ', ')']).starts_with(['/', '*', '+', '-']) && !behind.starts_with('\n');
    let method = behind.starts_with('.') || behind.starts_with('[');
    let assigned = program.assignments.iter().find(|one| one.at == call.at);
    let how = match assigned {
        Some(one) => {
            // Used before it is set to something else.
            let later = program.text.get(one.at.end..)?.lines().skip(1);
            let word = |text: &str| names(text).any(|word| word == one.name);
            let first = later.into_iter().find(|line| word(line))?;
            let again = first.trim_start().strip_prefix(one.name.as_str()).map(str::trim_start);
            let replaced =
                again.is_some_and(|rest| rest.starts_with('=') && !rest.starts_with("==") && !word(rest));
            (is_name(&one.name) && !replaced).then(|| format!("{} is None from here on", one.name))?
        }
        None if operator => "the expression fails with TypeError".to_owned(),
        None if method => "AttributeError".to_owned(),
        None => return None,
    };
    let what = call.arguments.first().map_or("tensor", |one| one.text.as_str());
    let message = format!("{name} changes its tensor in place and returns None; {how}");
    let fix = format!(
        "Call it alone, and use `{what}` afterwards; only async_op=True returns something to wait for"
    );
    Some(Found::error(call.line, message, fix))
}

fn reduction(call: &Call) -> Option<Found> {
    let name = call.name.strip_prefix("torch.distributed.")?;
    let place = match name {
        "all_reduce" => 1,
        "reduce" | "reduce_scatter" | "reduce_scatter_tensor" => 2,
        _ => return None,
    };
    let op = call.argument(place, "op")?;
    let known = REDUCTIONS.join(", ");
    if let Some(text) = string(&op.text) {
        let message = format!("op of {name} is the text {text:?}; it takes a torch.distributed.ReduceOp");
        return Some(Found::error(op.line, message, "Write `op=dist.ReduceOp.SUM`, and divide for the mean"));
    }
    let member = op.text.rsplit_once("ReduceOp.").map(|(_, member)| member)?;
    let message = format!("ReduceOp has no {member}; AttributeError");
    let fix = format!("Use one of {known}: AVG (NCCL only), or SUM and a division");
    (is_name(member) && !REDUCTIONS.contains(&member)).then(|| Found::error(op.line, message, fix))
}
