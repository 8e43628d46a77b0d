//! A training step that leaves out DeepSpeed's engine.

use crate::read::python::{Assignment, Program};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "engine-bypassed",
    severity: Severity::Warning,
    summary: "DeepSpeed's engine runs backward and step",
    explain: include_str!("engine_bypassed.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import deepspeed\nengine, optimizer, _, _ = deepspeed.initialize(model=net, \
             config=\"ds.json\")\n\
         for x in loader:\n    loss = engine(x)\n    loss.backward()\n    optimizer.step()\n",
        ),
        named(
            "train.py",
            "import deepspeed\nengine, opt, loader, _ = deepspeed.initialize(model=net, \
             config=\"ds.json\")\nfor x \
             in loader:\n    loss = engine(x)\n    loss.backward()\n    opt.step()\n    opt.zero_grad()\n",
        ),
    ],
    silent: &[
        // Another test trains without the engine.
        named(
            "test.py",
            "import deepspeed\nimport torch\ndef a():\n    engine, *_ = deepspeed.initialize(model=net)\n    \
             engine(x)\ndef b():\n    optimizer = torch.optim.SGD(p)\n    for x in loader:\n        \
             loss = net(x)\n        loss.backward()\n        optimizer.step()\n",
        ),
        named(
            "train.py",
            "import deepspeed\nengine, _, _, _ = deepspeed.initialize(model=net, config=\"ds.json\")\n\
             for x in loader:\n    loss = engine(x)\n    engine.backward(loss)\n    engine.step()\n",
        ),
        named(
            "train.py",
            "import deepspeed\nif args.deepspeed:\n    model, optimizer, _, _ = \
             deepspeed.initialize(model=net, config=\"ds.json\")\nfor x in loader:\n    loss = model(x)\n    \
             if args.deepspeed:\n        model.backward(loss)\n        model.step()\n    else:\n        \
             loss.backward()\n        optimizer.step()\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let mut made = program.assignments.iter().filter(|one| {
        program.call_at(&one.at).is_some_and(|call| call.name == "deepspeed.initialize" && !call.conditional)
    });
    let (Some(one), None) = (made.next(), made.next()) else { return Vec::new() };
    let engine = one.name.trim_start_matches('(').split(',').next().unwrap_or_default().trim();
    let last = engine.rsplit('.').next().unwrap_or_default();
    let of_engine = |method: &str| {
        program.calls.iter().any(|call| {
            call.name.rsplit_once('.').is_some_and(|(before, name)| {
                name == method
                    && (before.ends_with(last) || before.contains("engine") || before.contains("model"))
            })
        })
    };
    if engine.is_empty() || of_engine("backward") || of_engine("step") || of_engine("train_batch") {
        return Vec::new();
    }
    let backward = program.calls.iter().find(|call| {
        call.name.ends_with("loss.backward")
            && call.arguments.is_empty()
            && program.loop_at(&call.at).is_some()
    });
    let step = backward.and_then(|backward| {
        let body = program.loop_at(&backward.at)?;
        program.calls.iter().find(|call| {
            let within = body.start <= call.at.start && call.at.end <= body.end;
            let own = one.name.split(',').nth(1).map(str::trim).filter(|name| *name != "_");
            let named = ["optimizer.step", "optim.step"].iter().any(|end| call.name.ends_with(end));
            within && (named || own.is_some_and(|own| call.name == format!("{own}.step")))
        })
    });
    let Some((backward, step)) = backward.zip(step) else { return Vec::new() };
    // Another function that trains without the engine, with an optimizer of its own.
    let optimizer = step.name.trim_end_matches(".step");
    let made_there = |set: &Assignment| set.name == optimizer && set.function == backward.function;
    if backward.function != one.function && program.assignments.iter().any(made_there) {
        return Vec::new();
    }
    let message = format!(
        "{} and {} bypass the engine of DeepSpeed, which scales the loss, counts micro-batches and advances \
         the scheduler",
        backward.name, step.name
    );
    let fix = format!("Call `{engine}.backward(loss)` and `{engine}.step()`");
    vec![Found::warning(backward.line, message, fix)]
}
