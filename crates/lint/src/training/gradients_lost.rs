//! Gradients that are cleared before the step, or never computed.

use crate::read::python::{Call, Program, contains, names};
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
    ],
    silent: &[
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
    let backward =
        program.calls.iter().filter(|call| call.name.ends_with(".backward") || call.name == "backward");
    backward.filter_map(|call| without_gradients(program, call).or_else(|| cleared(program, call))).collect()
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
    let behind = program.calls.iter().filter(|other| other.at.start > call.at.end && block(other));
    let behind: Vec<&Call> = behind.collect();
    let clear = behind.iter().position(|other| other.name.ends_with(".zero_grad"))?;
    let optimizer = behind[clear].name.trim_end_matches(".zero_grad");
    let step = behind.iter().position(|other| {
        other.name == format!("{optimizer}.step")
            || other.name.ends_with(".step")
                && other.arguments.first().is_some_and(|one| one.text == optimizer)
    })?;
    let again = behind[..step].iter().any(|other| other.name.ends_with("backward"));
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
        .then(|| Found::error(behind[clear].line, message, fix))
}
