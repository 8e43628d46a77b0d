//! A model that stays in evaluation mode after the first validation.

use std::collections::BTreeSet;

use crate::read::python::{Call, Program};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "evaluation-mode-kept",
    severity: Severity::Warning,
    summary: "train() follows eval() in a loop over epochs",
    explain: include_str!("evaluation_mode_kept.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "def validate(model):\n    model.eval()\n    return score(model(x))\n\
             model.train()\nfor epoch in range(10):\n    for x in loader:\n        loss = model(x)\n        \
             loss.backward()\n    validate(model)\n",
        ),
        named(
            "train.py",
            "model.train()\nfor epoch in range(10):\n    loss = model(x)\n    loss.backward()\n    \
             model.eval()\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "def validate(model):\n    model.eval()\n    return score(model(x))\n\
             for epoch in range(10):\n    model.train()\n    loss = model(x)\n    loss.backward()\n    \
             validate(model)\n",
        ),
        named(
            "train.py",
            "from engine import train_one_epoch\ndef validate(model):\n    model.eval()\n\
             for epoch in range(10):\n    train_one_epoch(model)\n    loss.backward()\n    validate(model)\n",
        ),
    ],
};

/// Names that people give to the model that they train.
const MODELS: &[&str] = &["model", "net", "engine", "model_engine", "ddp_model", "self.model", "network"];

fn judge(program: &Program) -> Vec<Found> {
    let wrapped = ["lightning", "pytorch_lightning", "composer", "ignite", "fastai"];
    if program.imports.values().any(|full| wrapped.contains(&full.split('.').next().unwrap_or_default())) {
        return Vec::new();
    }
    let epochs = program.loops.iter().filter(|one| one.over.contains("epoch"));
    epochs.filter_map(|one| fault(program, &one.body)).take(1).collect()
}

fn fault(program: &Program, body: &std::ops::Range<usize>) -> Option<Found> {
    let reached = reached(program, body)?;
    let method = |call: &&&Call, name: &str| {
        call.name.rsplit_once('.').is_some_and(|(before, last)| last == name && MODELS.contains(&before))
    };
    let eval = reached.iter().find(|call| method(call, "eval") && call.arguments.is_empty())?;
    let train = reached.iter().any(|call| call.name.ends_with(".train") || call.name.ends_with("set_train"));
    let learns = reached.iter().any(|call| call.name.ends_with(".backward"));
    let before = program.calls.iter().any(|call| method(&&call, "train") && call.at.end < body.start);
    // Of another model, or handed to code that nobody sees here.
    let hidden = reached.iter().any(|call| {
        let local = program.functions.iter().any(|one| one.name == call.name);
        let plain =
            matches!(call.name.as_str(), "len" | "print" | "isinstance" | "hasattr" | "getattr" | "type");
        !local && !plain && call.arguments.iter().any(|one| MODELS.contains(&one.text.as_str()))
    });
    let message = "no train() follows eval() in the loop over epochs; after the first validation dropout and \
        batch normalization stay in evaluation mode";
    (!train && learns && before && !hidden)
        .then(|| Found::warning(eval.line, message, "Call `model.train()` at the start of each epoch"))
}

/// The calls of a loop, with those of the functions of this script that it calls; nothing where a function
/// has a name that is taken twice.
fn reached<'p>(program: &'p Program, body: &std::ops::Range<usize>) -> Option<Vec<&'p Call>> {
    let within = |at: &std::ops::Range<usize>| {
        let at = at.clone();
        program.calls.iter().filter(move |call| at.start <= call.at.start && call.at.end <= at.end)
    };
    let mut found: Vec<&Call> = within(body).collect();
    let (mut seen, mut next) = (BTreeSet::new(), 0);
    while let Some(call) = found.get(next).copied() {
        next += 1;
        let name = call.name.strip_prefix("self.").unwrap_or(&call.name);
        if !program.functions.iter().any(|one| one.name == name) || !seen.insert(name) {
            continue;
        }
        found.extend(within(&program.function(name)?.at));
    }
    Some(found)
}
