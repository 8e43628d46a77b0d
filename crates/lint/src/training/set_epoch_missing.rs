//! A DistributedSampler that shuffles alike in every epoch.

use crate::read::python::{Call, Program};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "set-epoch-missing",
    severity: Severity::Warning,
    summary: "the DistributedSampler gets set_epoch in every epoch",
    explain: include_str!("set_epoch_missing.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "from torch.utils.data.distributed import DistributedSampler\nsampler = \
             DistributedSampler(dataset)\nfor epoch in range(10):\n    train(epoch)\n",
        ),
        named(
            "train.py",
            "from torch.utils.data.distributed import DistributedSampler\ndef loader(split, mix):\n    data \
             = \
             Pictures(split)\n    order = DistributedSampler(data, shuffle=mix)\n    return Loader(data, \
             order)\nfit = loader(\"fit\", True)\nheld = loader(\"held\", mix=False)\nfor epoch in \
             range(10):\n    train(fit)\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "from torch.utils.data.distributed import DistributedSampler\ndef loader(split, mix):\n    data \
             = \
             Pictures(split)\n    return Loader(data, DistributedSampler(data, shuffle=mix))\nheld = \
             loader(\"held\", False)\nfor epoch in range(10):\n    train(held)\n",
        ),
        named(
            "train.py",
            "from torch.utils.data.distributed import DistributedSampler\n\
             sampler = DistributedSampler(dataset)\n\
             for epoch in range(10):\n    sampler.set_epoch(epoch)\n    train(epoch)\n",
        ),
        named(
            "train.py",
            "from torch.utils.data.distributed import DistributedSampler\n\
             sampler = DistributedSampler(val_dataset)\nfor epoch in range(10):\n    train(epoch)\n",
        ),
        named(
            "train.py",
            "from torch.utils.data.distributed import DistributedSampler\n\
             sampler = DistributedSampler(dataset, shuffle=False)\n\
             for epoch in range(10):\n    train(epoch)\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let set = program.calls.iter().any(|call| call.name.ends_with("set_epoch"));
    let epochs = program.loops.iter().any(|one| one.over.contains("epoch") && one.through.contains("range"));
    // These call it themselves.
    let others = ["lightning", "pytorch_lightning", "accelerate", "ignite", "composer", "transformers"];
    let wrapped =
        program.imports.values().any(|full| others.contains(&full.split('.').next().unwrap_or_default()));
    if set || !epochs || wrapped {
        return Vec::new();
    }
    let samplers = program.calls.iter().filter(|call| call.name.ends_with("DistributedSampler"));
    let shuffling = samplers.filter(|call| {
        let plain = call
            .keyword("shuffle")
            .is_none_or(|shuffle| shuffle.text == "True" || is_given_true(program, call, &shuffle.text));
        plain && !call.arguments.iter().any(|one| one.name.as_deref() == Some("*"))
    });
    // Those for evaluation need no order.
    let train = shuffling.filter(|call| {
        let data = call.arguments.first().map_or(String::new(), |one| one.text.to_ascii_lowercase());
        let kept = program
            .assignments
            .iter()
            .find(|one| one.at == call.at)
            .map_or(String::new(), |one| one.name.to_ascii_lowercase());
        !["val", "test", "eval"].iter().any(|word| data.contains(word) || kept.contains(word))
    });
    let message = "the DistributedSampler shuffles in the same order every epoch because set_epoch is never \
        called";
    train
        .take(1)
        .map(|call| {
            Found::warning(call.line, message, "Call `sampler.set_epoch(epoch)` at the start of each epoch")
        })
        .collect()
}

/// Whether a name is a parameter of the function around a call, which the program calls with `True` for it.
fn is_given_true(program: &Program, around: &Call, name: &str) -> bool {
    let functions = program.functions.iter();
    let mut own = functions.filter(|one| one.at == around.function && !one.at.is_empty());
    own.any(|own| {
        let Some(place) = own.parameters.iter().position(|one| one.name == name) else { return false };
        let changed = program.assignments.iter().any(|one| one.name == name && one.function == own.at);
        let mut calls = program.calls.iter().filter(|call| call.name == own.name);
        !changed && calls.any(|call| call.argument(place, name).is_some_and(|given| given.text == "True"))
    })
}
