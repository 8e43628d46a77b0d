//! A training step that leaves out DeepSpeed's engine.

use std::str::FromStr;

use pep440_rs::Version;

use crate::read::python::{Assignment, Call, Program, contains};
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "engine-bypassed",
    severity: Severity::Error,
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
        named_with(
            "train.py",
            "import deepspeed\nimport torch\ndef main():\n    engine, _, loader, _ = \
             deepspeed.initialize(args=args, model=net)\n    for epoch in range(3):\n        for x, y in \
             loader:\n            out = engine(x)\n            loss = torch.nn.functional.mse_loss(out, \
             y)\n            \
             loss.backward()\n            engine.step()\n",
            &[("requirements.txt", "torch==2.4.1\ndeepspeed==0.15.4\n")],
        ),
        named(
            "train.py",
            "import deepspeed\nmodel_engine, *_ = deepspeed.initialize(model=net, config=\"ds.json\")\nfor \
             x in \
             loader:\n    loss = model_engine(x)\n    (loss / 4).backward()\n    model_engine.step()\n",
        ),
    ],
    silent: &[
        named_with(
            "train.py",
            "import deepspeed\nengine, *_ = deepspeed.initialize(model=net, config=\"ds.json\")\nfor x in \
             loader:\n\
             \x20   loss = engine(x)\n    loss.backward()\n    engine.step()\n",
            &[("requirements.txt", "deepspeed>=0.18.4\n")],
        ),
        // A generator in the engine, and a discriminator of its own.
        named(
            "train.py",
            "import deepspeed\nengine, *_ = deepspeed.initialize(model=g, config=\"ds.json\")\nfor x in \
             loader:\n    \
             loss_d = d(engine(x))\n    loss_d.backward()\n    opt_d.step()\n    engine.step()\n",
        ),
        named(
            "train.py",
            "import deepspeed\nengine, *_ = deepspeed.initialize(model=net, config=\"ds.json\")\nfor x in \
             loader:\n\
             \x20   loss = \
             engine(x)\n    loss.backward()\n    engine._backward_epilogue()\n    engine.step()\n",
        ),
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
    if engine.is_empty() || of_engine("backward") || of_engine("train_batch") {
        return Vec::new();
    }
    if of_engine("step") {
        return half(program, engine).into_iter().collect();
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

/// The release from which on `loss.backward()` runs the hooks of the engine.
const HOOKED: &str = "0.18.3";

/// A loop in which the engine steps and the loss goes backward without it.
fn half(program: &Program, engine: &str) -> Option<Found> {
    // Both are the documented way to train several models with one loss.
    if ["_backward_epilogue", "_backward_prologue", "engine.scale("]
        .iter()
        .any(|word| program.text.contains(word))
    {
        return None;
    }
    let steps: Vec<&Call> = program.calls.iter().filter(|call| call.name.ends_with(".step")).collect();
    let step = steps.iter().find(|call| call.name == format!("{engine}.step") && !call.conditional)?;
    let body = program.loop_at(&step.at)?;
    let within = |call: &&Call| contains(body, &call.at);
    let mut backwards = program.calls.iter().filter(within).filter(|call| call.name.ends_with(".backward"));
    let backward = backwards.next().filter(|call| call.arguments.is_empty() && !call.conditional)?;
    let forward = program.calls.iter().filter(within).any(|call| call.name == engine);
    // Another model trains there too, or another optimizer steps.
    let alone = backwards.next().is_none() && steps.iter().copied().filter(|call| within(call)).count() == 1;
    let hooked = Version::from_str(HOOKED).ok()?;
    if !forward || !alone || program.packages.at_least("deepspeed", &hooked).is_some() {
        return None;
    }
    let old = program.packages.below("deepspeed", &hooked);
    let which = match &old {
        Some(place) => format!("the DeepSpeed of {place}"),
        None => format!("DeepSpeed before {HOOKED}"),
    };
    let message = format!(
        "{} bypasses the engine, whose step() follows: {which} then neither scales the loss nor reduces the \
         gradients, so that ranks train different models",
        backward.name.trim_start_matches('.')
    );
    let fix = format!("Call `{engine}.backward(loss)`");
    Some(Found::error(backward.line, message, fix).unless_certain(old.is_some()))
}
