//! A scheduler that steps before its optimizer.

use crate::read::python::{Call, Program};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "scheduler-before-optimizer",
    severity: Severity::Warning,
    summary: "the scheduler of the learning rate steps after the optimizer",
    explain: include_str!("scheduler_before_optimizer.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\nsched = \
             torch.optim.lr_scheduler.CosineAnnealingLR(opt, 100)\nfor x in data:\n    \
             net(x).mean().backward()\n    sched.step()\n    opt.step()\n    opt.zero_grad()\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch.optim.lr_scheduler import StepLR\nopt = \
             torch.optim.SGD(net.parameters(), \
             lr=0.1)\nscheduler = StepLR(opt, 10)\nfor epoch in range(9):\n    scheduler.step()\n    for x \
             in \
             data:\n        opt.zero_grad()\n        net(x).mean().backward()\n        opt.step()\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\nsched = \
             torch.optim.lr_scheduler.CosineAnnealingLR(opt, 100)\nfor x in data:\n    \
             net(x).mean().backward()\n    opt.step()\n    sched.step()\n    opt.zero_grad()\n",
        ),
        named(
            "train.py",
            "import torch\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\nsched = \
             torch.optim.lr_scheduler.StepLR(opt, 100)\nfor x in data:\n    if step > 100:\n        \
             sched.step()\n    opt.step()\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch.optim.lr_scheduler import StepLR\nopt = \
             torch.optim.SGD(net.parameters(), \
             lr=0.1)\nscheduler = StepLR(opt, 10)\nfor epoch in range(9):\n    for x in data:\n        \
             opt.step()\n    scheduler.step()\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let schedulers = program.assignments.iter().filter_map(|one| {
        let made = program.call_at(&one.at)?;
        let known = made.name.starts_with("torch.optim.lr_scheduler.") && !made.name.ends_with("LRScheduler");
        let optimizer = made.argument(0, "optimizer")?;
        known.then_some((one.name.as_str(), optimizer.text.as_str()))
    });
    schedulers.filter_map(|(scheduler, optimizer)| fault(program, scheduler, optimizer)).take(1).collect()
}

fn fault(program: &Program, scheduler: &str, optimizer: &str) -> Option<Found> {
    let only = |name: String| {
        let mut calls = program.calls.iter().filter(|call| call.name == name);
        calls.next().filter(|_| calls.next().is_none())
    };
    let steps = only(format!("{scheduler}.step"))?;
    let used: &Call = only(format!("{optimizer}.step"))?;
    let body = program.loop_at(&steps.at)?;
    let in_loop = body.start <= used.at.start && used.at.end <= body.end;
    let order = steps.function == used.function && steps.at.end < used.at.start && in_loop;
    let message = format!(
        "{scheduler}.step() in line {} runs before {optimizer}.step() in line {}; the first value of the \
         schedule is skipped, and torch warns of it",
        steps.line, used.line
    );
    let fix = format!("Call `{scheduler}.step()` after `{optimizer}.step()`");
    (order && !steps.conditional && steps.arguments.is_empty())
        .then(|| Found::warning(steps.line, message, fix))
}
