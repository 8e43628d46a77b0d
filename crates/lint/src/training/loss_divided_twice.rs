//! A loss that is divided by the accumulation steps before Accelerate divides it by them.

use crate::read::python::{Call, Program, contains, is_name};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "loss-divided-twice",
    severity: Severity::Warning,
    summary: "with Accelerate, nothing else divides the loss by the accumulation steps",
    explain: include_str!("loss_divided_twice.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "tune.py",
            "from accelerate import Accelerator\nacc = Accelerator(gradient_accumulation_steps=cfg.steps)\n\
             model, opt, data = acc.prepare(model, opt, data)\nfor batch in data:\n    with \
             acc.accumulate(model):\n        out = model(**batch)\n        cost = out.loss / \
             cfg.steps\n        \
             acc.backward(cost)\n        opt.step()\n        opt.zero_grad()\n",
        ),
        named(
            "tune.py",
            "from accelerate import Accelerator\naccelerator = Accelerator(gradient_accumulation_steps=4)\n\
             for batch in data:\n    with accelerator.accumulate(model):\n        loss = \
             model(**batch).loss\n        \
             accelerator.backward(loss / accelerator.gradient_accumulation_steps)\n",
        ),
    ],
    silent: &[
        named(
            "tune.py",
            "from accelerate import Accelerator\nacc = Accelerator()\nfor i, batch in enumerate(data):\n    \
             loss = model(**batch).loss\n    loss = loss / cfg.steps\n    acc.backward(loss)\n",
        ),
        // Only what is logged is divided.
        named(
            "tune.py",
            "from accelerate import Accelerator\nacc = Accelerator(gradient_accumulation_steps=cfg.steps)\n\
             for batch in data:\n    with acc.accumulate(model):\n        loss = \
             model(**batch).loss\n        \
             mean = loss / cfg.steps\n        acc.backward(loss)\n        log(mean)\n",
        ),
        // The sum over tokens by their number.
        named(
            "tune.py",
            "from accelerate import Accelerator\nacc = Accelerator(gradient_accumulation_steps=cfg.steps)\n\
             for batch in data:\n    with acc.accumulate(model):\n        loss = \
             model(**batch).loss\n        \
             loss = loss / batch[\"n\"]\n        acc.backward(loss)\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let mut made = program.assignments.iter().filter_map(|one| {
        let call = program.call_at(&one.at)?;
        matches!(call.name.as_str(), "accelerate.Accelerator" | "accelerate.accelerator.Accelerator")
            .then_some((one.name.as_str(), call))
    });
    let (Some((name, call)), None) = (made.next(), made.next()) else { return Vec::new() };
    let Some(steps) = call.keyword("gradient_accumulation_steps").filter(|steps| steps.text != "1") else {
        return Vec::new();
    };
    let own = format!("{name}.gradient_accumulation_steps");
    let backward = format!("{name}.backward");
    let accumulates = format!("{name}.accumulate(");
    let calls = program.calls.iter().filter(|call| call.name == backward);
    let in_block = calls.filter(|call| {
        let mut around = program.contexts.iter();
        around.any(|(head, body)| head.contains(&accumulates) && contains(body, &call.at))
    });
    let found = in_block.filter_map(|call| {
        let line = divided(program, call, &[&steps.text, &own])?;
        let message = format!(
            "the loss is divided by the accumulation steps here, and {name}.backward divides it by \
             gradient_accumulation_steps again: the gradients are too small by that factor"
        );
        Some(Found::warning(line, message, "Remove the division"))
    });
    found.take(1).collect()
}

/// The line on which what a call gets is divided by one of these.
fn divided(program: &Program, call: &Call, by: &[&str]) -> Option<usize> {
    let given = call.arguments.first().filter(|one| one.name.is_none())?;
    let (text, line) = match is_name(&given.text) {
        true => {
            let set = program.value(&given.text, &call.function, call.at.start)?;
            (set.text.as_str(), set.line)
        }
        false => (given.text.as_str(), given.line),
    };
    let bare = |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).collect::<String>();
    let (text, ends) = (bare(text), by.iter().map(|by| format!("/{}", bare(by))));
    ends.into_iter().any(|end| text.ends_with(&end)).then_some(line)
}
