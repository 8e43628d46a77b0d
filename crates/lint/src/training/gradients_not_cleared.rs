//! Gradients that add up over all steps.

use crate::read::python::Program;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "gradients-not-cleared",
    severity: Severity::Warning,
    summary: "a training loop clears the gradients between steps",
    explain: include_str!("gradients_not_cleared.md"),
    judge: Judge::Training(judge),
    fires: &[named(
        "train.py",
        "import torch\noptimizer = torch.optim.AdamW(model.parameters())\nfor x, y in loader:\n    \
         loss = criterion(model(x), y)\n    loss.backward()\n    optimizer.step()\n",
    )],
    silent: &[
        named(
            "train.py",
            "import torch\noptimizer = torch.optim.SGD(model.parameters())\noptimizer = \
             ShardedOptimizer(optimizer)\nfor x in loader:\n    model(x).sum().backward()\n    \
             optimizer.step()\n",
        ),
        named(
            "train.py",
            "import torch\nfor make in models:\n    model = make()\n    optimizer = \
             torch.optim.Adam(model.parameters())\n    model(x).sum().backward()\n    optimizer.step()\n",
        ),
        named(
            "train.py",
            "import torch\noptimizer = torch.optim.AdamW(model.parameters())\nfor x, y in loader:\n    \
             optimizer.zero_grad()\n    loss = criterion(model(x), y)\n    loss.backward()\n    \
             optimizer.step()\n",
        ),
        named(
            "train.py",
            "import torch\noptimizer = torch.optim.AdamW(model.parameters())\nfor x, y in loader:\n    \
             loss.backward()\n    optimizer.step()\n    for p in model.parameters():\n        p.grad = \
             None\n",
        ),
        named(
            "train.py",
            "import torch\noptimizer = torch.optim.AdamW(model.parameters())\nloss.backward()\n\
             optimizer.step()\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let clears = program.calls.iter().any(|call| call.name.contains("zero_grad"))
        || program
            .assignments
            .iter()
            .any(|one| one.name.ends_with(".grad") || one.name.ends_with("grad.data"))
        || program.calls.iter().any(|call| call.name.contains("grad.zero_") || call.name == ".zero_");
    if clears {
        return Vec::new();
    }
    let optimizers = program.assignments.iter().filter(|one| {
        program.call_at(&one.at).is_some_and(|call| {
            call.name.starts_with("torch.optim.") && call.name != "torch.optim.lr_scheduler"
        })
    });
    let found = optimizers.filter_map(|optimizer| {
        let name = format!("{}.step", optimizer.name);
        let step = program.calls.iter().find(|call| {
            call.name == name && call.arguments.is_empty() && program.loop_at(&call.at).is_some()
        })?;
        let body = program.loop_at(&step.at)?;
        // `LowLevelZeroOptimizer(optimizer)` and the like may clear them themselves.
        let wrapped = program.assignments.iter().any(|one| {
            one.name == optimizer.name && one.at.start > optimizer.at.end && one.text.contains("Optimizer(")
        });
        if wrapped {
            return None;
        }
        // One that each turn creates again has one step.
        if body.start <= optimizer.at.start && optimizer.at.end <= body.end {
            return None;
        }
        let backward = program.calls.iter().any(|call| {
            call.name.ends_with(".backward") && body.start <= call.at.start && call.at.end <= step.at.start
        });
        let message = format!(
            "nothing clears the gradients: each {name} uses the sum of the gradients of all steps so far"
        );
        let fix = format!("Call `{}.zero_grad()` after each step", optimizer.name);
        backward.then(|| Found::warning(step.line, message, fix))
    });
    found.take(1).collect()
}
