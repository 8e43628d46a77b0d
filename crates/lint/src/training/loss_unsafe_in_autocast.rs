//! A loss that autocast refuses.

use crate::read::python::{Call, Program, contains};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "loss-unsafe-in-autocast",
    severity: Severity::Error,
    summary: "losses under autocast are ones that it takes",
    explain: include_str!("loss_unsafe_in_autocast.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch\nimport torch.nn as nn\nmodel = nn.Sequential(nn.Linear(2, 1), \
             nn.Sigmoid()).cuda()\ncriterion = nn.BCELoss()\nfor x, y in loader:\n    with \
             torch.autocast(\"cuda\", dtype=torch.float16):\n        loss = criterion(model(x), y)\n    \
             loss.backward()\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.nn.functional as F\nfrom torch.cuda.amp import autocast\ndef \
             step(m, x, \
             y):\n    with autocast():\n        return F.binary_cross_entropy(m(x), y)\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch\nimport torch.nn as nn\ncriterion = nn.BCEWithLogitsLoss()\nfor x, y in \
             loader:\n    with \
             torch.autocast(\"cuda\"):\n        loss = criterion(model(x), y)\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.nn as nn\ncriterion = nn.BCELoss()\nfor x, y in loader:\n    with \
             torch.autocast(\"cuda\"):\n        out = model(x)\n        with torch.autocast(\"cuda\", \
             enabled=False):\n            loss = criterion(out.float(), y)\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.nn as nn\ncriterion = nn.BCELoss()\nfor x, y in loader:\n    with \
             torch.autocast(\"cuda\"):\n        out = model(x)\n    loss = criterion(out.float(), y)\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    program.calls.iter().filter_map(|call| fault(program, call)).take(1).collect()
}

fn fault(program: &Program, call: &Call) -> Option<Found> {
    let name = loss(program, call)?;
    let around = program.contexts.iter().filter(|(_, at)| contains(at, &call.at));
    let around = around.filter(|(head, _)| head.contains("autocast("));
    let (head, _) = around.min_by_key(|(_, at)| at.len())?;
    let head: String = head.split("\n").next()?.chars().filter(|letter| !letter.is_whitespace()).collect();
    let off = head.contains("enabled=") || head.contains("\"cpu\"") || head.contains("'cpu'");
    let variable =
        head.contains("device_type=") && !head.contains("cuda") || head.contains("autocast(device");
    if off || variable {
        return None;
    }
    let message = format!(
        "{name} is refused under autocast: `binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast`"
    );
    let fix = "Remove the sigmoid from the model and use BCEWithLogitsLoss";
    Some(Found::error(call.line, message, fix).unless_certain(!call.conditional))
}

/// The loss that a call computes, where autocast refuses it.
fn loss(program: &Program, call: &Call) -> Option<&'static str> {
    if call.name == "torch.nn.functional.binary_cross_entropy" {
        return Some("binary_cross_entropy");
    }
    let mut sets = program.assignments.iter().filter(|one| one.name == call.name);
    let set = sets.next().filter(|_| sets.next().is_none())?;
    (program.call_at(&set.at)?.name == "torch.nn.BCELoss").then_some("BCELoss")
}
