//! A training loop that leaves out a part of accelerate.

use crate::read::python::{Call, Program, contains, number, string};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "accelerator-bypassed",
    severity: Severity::Error,
    summary: "loops with accelerate call its backward and its accumulate",
    explain: include_str!("accelerator_bypassed.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "from accelerate import Accelerator\naccelerator = Accelerator(mixed_precision=\"fp16\")\n\
             model, opt, loader = accelerator.prepare(model, opt, loader)\nfor batch in loader:\n    \
             opt.zero_grad()\n    loss = model(batch)\n    loss.backward()\n    opt.step()\n",
        ),
        named(
            "train.py",
            "from accelerate import Accelerator\naccelerator = Accelerator(gradient_accumulation_steps=4)\n\
             model, opt, loader = accelerator.prepare(model, opt, loader)\nfor batch in loader:\n    \
             opt.zero_grad()\n    accelerator.backward(model(batch))\n    opt.step()\n",
        ),
        named(
            "train.py",
            "from accelerate import Accelerator\naccelerator = Accelerator(mixed_precision=\"fp32\")\n",
        ),
        named("train.py", "import accelerate\na = accelerate.Accelerator(fp16=True)\n"),
        named(
            "train.py",
            "from accelerate import Accelerator\naccelerator = Accelerator(gradient_accumulation_steps=4)\n\
             model, opt, loader = accelerator.prepare(model, opt, loader)\nfor batch in loader:\n    \
             with accelerator.accumulate(model):\n        loss = model(batch) / 4\n        \
             accelerator.backward(loss)\n        opt.step()\n        opt.zero_grad()\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "from accelerate import Accelerator\naccelerator = Accelerator(mixed_precision=\"bf16\", \
             gradient_accumulation_steps=4)\nmodel, opt, loader = accelerator.prepare(model, opt, loader)\n\
             for batch in loader:\n    with accelerator.accumulate(model):\n        loss = \
             model(batch)\n        \
             accelerator.backward(loss)\n        opt.step()\n        opt.zero_grad()\n",
        ),
        named(
            "train.py",
            "from accelerate import Accelerator\naccelerator = Accelerator(gradient_accumulation_steps=1)\n\
             model, opt = accelerator.prepare(model, opt)\nfor batch in loader:\n    opt.zero_grad()\n    \
             accelerator.backward(model(batch))\n    opt.step()\n",
        ),
        named(
            "train.py",
            "from accelerate import Accelerator\naccelerator = \
             Accelerator(gradient_accumulation_steps=args.n)\n\
             train(accelerator)\n",
        ),
    ],
};

/// The modes of `mixed_precision`.
const PRECISIONS: &[&str] = &["no", "fp8", "fp16", "bf16"];

fn judge(program: &Program) -> Vec<Found> {
    let made = program.assignments.iter().filter_map(|one| {
        let call = program.call_at(&one.at)?;
        matches!(call.name.as_str(), "accelerate.Accelerator" | "accelerate.accelerator.Accelerator")
            .then_some((one.name.as_str(), call))
    });
    let made: Vec<(&str, &Call)> = made.collect();
    let mut found: Vec<Found> = made.iter().filter_map(|(_, call)| precision(call)).collect();
    if let [(name, call)] = made[..] {
        found.extend(backward(program, name, call));
        found.extend(accumulation(program, name, call));
    }
    found
}

fn precision(call: &Call) -> Option<Found> {
    if let Some(old) = call.keyword("fp16") {
        let message = "Accelerator no longer takes fp16; TypeError";
        return Some(Found::error(old.line, message, "Write `mixed_precision=\"fp16\"`"));
    }
    let given = call.keyword("mixed_precision")?;
    let mode = string(&given.text).filter(|mode| !PRECISIONS.contains(mode))?;
    let message = format!("mixed_precision {mode:?} does not exist; Accelerator raises ValueError");
    Some(Found::error(given.line, message, format!("Use one of {}", PRECISIONS.join(", "))))
}

/// `loss.backward()` with a prepared model and optimizer.
fn backward(program: &Program, name: &str, made: &Call) -> Option<Found> {
    let prepares = program.calls.iter().any(|call| call.name == format!("{name}.prepare"));
    let own = program.calls.iter().any(|call| call.name == format!("{name}.backward"));
    let given = program.calls.iter().any(|call| call.arguments.iter().any(|one| one.text == name));
    let call = program.calls.iter().find(|call| {
        let value = call.name.strip_suffix(".backward");
        value.is_some_and(|value| value.ends_with("loss")) && program.loop_at(&call.at).is_some()
    })?;
    if !prepares || own || given {
        return None;
    }
    let scaled = made.keyword("mixed_precision").is_some_and(|one| string(&one.text) == Some("fp16"));
    let effect = match scaled {
        true => "with mixed_precision=\"fp16\" the loss is not scaled, and the step of the optimizer fails",
        false => "scaling, DeepSpeed and gradient accumulation are left out",
    };
    let message = format!("{} bypasses {name}.backward: {effect}", call.name);
    let value = call.name.trim_end_matches(".backward");
    let fix = format!("Write `{name}.backward({value})`");
    Some(Found::error(call.line, message, fix).unless_certain(scaled))
}

/// `gradient_accumulation_steps` without accumulate, or with a division of its own.
fn accumulation(program: &Program, name: &str, made: &Call) -> Option<Found> {
    let given = made.keyword("gradient_accumulation_steps")?;
    let steps = number(&given.text).filter(|steps| *steps > 1.0)?;
    let handed = program.calls.iter().any(|call| call.arguments.iter().any(|one| one.text == name));
    let own = program.calls.iter().find(|call| call.name == format!("{name}.backward"))?;
    let accumulates =
        ["accumulate", "sync_gradients", "no_sync"].iter().any(|word| program.text.contains(word));
    if !accumulates && !handed {
        let message = format!(
            "gradient_accumulation_steps is {steps}, but nothing calls {name}.accumulate: the optimizer \
             steps for each \
             batch, with a loss divided by {steps}"
        );
        let fix = format!("Put the step into `with {name}.accumulate(model):`");
        return Some(Found::warning(given.line, message, fix));
    }
    let (_, block) = program
        .contexts
        .iter()
        .find(|(head, block)| head.contains(&format!("{name}.accumulate")) && contains(block, &own.at))?;
    let by = [format!("/ {steps}"), format!("/{steps}"), format!("/ {name}.gradient_accumulation_steps")];
    let divided = program.assignments.iter().find(|one| {
        let text = one.text.trim_end_matches(')');
        contains(block, &one.at)
            && one.name.ends_with("loss")
            && by.iter().any(|end| text.ends_with(end.as_str()))
    })?;
    let message = format!(
        "the loss is divided by {steps} here and again by {name}.backward; the gradients are too small"
    );
    Some(Found::warning(divided.line, message, "Remove the division"))
}
