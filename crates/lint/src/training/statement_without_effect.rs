//! A statement without an effect: a method that is not called, a copy that nothing keeps.

use crate::read::python::{Loop, Program, contains, names};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "statement-without-effect",
    severity: Severity::Warning,
    summary: "statements call what they name, and keep what a tensor's method returns",
    explain: include_str!("statement_without_effect.md"),
    judge: Judge::Training(judge),
    fires: &[
        named("train.py", "import torch\nmodel.eval\nwith torch.no_grad():\n    y = model(x)\n"),
        named(
            "train.py",
            "import torch\nfor x, y in loader:\n    x.to(device)\n    y.cuda()\n    loss = \
             loss_fn(model(x), y)\n    \
             optimizer.zero_grad\n    loss.backward()\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\ndist.barrier\ndist.destroy_process_group\n",
        ),
        named("train.py", "import torch\ntorch.no_grad()\nddp.no_sync()\ny = model(x)\n"),
    ],
    silent: &[
        named(
            "train.py",
            "import torch\nmodel.eval()\nmodel.to(device)\nfor x, y in loader:\n    x = x.to(device)\n    \
             y = y.cuda()\n    loss = loss_fn(model(x), y)\nstep = model.train\nmodel.training\n",
        ),
        named(
            "train.py",
            "import torch\nfor i, batch in enumerate(loader):\n    batch.to(device)\n    \
             model(**batch)\nfor name, layer \
             in \
             model.named_children():\n    layer.to(device)\n    print(layer)\n",
        ),
        named(
            "train.py",
            "import torch\nfor x, y in loader:\n    x.to(device)\n    x = move(x)\n    model(x)\n",
        ),
    ],
};

/// Methods and functions that are called for their effect.
const EFFECTS: &[&str] = &[
    "eval",
    "train",
    "step",
    "zero_grad",
    "backward",
    "barrier",
    "synchronize",
    "empty_cache",
    "destroy_process_group",
    "wait_for_everyone",
    "save_checkpoint",
    "init_process_group",
    "close",
    "finish",
];

/// Methods of a tensor that return another one.
const COPIES: &[&str] = &["to", "cuda", "cpu", "half", "float", "bfloat16", "long", "detach"];

/// Context managers of torch that do nothing until they are entered.
const CONTEXTS: &[&str] = &[
    "torch.no_grad",
    "torch.enable_grad",
    "torch.inference_mode",
    "torch.autocast",
    "torch.amp.autocast",
    "torch.cuda.amp.autocast",
    "torch.cuda.device",
    "torch.cuda.stream",
];

fn judge(program: &Program) -> Vec<Found> {
    let mut found = Vec::new();
    for one in &program.statements {
        if one.text.rsplit_once('.').is_some_and(|(_, last)| EFFECTS.contains(&last)) {
            let message = format!("`{}` is named, but not called: the statement does nothing", one.text);
            found.push(Found::warning(one.line, message, format!("Write `{}()`", one.text)));
        }
    }
    for one in &program.statements {
        let Some(call) = program.call_at(&one.at) else { continue };
        let last = call.name.rsplit('.').next().unwrap_or_default();
        let full = CONTEXTS.contains(&call.name.as_str());
        let of = call.name.rsplit_once('.').map_or("", |(of, _)| of).to_ascii_lowercase();
        let of_accelerate = last == "accumulate" && (of.ends_with("accelerator") || of.ends_with("fabric"));
        if full || of_accelerate || last == "no_sync" && !of.is_empty() {
            let message = format!(
                "{}(…) only has an effect in a `with` statement; as a statement it does nothing",
                call.name
            );
            found.push(Found::warning(
                one.line,
                message,
                format!("Write `with {}:` around what it is for", one.text),
            ));
        }
    }
    found.extend(program.loops.iter().flat_map(|one| copies(program, one)));
    found
}

/// `x.to(device)` of a tensor of the batch, which is used afterwards.
fn copies(program: &Program, one: &Loop) -> Vec<Found> {
    // Only tuples of tensors: a batch of transformers moves itself.
    let through = one.through.to_ascii_lowercase();
    let of_loader = through.contains("loader") && !through.contains("named");
    // `for i, (x, y) in enumerate(loader)`.
    let over = match through.contains("enumerate(") {
        true => {
            one.over.split_once('(').and_then(|(_, rest)| Some(rest.split_once(')')?.0)).unwrap_or_default()
        }
        false => one.over.as_str(),
    };
    let tuple = of_loader && over.contains(',');
    let targets: Vec<&str> = if tuple { names(over).collect() } else { Vec::new() };
    let statements = program.statements.iter().filter(|statement| contains(&one.body, &statement.at));
    let found = statements.filter_map(|statement| {
        let call = program.call_at(&statement.at)?;
        let (name, method) = call.name.rsplit_once('.')?;
        if !targets.contains(&name) || !COPIES.contains(&method) {
            return None;
        }
        // Used before it is set again.
        let behind = program.text.get(statement.at.end..one.body.end)?;
        let line = behind.lines().skip(1).find(|line| names(line).any(|word| word == name))?;
        let again = line
            .split_once('=')
            .is_some_and(|(left, _)| names(left).any(|word| word == name) && !left.contains('('));
        let message =
            format!("{name}.{method}(…) returns a copy, and nothing keeps it: {name} stays where it is");
        let fix = format!("Write `{name} = {}`", statement.text);
        (!again).then(|| Found::warning(statement.line, message, fix))
    });
    found.collect()
}
