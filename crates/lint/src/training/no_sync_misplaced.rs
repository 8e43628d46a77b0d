//! `no_sync` around every backward, or around backward without the forward pass.

use std::ops::Range;

use crate::read::python::{Assignment, Branch, Call, Loop, Program, contains, is_name, names};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "no-sync-misplaced",
    severity: Severity::Error,
    summary: "no_sync has the forward pass in it and leaves out the last micro-step",
    explain: include_str!("no_sync_misplaced.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nmodel = DDP(net)\n\
             for \
             step in range(9):\n    for micro in range(8):\n        with model.no_sync():\n            \
             loss = \
             model(next(data))\n            loss.backward()\n    opt.step()\n    opt.zero_grad()\n",
        ),
        named(
            "train.py",
            "import contextlib\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nmodel = \
             DDP(net)\n\
             for i, x in enumerate(data):\n    last = i % 8 == 7\n    loss = model(x).mean()\n    sync = \
             contextlib.nullcontext() if last else model.no_sync()\n    with sync:\n        \
             loss.backward()\n    \
             if last:\n        opt.step()\n        opt.zero_grad()\n",
        ),
        named(
            "train.py",
            "from torch.nn.parallel import DistributedDataParallel as DDP\nmodel = DDP(net)\n\
             for i, x in enumerate(data):\n    loss = model(x).mean()\n    if i % 8 != 7:\n        with \
             model.no_sync():\n            loss.backward()\n    else:\n        loss.backward()\n        \
             opt.step()\n",
        ),
        named(
            "train.py",
            "import contextlib\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nmodel = \
             DDP(net)\nfor i, \
             x in enumerate(data):\n    last = (i + 1) % 4 == 0\n    ctx = model.no_sync() if last else \
             contextlib.nullcontext()\n    with ctx:\n        model(x).mean().backward()\n    if \
             last:\n        \
             opt.step()\n        opt.zero_grad()\n",
        ),
        named(
            "train.py",
            "from contextlib import nullcontext\nfrom torch.nn.parallel import DistributedDataParallel as \
             DDP\nmodel = \
             DDP(net)\nfor i, x in enumerate(data):\n    with model.no_sync() if i % 4 == 3 else \
             nullcontext():\n        \
             model(x).mean().backward()\n    if i % 4 == 3:\n        opt.step()\n        opt.zero_grad()\n",
        ),
        named(
            "train.py",
            "from contextlib import nullcontext\nfrom torch.nn.parallel import DistributedDataParallel as \
             DDP\nmodel = DDP(net)\nfor step in range(100):\n    opt.zero_grad()\n    for m, x in \
             enumerate(parts):\n        with model.no_sync() if m == len(parts) - 1 else \
             nullcontext():\n            \
             model(x).mean().backward()\n    opt.step()\n",
        ),
        named(
            "train.py",
            "from torch.nn.parallel import DistributedDataParallel as DDP\nN = 4\nmodel = DDP(net)\nfor \
             step in range(100):\n    for m in range(N):\n        last = (m + 1) == N\n        if \
             last:\n            with \
             model.no_sync():\n                model(next(data)).mean().backward()\n        \
             else:\n            model(next(data)).mean().backward()\n    opt.step()\n    opt.zero_grad()\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "from contextlib import nullcontext\nfrom torch.nn.parallel import DistributedDataParallel as \
             DDP\nmodel = DDP(net)\nfor step in range(100):\n    for m in range(8):\n        with \
             model.no_sync() if m != 8 - 1 else nullcontext():\n            \
             model(next(data)).mean().backward()\n    \
             opt.step()\n",
        ),
        named(
            "train.py",
            "from contextlib import nullcontext\nfrom torch.nn.parallel import DistributedDataParallel as \
             DDP\nmodel = DDP(net)\nfor step in range(100):\n    for m in range(N):\n        last = m == N - \
             1\n        sync = nullcontext() if last else model.no_sync()\n        with sync:\n            \
             model(next(data)).mean().backward()\n    opt.step()\n",
        ),
        named(
            "train.py",
            "from contextlib import nullcontext\nfrom torch.nn.parallel import DistributedDataParallel as \
             DDP\nmodel = \
             DDP(net)\nfor i, x in enumerate(data):\n    hold = (i + 1) % 4 != 0\n    with model.no_sync() \
             if hold else \
             nullcontext():\n        model(x).mean().backward()\n    if not hold:\n        \
             opt.step()\n        \
             opt.zero_grad()\n",
        ),
        named(
            "train.py",
            "import contextlib\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nmodel = \
             DDP(net)\n\
             for i, x in enumerate(data):\n    last = i % 8 == 7\n    sync = contextlib.nullcontext() if \
             last \
             else model.no_sync()\n    with sync:\n        loss = model(x).mean()\n        \
             loss.backward()\n    \
             if last:\n        opt.step()\n",
        ),
        named(
            "train.py",
            "from torch.nn.parallel import DistributedDataParallel as DDP\nmodel = DDP(net)\n\
             with model.no_sync():\n    for x in data[:-1]:\n        model(x).mean().backward()\n\
             model(data[-1]).mean().backward()\nopt.step()\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n\
             model = DDP(net)\nwith model.no_sync():\n    for x in data:\n        \
             model(x).mean().backward()\n\
             for p in model.parameters():\n    dist.all_reduce(p.grad)\nopt.step()\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let contexts: Vec<Context> = program.contexts.iter().filter_map(|one| context(program, one)).collect();
    if contexts.is_empty() {
        return Vec::new();
    }
    let inverted = inverted(program);
    inverted.into_iter().chain(every(program, &contexts)).chain(outside(program, &contexts)).take(1).collect()
}

/// A `with` that holds back the reduction of gradients.
struct Context<'p> {
    /// The model: `model` of `model.no_sync()`.
    model: &'p str,
    body: &'p Range<usize>,
    /// Whether it always does.
    always: bool,
}

fn context<'p>(program: &'p Program, (head, body): &'p (String, Range<usize>)) -> Option<Context<'p>> {
    let model = |text: &'p str| {
        let at = text.find(".no_sync")?;
        let start = text[..at].rfind(|letter: char| !letter.is_alphanumeric() && !"_.".contains(letter));
        Some(&text[start.map_or(0, |start| start + 1)..at])
    };
    if let Some(model) = model(head) {
        return Some(Context { model, body, always: !head.contains(" if ") });
    }
    // `sync = nullcontext() if last else model.no_sync()`
    let set = program.assignments.iter().rev().find(|one| {
        one.at.start < body.start && one.text.contains(".no_sync") && names(head).any(|name| name == one.name)
    })?;
    let sets = program.assignments.iter().filter(|one| one.name == set.name).count();
    Some(Context { model: model(&set.text)?, body, always: sets == 1 && !set.text.contains(" if ") })
}

fn backward(program: &Program) -> impl Iterator<Item = &Call> {
    program.calls.iter().filter(|call| call.name == "backward" || call.name.ends_with(".backward"))
}

/// No backward that reduces, and a step of the optimizer.
fn every(program: &Program, contexts: &[Context]) -> Option<Found> {
    let holding = |call: &Call| contexts.iter().find(|one| one.always && contains(one.body, &call.at));
    let mut all = backward(program).peekable();
    let first = *all.peek()?;
    let context = holding(first)?;
    let last = backward(program).last()?;
    let reduces = ["all_reduce", "reduce_scatter", "require_backward_grad_sync", "average_parameters"];
    let elsewhere = reduces.iter().any(|word| program.text.contains(word));
    let steps = program.calls.iter().any(|call| {
        call.name.ends_with(".step") && call.function == first.function && call.at.start > last.at.end
    });
    let conditional = program.branches_at(&first.at, &first.function).next().is_some();
    if elsewhere || !steps || conditional || !all.all(|call| holding(call).is_some()) {
        return None;
    }
    let message = format!(
        "every backward runs under {}.no_sync(), also the last one before the optimizer's step; gradients \
         are never reduced, and each rank trains a model of its own",
        context.model
    );
    let fix = "Leave no_sync out in the last micro-step: `with nullcontext() if last else model.no_sync():`";
    Some(Found::error(line_before(program, context.body), message, fix))
}

/// no_sync in the micro-step in which the optimizer steps, and in no other.
fn inverted(program: &Program) -> Option<Found> {
    let reduced = program.text.contains("all_reduce")
        && [".grad)", ".grad,", ".grad."].iter().any(|word| program.text.contains(word));
    if reduced
        || ["require_backward_grad_sync", "average_parameters"].iter().any(|word| program.text.contains(word))
    {
        return None;
    }
    let sets = program.assignments.iter().map(|one| (one.text.as_str(), one.line, one.at.start));
    let heads = program.contexts.iter().map(|(head, body)| {
        let line = line_before(program, body);
        (head.trim_start().trim_start_matches("with ").trim_end().trim_end_matches(':'), line, body.start)
    });
    let chosen = sets.chain(heads).filter_map(|(text, line, at)| {
        let (held, rest) = text.split_once(" if ")?;
        let (condition, _) = rest.rsplit_once(" else ")?;
        let model = held.trim().trim_start_matches('(').strip_suffix(".no_sync()")?;
        Some(Held { model, condition: condition.trim(), line, at, chosen: true })
    });
    let mut all = chosen.chain(held_in_branches(program));
    all.find_map(|held| of_last_iteration(program, &held).or_else(|| where_stepped(program, &held)))
}

/// The reduction is held back where a condition holds.
struct Held<'p> {
    model: &'p str,
    condition: &'p str,
    line: usize,
    at: usize,
    /// Whether an expression chooses between `no_sync` and nothing.
    chosen: bool,
}

/// `if last: with model.no_sync(): … backward()`, and another backward where it does not hold.
fn held_in_branches(program: &Program) -> impl Iterator<Item = Held<'_>> {
    program.contexts.iter().filter_map(move |(head, body)| {
        let text = head.trim().trim_start_matches("with ").trim_end_matches(':').trim_end();
        let model = text.strip_suffix(".no_sync()").filter(|model| is_name(model))?;
        let around = program.branches.iter().filter(|one| contains(&one.at, body));
        let branch = around.min_by_key(|one| one.at.len()).filter(|one| !one.otherwise)?;
        let other = program.branches.iter().find(|one| {
            one.otherwise && one.condition == branch.condition && one.at.start >= branch.at.end
        })?;
        backward(program).find(|call| contains(&other.at, &call.at))?;
        let condition = branch.condition.trim();
        Some(Held { model, condition, line: line_before(program, body), at: body.start, chosen: false })
    })
}

impl Held<'_> {
    fn fix(&self) -> String {
        let Held { model, condition, .. } = self;
        match self.chosen {
            true => format!("Swap the two: `nullcontext() if {condition} else {model}.no_sync()`"),
            false => format!("Swap the branches: `{model}.no_sync()` where `{condition}` does not hold"),
        }
    }
}

/// The last iteration of a loop is held back, and the optimizer steps after the loop.
fn of_last_iteration(program: &Program, held: &Held) -> Option<Found> {
    let place = held.at..held.at;
    let around = program.loops.iter().filter(|one| contains(&one.body, &place));
    let enclosing = around.min_by_key(|one| one.body.len())?;
    let named = program.assignments.iter().rfind(|one| {
        one.name == held.condition && one.at.start < held.at && contains(&enclosing.body, &one.at)
    });
    let condition = named.map_or(held.condition, |one| one.text.as_str());
    if program.loop_at(&place) != Some(&enclosing.body) || !is_last_iteration(enclosing, condition) {
        return None;
    }
    let functions = program.functions.iter().filter(|one| contains(&one.at, &place));
    let function = functions.min_by_key(|one| one.at.len()).map_or(0..0, |one| one.at.clone());
    let outer = program.loop_at(&(enclosing.body.start.checked_sub(1)?..enclosing.body.end));
    let after = |call: &&Call| call.at.start > enclosing.body.end;
    let step = program.calls.iter().filter(after).find(|call| {
        call.name.ends_with(".step")
            && !call.name.contains("sched")
            && call.function == function
            && program.loop_at(&call.at) == outer
            && !call.conditional
    })?;
    // Another backward may reduce them.
    let again =
        backward(program).any(|call| call.at.start > enclosing.body.end && call.at.end < step.at.start);
    if again || backward(program).all(|call| !contains(&enclosing.body, &call.at)) {
        return None;
    }
    let (model, last) = (held.model, held.condition);
    let message = format!(
        "{model}.no_sync() skips the gradient all-reduce in the last micro-batch (`{last}`), right before \
         the optimizer steps (line {}): those gradients are never synchronized, and the weights of the ranks \
         diverge",
        step.line
    );
    Some(Found::error(held.line, message, held.fix()))
}

/// Whether a condition holds in the last iteration of a loop alone: `i == N - 1` in `for i in range(N)`.
fn is_last_iteration(enclosing: &Loop, condition: &str) -> bool {
    let bare = |text: &str| -> String {
        let text: String = text.split_whitespace().collect();
        match text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
            Some(inner) if !inner.contains('(') => inner.to_owned(),
            _ => text,
        }
    };
    let (over, through) = (bare(&enclosing.over), bare(&enclosing.through));
    let inner = |name: &str| through.strip_prefix(name)?.strip_suffix(')').map(str::to_owned);
    let (variable, count) = match (inner("range("), inner("enumerate(")) {
        (Some(count), _) if !count.contains(',') => (over.as_str(), count),
        (_, Some(all)) if !all.contains(',') => match over.split_once(',') {
            Some((index, _)) => (index, format!("len({all})")),
            None => return false,
        },
        _ => return false,
    };
    let bare = bare(condition);
    let Some((left, right)) = bare.split_once("==") else { return false };
    let number = count.parse::<u64>().ok().map(|number| number.saturating_sub(1).to_string());
    let before_last = [Some(format!("{count}-1")), number];
    let next = [format!("{variable}+1"), format!("({variable}+1)")];
    let sides = [(left, right), (right, left)];
    sides.iter().any(|(one, other)| {
        *one == variable && before_last.iter().flatten().any(|last| last == other)
            || next.iter().any(|next| next == one) && *other == count
    })
}

/// The reduction is held back under the condition under which the optimizer steps.
fn where_stepped(program: &Program, held: &Held) -> Option<Found> {
    let (condition, at) = (held.condition, held.at);
    let step = program.calls.iter().find(|call| {
        let own = |branch: &Branch| !branch.otherwise && branch.condition.trim() == condition;
        call.name.ends_with(".step")
            && call.at.start > at
            && program.branches_at(&call.at, &call.function).any(own)
    })?;
    // What changes in between is another condition.
    let changes = |one: &Assignment| {
        (at..step.at.start).contains(&one.at.start) && names(condition).any(|name| name == one.name)
    };
    if program.sums.iter().chain(&program.assignments).any(changes) {
        return None;
    }
    let message = format!(
        "{}.no_sync() skips the gradient all-reduce exactly where the optimizer steps (line {}, `if \
         {condition}`): those gradients are never synchronized, and the weights of the ranks diverge",
        held.model, step.line
    );
    Some(Found::error(held.line, message, held.fix()))
}

/// A backward under no_sync whose forward pass is outside of it.
fn outside(program: &Program, contexts: &[Context]) -> Option<Found> {
    contexts.iter().find_map(|one| {
        backward(program).find(|call| contains(one.body, &call.at))?;
        let body = program.loop_at(one.body)?;
        let forward = |call: &&Call| call.name == one.model || call.name == format!("{}.forward", one.model);
        let mut calls = program.calls.iter().filter(forward).filter(|call| contains(body, &call.at));
        let held = |call: &Call| contexts.iter().any(|other| contains(other.body, &call.at));
        let first = calls.next().filter(|call| !held(call) && call.at.end < one.body.start)?;
        if calls.any(held) {
            return None;
        }
        let message = format!(
            "{}(…) in line {} runs outside of no_sync; DDP decides in the forward pass whether backward \
             reduces the gradients, so that every micro-step still does",
            one.model, first.line
        );
        let fix = format!("Move the call of {} into the `with` block", one.model);
        Some(Found::warning(line_before(program, one.body), message, fix))
    })
}

/// The line of the `with` whose body begins at a place.
fn line_before(program: &Program, body: &Range<usize>) -> usize {
    let before = program.text.get(..body.start).unwrap_or_default().trim_end();
    before.lines().count().max(1)
}
