//! A training step that leaves out DistributedDataParallel.

use std::collections::BTreeSet;

use crate::read::python::{Call, Program, contains, is_name, names};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "ddp-module-called",
    severity: Severity::Error,
    summary: "training steps call the DDP model, not the module in it",
    explain: include_str!("ddp_module_called.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nddp = DDP(net)\n\
             for x, y in loader:\n    loss = loss_fn(ddp.module(x), y)\n    opt.zero_grad()\n    \
             loss.backward()\n    opt.step()\n",
        ),
        named(
            "train.py",
            "import torch\nmodel = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank])\n\
             for x, y in loader:\n    optimizer.zero_grad()\n    out = model.module.forward(x)\n    \
             loss = criterion(out, y)\n    scaler.scale(loss).backward()\n    scaler.step(optimizer)\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch.nn.parallel import DistributedDataParallel\nnet = Net().cuda()\n\
             ddp = DistributedDataParallel(net)\nopt = torch.optim.SGD(ddp.parameters(), lr=0.1)\n\
             for x, y in loader:\n    opt.zero_grad()\n    loss = loss_fn(net(x), y)\n    \
             loss.backward()\n    \
             opt.step()\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nddp = DDP(net)\n\
             for x, y in loader:\n    loss = loss_fn(ddp(x), y) + ddp.module.penalty()\n    \
             opt.zero_grad()\n    loss.backward()\n    opt.step()\n    if step % 100 == 0:\n        \
             torch.save(ddp.module.state_dict(), path)\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nddp = DDP(net)\n\
             for x, y in loader:\n    with torch.no_grad():\n        target = ddp.module(x)\n    \
             loss = loss_fn(student(x), target)\n    loss.backward()\n    opt.step()\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nddp = DDP(net)\n\
             for x, y in loader:\n    loss = loss_fn(ddp.module(x), y)\n    loss.backward()\n    \
             for p in ddp.module.parameters():\n        dist.all_reduce(p.grad)\n    opt.step()\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nmodel = Net()\n\
             if distributed:\n    ddp = DDP(model)\nfor x, y in loader:\n    loss = loss_fn(model(x), \
             y)\n    \
             loss.backward()\n    opt.step()\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nmodel = Net()\n\
             ddp = DDP(model)\ntrain(ddp)\nfor x, y in loader:\n    loss = loss_fn(model(x), y)\n    \
             loss.backward()\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    // Gradients that the script reduces itself need no DDP.
    let reduces = ["all_reduce", "reduce_scatter", "sync_gradients"].iter().any(|word| {
        program.calls.iter().any(|call| call.name.ends_with(word)) && program.text.contains(".grad")
    });
    if reduces {
        return Vec::new();
    }
    let wraps = program.assignments.iter().filter_map(|one| {
        let call = program.call_at(&one.at).filter(|call| call.name.ends_with("DistributedDataParallel"))?;
        is_name(&one.name).then_some((one.name.as_str(), call))
    });
    wraps.filter_map(|(name, wrap)| fault(program, name, wrap)).take(1).collect()
}

fn fault(program: &Program, ddp: &str, wrap: &Call) -> Option<Found> {
    let raw =
        wrap.argument(0, "module").map(|one| one.text.as_str()).filter(|raw| is_name(raw) && *raw != ddp);
    program.calls.iter().find_map(|call| {
        let inner = called(call, ddp);
        let plain = raw.is_some_and(|raw| is_raw(program, call, raw, wrap)) && only_raw(program, ddp, wrap);
        if !(inner || plain) || !trains(program, call, ddp) {
            return None;
        }
        let message = format!(
            "{}(…) in line {} calls the model without DDP, and its loss goes into backward; DDP reduces no \
             gradients, and each rank trains a model of its own",
            call.name, call.line
        );
        let fix = format!("Call `{ddp}(…)`; use {ddp}.module only for saving and for evaluation");
        Some(Found::error(call.line, message, fix))
    })
}

/// Whether a call is one of the module that DDP wraps: `ddp.module(x)`, `ddp.module.forward(x)`.
fn called(call: &Call, ddp: &str) -> bool {
    let rest = call.name.strip_prefix(ddp).and_then(|rest| rest.strip_prefix(".module"));
    matches!(rest, Some("" | ".forward"))
}

/// Whether a call is one of the model that was wrapped before, in the same function.
fn is_raw(program: &Program, call: &Call, raw: &str, wrap: &Call) -> bool {
    let behind = |at: usize| at > wrap.at.end && at < call.at.start;
    let again = program.assignments.iter().any(|one| one.name == raw && behind(one.at.start));
    call.name == raw && call.function == wrap.function && call.at.start > wrap.at.end && !again
}

/// Whether the model is certainly wrapped, and nothing but its parameters is ever used of the wrapper.
fn only_raw(program: &Program, ddp: &str, wrap: &Call) -> bool {
    let word = |text: &str| names(text).any(|one| one == ddp);
    let used = program.calls.iter().any(|call| {
        let own = call.name == ddp || call.name == format!("{ddp}.forward");
        let given = call
            .arguments
            .iter()
            .any(|one| word(&one.text) && one.text.replace(&format!("{ddp}.parameters()"), "").contains(ddp));
        own || given
    });
    let again =
        program.assignments.iter().any(|one| one.at != wrap.at && word(&one.text) && is_name(&one.text));
    let returned = program.text.lines().any(|line| line.trim_start().starts_with("return") && word(line));
    !wrap.conditional && !used && !again && !returned && !ddp.contains('.')
}

/// Whether the result of a call reaches backward in the same loop, in which DDP itself is not called.
fn trains(program: &Program, call: &Call, ddp: &str) -> bool {
    let Some(body) = program.loop_at(&call.at) else { return false };
    let without = |head: &str| {
        ["no_grad", "inference_mode", "summon_full_params"].iter().any(|word| head.contains(word))
    };
    let in_context = program.contexts.iter().any(|(head, at)| without(head) && contains(at, &call.at));
    let decorated = program
        .functions
        .iter()
        .any(|one| one.decorators.iter().any(|text| without(text)) && contains(&one.at, &call.at));
    let itself = program.calls.iter().any(|other| {
        contains(body, &other.at) && (other.name == ddp || other.name == format!("{ddp}.forward"))
    });
    if in_context || decorated || itself || call.conditional {
        return false;
    }
    // The names that hold something of the result, statement by statement.
    let mut holds: BTreeSet<&str> = BTreeSet::new();
    let own = program.assignments.iter().filter(|one| contains(body, &one.at));
    for one in own {
        let detached = one.text.contains(".detach()") || one.text.contains(".item()");
        let from = contains(&one.at, &call.at) || names(&one.text).any(|word| holds.contains(word));
        let targets = one.name.split(',').map(|name| name.trim().trim_matches(['(', ')']));
        match from && !detached {
            true => holds.extend(targets),
            false => targets.for_each(|name| {
                holds.remove(name);
            }),
        }
    }
    program.calls.iter().any(|backward| {
        let is_one = backward.name == "backward" || backward.name.ends_with(".backward");
        let text = program.text.get(backward.at.clone()).unwrap_or_default();
        let of_result = names(text).any(|word| holds.contains(word)) || contains(&backward.at, &call.at);
        is_one && backward.at.end > call.at.end && contains(body, &backward.at) && of_result
    })
}
