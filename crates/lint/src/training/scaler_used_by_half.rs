//! A GradScaler that scales the loss, and steps that do not know of it.

use crate::read::python::{Call, Program, contains};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "scaler-used-by-half",
    severity: Severity::Error,
    summary: "a loop that scales its loss steps with the scaler and updates it",
    explain: include_str!("scaler_used_by_half.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch\nscaler = torch.amp.GradScaler(\"cuda\")\nopt = torch.optim.SGD(net.parameters(), \
             lr=0.1)\n\
             for x in loader:\n    opt.zero_grad()\n    scaler.scale(net(x)).backward()\n    \
             scaler.step(opt)\n",
        ),
        named(
            "train.py",
            "from torch.cuda.amp import GradScaler\nscaler = GradScaler()\nfor x in loader:\n    \
             optimizer.zero_grad()\n    loss = net(x)\n    scaler.scale(loss).backward()\n    \
             optimizer.step()\n    scaler.update()\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch\nscaler = torch.amp.GradScaler(\"cuda\")\nfor x in loader:\n    \
             opt.zero_grad()\n    \
             scaler.scale(net(x)).backward()\n    scaler.step(opt)\n    scaler.update()\n    \
             scheduler.step()\n",
        ),
        named(
            "train.py",
            "import torch\nscaler = torch.amp.GradScaler(\"cuda\")\nfor x in loader:\n    \
             opt.zero_grad()\n    \
             scaler.scale(net(x)).backward()\n    finish(scaler, opt)\n",
        ),
        named(
            "train.py",
            "import torch\nscaler = torch.amp.GradScaler(\"cuda\")\nfor x in loader:\n    \
             opt.zero_grad()\n    scaler.scale(net(x)).backward()\n    scaler.unscale_(opt)\n    \
             opt.step()\n    scaler.update()\n",
        ),
        named(
            "train.py",
            "import torch\nscaler = torch.amp.GradScaler(\"cuda\", enabled=use_amp)\nfor x in loader:\n    \
             opt.zero_grad()\n    scaler.scale(net(x)).backward()\n    scaler.step(opt)\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let made = program.assignments.iter().filter(|one| {
        let call = program.call_at(&one.at).filter(|call| call.name.ends_with("GradScaler"));
        call.is_some_and(|call| call.keyword("enabled").is_none() && call.keyword("*").is_none())
    });
    made.filter_map(|one| fault(program, &one.name)).take(1).collect()
}

fn fault(program: &Program, scaler: &str) -> Option<Found> {
    let of = |method: &str| {
        let name = format!("{scaler}.{method}");
        program.calls.iter().find(|call| call.name == name)
    };
    let scale = of("scale")?;
    // Something else may do the rest with it.
    let handed = program
        .calls
        .iter()
        .any(|call| call.arguments.iter().any(|one| one.text == scaler) && !call.name.starts_with("print"));
    if handed || !scale.name.contains(scaler) {
        return None;
    }
    let body = program.loop_at(&scale.at)?;
    let Some(step) = of("step") else {
        // It divides the gradients too.
        if of("unscale_").is_some() {
            return None;
        }
        let plain =
            program.calls.iter().find(|call| contains(body, &call.at) && is_optimizer_step(program, call))?;
        let message = format!(
            "{} in line {} uses gradients that {scaler} multiplied by its scale; they are never divided by \
             it, and \
             the weights become NaN",
            plain.name, plain.line
        );
        let optimizer = plain.name.trim_end_matches(".step");
        return Some(Found::error(
            plain.line,
            message,
            format!("Write `{scaler}.step({optimizer})` and `{scaler}.update()`"),
        ));
    };
    let updated = of("update").is_some();
    let message = format!(
        "{scaler}.step is called in a loop, but {scaler}.update never; the second step raises `step() has \
         already \
         been called since the last update()`"
    );
    let fix = format!("Add `{scaler}.update()` after it");
    (!updated && program.loop_at(&step.at).is_some()).then(|| Found::error(step.line, message, fix))
}

/// Whether a call is the step of an optimizer, not of a scheduler.
fn is_optimizer_step(program: &Program, call: &Call) -> bool {
    let Some(name) = call.name.strip_suffix(".step") else { return false };
    let last = name.rsplit('.').next().unwrap_or_default();
    let made = program.assignments.iter().find(|one| one.name == name);
    let by_class = made.and_then(|one| program.call_at(&one.at)).map(|call| call.name.as_str());
    match by_class {
        Some(class) => class.starts_with("torch.optim.") && !class.contains("lr_scheduler"),
        None => matches!(last, "opt" | "optim" | "optimizer"),
    }
}
