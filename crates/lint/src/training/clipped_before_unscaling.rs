//! Scaled gradients are clipped.

use crate::read::python::{Call, Program};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "clipped-before-unscaling",
    severity: Severity::Warning,
    summary: "gradients of a GradScaler are unscaled before they are clipped",
    explain: include_str!("clipped_before_unscaling.md"),
    judge: Judge::Training(judge),
    fires: &[named(
        "train.py",
        "import torch\nscaler = torch.cuda.amp.GradScaler()\nfor x in loader:\n    \
         scaler.scale(model(x)).backward()\n    \
         torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    scaler.step(optimizer)\n    \
         scaler.update()\n",
    )],
    silent: &[
        named(
            "train.py",
            "import torch\nscaler = torch.cuda.amp.GradScaler()\nfor x in loader:\n    \
             scaler.scale(model(x)).backward()\n    scaler.unscale_(optimizer)\n    \
             torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    scaler.step(optimizer)\n    \
             scaler.update()\n",
        ),
        named(
            "train.py",
            "import torch\nscaler = torch.cuda.amp.GradScaler()\nfor x in loader:\n    if amp:\n        \
             scaler.scale(model(x)).backward()\n    else:\n        model(x).backward()\n        \
             torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    scaler.step(optimizer)\n    \
             scaler.update()\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    if program.calls.iter().any(|call| call.name.ends_with("unscale_") || call.name.contains("unscale_grad"))
    {
        return Vec::new();
    }
    let scalers = program.assignments.iter().filter(|one| {
        program.call_at(&one.at).is_some_and(|call| {
            // Those of DeepSpeed, FSDP and others unscale otherwise.
            call.name == "torch.amp.GradScaler"
                || call.name == "torch.cuda.amp.GradScaler"
                || call.name.ends_with("cuda.amp.grad_scaler.GradScaler")
        })
    });
    let found = scalers.filter_map(|scaler| {
        let off = program.call_at(&scaler.at)?.keyword("enabled").is_some_and(|one| one.text == "False");
        let of = |method: &str| format!("{}.{method}", scaler.name);
        let step = program.calls.iter().find(|call| call.name == of("step") && !off)?;
        let before = |call: &&Call| call.function == step.function && call.at.end <= step.at.start;
        let scale = program.calls.iter().filter(before).rfind(|call| call.name == of("scale"))?;
        let clip = program.calls.iter().filter(before).find(|call| {
            let last = call.name.rsplit('.').next().unwrap_or_default();
            matches!(last, "clip_grad_norm_" | "clip_grad_value_") && call.at.start > scale.at.end
        })?;
        // The other way of a branch does not scale.
        let same = program
            .branches_at(&clip.at, &clip.function)
            .all(|one| !one.otherwise && !one.condition.contains("scaler") && !one.condition.contains("amp"));
        let message = format!(
            "the gradients that {} clips are still multiplied by the scale of {}; nearly every step is \
             clipped",
            clip.name.rsplit('.').next().unwrap_or_default(),
            scaler.name
        );
        let optimizer = step.arguments.first().map_or("optimizer", |one| one.text.as_str());
        let fix = format!("Call `{}.unscale_({optimizer})` before it", scaler.name);
        same.then(|| Found::warning(clip.line, message, fix))
    });
    found.take(1).collect()
}
