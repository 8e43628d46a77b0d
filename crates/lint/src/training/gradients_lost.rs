//! Gradients that are cleared before the step, or never computed.

use std::ops::Range;

use crate::read::python::{Branch, Call, Program, contains, is_name, names};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "gradients-lost",
    severity: Severity::Error,
    summary: "gradients exist, and stay until the optimizer steps",
    explain: include_str!("gradients_lost.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch\n@torch.no_grad()\ndef train(model, loader, opt):\n    for x in loader:\n        \
             loss = model(x).mean()\n        opt.zero_grad()\n        loss.backward()\n        opt.step()\n",
        ),
        named(
            "train.py",
            "import torch\nfor x in loader:\n    loss = model(x).mean()\n    loss.backward()\n    \
             opt.zero_grad()\n    opt.step()\n",
        ),
        named(
            "train.py",
            "import torch\nfor x in loader:\n    opt.zero_grad()\n    with torch.inference_mode():\n        \
             loss = model(x).mean()\n        loss.backward()\n    opt.step()\n",
        ),
        named(
            "train.py",
            "import torch\nSTEPS = 4\nfor step, (x, y) in enumerate(loader):\n    opt.zero_grad()\n    loss \
             = criterion(net(x), y)\n    loss = loss / STEPS\n    loss.backward()\n    if (step + 1) % STEPS \
             == 0:\n        opt.step()\n        scheduler.step()\n",
        ),
        named(
            "train.py",
            "import torch\ndef epoch(net, loader, opt, scaler, args):\n    for n, x in \
             enumerate(loader):\n        \
             with torch.autocast(\"cuda\"):\n            loss = net(x).mean() / args.accumulate\n        \
             scaler.scale(loss).backward()\n        due = n % args.accumulate == args.accumulate - \
             1\n        if due:\n            scaler.step(opt)\n            scaler.update()\n        \
             net.zero_grad()\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch\nfor i, b in enumerate(loader):\n    opt.zero_grad()\n    loss = model(b)\n    \
             loss.backward()\n    if i % 8 == 0:\n        opt.step()\n        continue\n    other.step()\n",
        ),
        // Each step has micro-batches of its own.
        named(
            "train.py",
            "import torch\nfor step, batch in enumerate(loader):\n    opt.zero_grad()\n    for micro in \
             batch.chunk(4):\n        loss = net(micro).mean() / 4\n        loss.backward()\n    \
             opt.step()\n    if step % 100 == 0:\n        print(loss)\n",
        ),
        named(
            "train.py",
            "import torch\nfor i, x in enumerate(loader):\n    if i % 4 == 0:\n        opt.zero_grad()\n    \
             loss = net(x).mean() / 4\n    loss.backward()\n    if i % 4 == 3:\n        opt.step()\n",
        ),
        // The object has buffers of its own.
        named(
            "train.py",
            "import torch\nfrom buffers import Sum\nkept = Sum(net)\nfor i, x in enumerate(loader):\n    \
             opt.zero_grad()\n    loss = net(x).mean() / 4\n    kept.backward(loss)\n    if (i + 1) % 4 == \
             0:\n        kept.load()\n        opt.step()\n",
        ),
        // The generator's optimizer steps less often than the other one.
        named(
            "train.py",
            "import torch\nfor i, x in enumerate(loader):\n    opt_d.zero_grad()\n    opt_g.zero_grad()\n    \
             d_loss(x).backward()\n    opt_d.step()\n    if i % 5 == 0:\n        opt_g.zero_grad()\n        \
             g_loss(x).backward()\n        opt_g.step()\n",
        ),
        named(
            "train.py",
            "import torch\nfor i, x in enumerate(loader):\n    loss = model(x).mean()\n    \
             loss.backward()\n    \
             if i % 4 == 3:\n        opt.step()\n        opt.zero_grad()\n",
        ),
        named(
            "train.py",
            "import torch\nfor x in loader:\n    loss_d = d(x)\n    loss_d.backward()\n    opt_d.step()\n    \
             opt_g.zero_grad()\n    loss_g = g(x)\n    loss_g.backward()\n    opt_g.step()\n    \
             opt_d.zero_grad()\n",
        ),
        named(
            "train.py",
            "import torch\n@torch.no_grad()\ndef train(model, x, opt):\n    with \
             torch.enable_grad():\n        \
             loss = model(x).mean()\n        opt.zero_grad()\n        loss.backward()\n    opt.step()\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    // Their optimizers know of the accumulation.
    const OWN: &[&str] = &["accelerat", "deepspeed", "accumulate(", "colossalai"];
    let is_backward = |call: &&Call| call.name.ends_with(".backward") || call.name == "backward";
    let backwards: Vec<&Call> = program.calls.iter().filter(is_backward).collect();
    let text = &program.text;
    let accumulates =
        text.contains(".zero_grad(") && text.contains('%') && !OWN.iter().any(|word| text.contains(word));
    let found = |call: &&Call| {
        let between = || accumulates.then(|| cleared_between(program, call, &backwards))?;
        without_gradients(program, call).or_else(|| cleared(program, call)).or_else(between)
    };
    backwards.iter().filter_map(found).collect()
}

/// `zero_grad` in each iteration of a loop whose optimizer steps only in some of them.
fn cleared_between(program: &Program, call: &Call, backwards: &[&Call]) -> Option<Found> {
    // `accumulator.backward(loss)` may keep the gradients elsewhere.
    let handed = call.arguments.first().is_some_and(|one| one.name.is_none());
    let body = program.loop_at(&call.at)?;
    let others = backwards.iter().filter(|other| contains(body, &other.at)).count();
    if handed && !call.name.starts_with("fabric.") || others != 1 {
        return None;
    }
    let here = |other: &&Call| {
        other.function == call.function && program.loop_at(&other.at).is_some_and(|own| own == body)
    };
    let in_loop = |branch: &&Branch| contains(body, &branch.at);
    // An expression with `if` is a condition, and no branch.
    let always = |other: &Call| {
        let mut around = program.branches_at(&other.at, &other.function).peekable();
        (!other.conditional || around.peek().is_some()) && !around.any(|one| in_loop(&one))
    };
    let clear = program
        .calls
        .iter()
        .find(|other| other.name.ends_with(".zero_grad") && here(other) && always(other))?;
    let cleared = clear.name.trim_end_matches(".zero_grad");
    if !always(call) {
        return None;
    }
    // The gradients are those of the optimizer, or of the model that the loop calls.
    let is_model = program.calls.iter().any(|other| other.name == cleared && contains(body, &other.at));
    let of_step = |other: &Call| match other.name.strip_suffix(".step") {
        Some(own) if is_model => !own.contains("sched") && !own.contains("prof"),
        Some(own) => own == cleared || other.arguments.first().is_some_and(|one| one.text == cleared),
        None => false,
    };
    let steps: Vec<&Call> = program.calls.iter().filter(|other| of_step(other)).collect();
    let (step, (condition, count)) = steps.iter().find_map(|step| {
        here(step).then_some(())?;
        let mut around = program.branches_at(&step.at, &step.function).filter(|one| in_loop(one));
        Some((*step, around.find_map(|branch| remainder(program, branch, body))?))
    })?;
    let others = steps.iter().any(|other| contains(body, &other.at) && always(other));
    // What goes on with the next iteration leaves the clearing out.
    let skipped = program.branches.iter().filter(in_loop).any(|branch| {
        branch.at.start < clear.at.start
            && program.text.get(branch.at.clone()).is_some_and(|text| text.contains("continue"))
    });
    // Another optimizer uses the gradients in the other iterations.
    let mut around = program.branches_at(&step.at, &step.function).filter(|one| in_loop(one));
    let text_of = |branch: &Branch| program.text.get(branch.at.clone()).unwrap_or_default();
    let ends = around.any(|one| text_of(one).contains("continue"));
    let alternates = ends
        && program.calls.iter().any(|other| {
            let optimizer = !other.name.contains("sched") && !other.name.contains("prof");
            optimizer
                && other.name.ends_with(".step")
                && other.name != step.name
                && contains(body, &other.at)
                && other.at.start > step.at.end
        });
    let set = program.certain_value(count, &call.function, call.at.start);
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let iterations = number(count).or_else(|| number(&set?.text));
    if others || skipped || alternates || iterations.is_some_and(|iterations| iterations < 2) {
        return None;
    }
    let bare: String = program.text.get(body.clone())?.split_whitespace().collect();
    let divided = bare.contains(&format!("/{count}")) || bare.contains(&format!("/={count}"));
    let own = step.name.trim_end_matches(".step");
    let optimizer = step.arguments.first().map_or(own, |one| one.text.as_str());
    let message = format!(
        "{cleared}.zero_grad() runs in every iteration, but {optimizer} steps only where `{condition}` (line \
         {}); the accumulated gradients are cleared each time, and every step uses those of one batch",
        step.line
    );
    let fix = format!("Call `{cleared}.zero_grad()` right after the step, in the same branch");
    Some(Found::error(clear.line, message, fix).unless_certain(divided && iterations.is_some()))
}

/// The condition of a branch with a remainder, and what it is the remainder by: `ACCUM` of
/// `(i + 1) % ACCUM == 0`, also where the loop gives it a name.
fn remainder<'p>(
    program: &'p Program,
    branch: &'p Branch,
    body: &Range<usize>,
) -> Option<(&'p str, &'p str)> {
    let condition = branch.condition.trim();
    let named = || {
        let mut sets = program.assignments.iter().filter(|one| one.name == condition);
        sets.find(|one| contains(body, &one.at)).map(|one| one.text.as_str())
    };
    let text = if is_name(condition) { named()? } else { condition };
    let count = text.split_once('%')?.1.trim_start();
    let plain = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.';
    let end = count.find(|letter| !plain(letter)).unwrap_or(count.len());
    (!branch.otherwise && end > 0).then_some((text, &count[..end]))
}

/// A backward where nothing records gradients.
fn without_gradients(program: &Program, call: &Call) -> Option<Found> {
    let off = |text: &str| {
        (text.contains("no_grad") || text.contains("inference_mode")) && !text.contains("set_grad")
    };
    let on = |text: &str| text.contains("enable_grad") || text.contains("set_grad_enabled");
    let value = call.name.trim_end_matches(".backward");
    // Of something that was computed before, elsewhere.
    let set = program.value(value, &call.function, call.at.start);
    let own = set.is_some_and(|set| set.function == call.function);
    let around = program.contexts.iter().filter(|(_, block)| contains(block, &call.at));
    let heads: Vec<&(String, std::ops::Range<usize>)> = around.collect();
    if heads.iter().any(|(head, _)| on(head)) || !own {
        return None;
    }
    let block =
        heads.iter().find(|(head, block)| off(head) && set.is_some_and(|set| contains(block, &set.at)));
    let decorated = program
        .functions
        .iter()
        .find(|one| one.at == call.function && one.decorators.iter().any(|text| off(text)));
    let by = match (block, decorated) {
        (Some((head, _)), _) => head.trim().trim_start_matches("with ").trim_end_matches(':').to_owned(),
        (None, Some(function)) => function.decorators.iter().find(|text| off(text))?.clone(),
        (None, None) => return None,
    };
    let message = format!(
        "{value} is computed under `{}`, where no gradients are recorded; backward raises `element 0 of \
         tensors does \
         not require grad`",
        by.trim()
    );
    Some(Found::error(call.line, message, "Leave it out in training; use it for evaluation only"))
}

/// `backward`, `zero_grad`, `step` in this order, in one block.
fn cleared(program: &Program, call: &Call) -> Option<Found> {
    let block = |other: &Call| {
        other.function == call.function
            && !other.conditional
            && program.loop_at(&other.at) == program.loop_at(&call.at)
    };
    let after = program.calls.iter().filter(|other| other.at.start > call.at.end && block(other));
    let after: Vec<&Call> = after.collect();
    let clear = after.iter().position(|other| other.name.ends_with(".zero_grad"))?;
    let optimizer = after[clear].name.trim_end_matches(".zero_grad");
    let step = after.iter().position(|other| {
        other.name == format!("{optimizer}.step")
            || other.name.ends_with(".step")
                && other.arguments.first().is_some_and(|one| one.text == optimizer)
    })?;
    let again = after[..step].iter().any(|other| other.name.ends_with("backward"));
    // The gradients that are cleared are those of this backward.
    let named = program.calls.iter().any(|made| {
        made.name.contains("optim.")
            && program.assignments.iter().any(|one| one.at == made.at && one.name != optimizer)
    });
    let message = format!(
        "{optimizer}.zero_grad() clears the gradients of the backward in line {}, before {optimizer}.step() \
         uses \
         them; the weights never change",
        call.line
    );
    let fix = format!("Call `{optimizer}.zero_grad()` before backward, or after step");
    let value = names(&call.name).next().unwrap_or_default();
    (clear < step && !again && !named && !call.conditional && !value.is_empty())
        .then(|| Found::error(after[clear].line, message, fix))
}
