//! Cross entropy of what a softmax already made probabilities.

use crate::read::python::{Call, Class, Program, contains};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "loss-of-probabilities",
    severity: Severity::Warning,
    summary: "cross entropy gets the outputs of the last layer, without softmax",
    explain: include_str!("loss_of_probabilities.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\nclass \
             Net(nn.Module):\n    def \
             __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(2, 2)\n    def \
             forward(self, \
             x):\n        return F.softmax(self.fc(x), dim=1)\nmodel = Net()\ncriterion = \
             nn.CrossEntropyLoss()\nfor x, y in loader:\n    loss = criterion(model(x), y)\n    \
             loss.backward()\n",
        ),
        named(
            "train.py",
            "import torch.nn as nn\nimport torch.nn.functional as F\nmodel = nn.Sequential(nn.Linear(2, \
             4), nn.ReLU(), \
             nn.Linear(4, 2), nn.Softmax(dim=1))\nfor x, y in loader:\n    out = model(x)\n    loss = \
             F.cross_entropy(out, y)\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\nclass \
             Net(nn.Module):\n    def \
             forward(self, x):\n        a = F.softmax(x, dim=1)\n        return self.fc(a)\nmodel = \
             Net()\ncriterion = nn.CrossEntropyLoss()\nfor x, y in loader:\n    loss = criterion(model(x), \
             y)\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\nclass \
             Net(nn.Module):\n    def \
             forward(self, x):\n        return F.log_softmax(self.fc(x), dim=1)\nmodel = Net()\nfor x, y in \
             loader:\n    loss = F.nll_loss(model(x), y)\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    program.calls.iter().filter_map(|call| fault(program, call)).take(1).collect()
}

fn fault(program: &Program, call: &Call) -> Option<Found> {
    let set = || {
        let mut sets = program.assignments.iter().filter(|one| one.name == call.name);
        let set = sets.next().filter(|_| sets.next().is_none())?;
        program.call_at(&set.at).filter(|made| made.name == "torch.nn.CrossEntropyLoss")
    };
    if call.name != "torch.nn.functional.cross_entropy" && set().is_none() {
        return None;
    }
    let given = call.argument(0, "input")?;
    let output = program.origin_call(&given.at, &call.function)?;
    let line = softmax_of(program, output)?;
    let message = format!(
        "cross entropy applies log-softmax itself, and its input comes from a softmax (line {line}): the \
         gradients \
         are small, and the training hardly learns"
    );
    let fix = "Return the outputs of the last layer, and apply softmax only where probabilities are needed";
    Some(Found::warning(call.line, message, fix))
}

/// The line of the softmax whose result a call gives.
fn softmax_of(program: &Program, call: &Call) -> Option<usize> {
    let is_softmax = |name: &str| matches!(name, "torch.nn.functional.softmax" | "torch.softmax");
    if is_softmax(&call.name) {
        return Some(call.line);
    }
    // A model: an object of a class of the program, or a list of layers.
    let mut sets = program.assignments.iter().filter(|one| one.name == call.name);
    let set = sets.next().filter(|_| sets.next().is_none())?;
    let made = program.call_at(&set.at)?;
    let made = match made.name.ends_with(".to") || made.name.ends_with(".cuda") {
        true => program
            .calls
            .iter()
            .find(|inner| inner.at.start == made.at.start && inner.at.end < made.at.end)?,
        false => made,
    };
    if made.name == "torch.nn.Sequential" {
        let last = made.arguments.last()?;
        return program.call_at(&last.at).filter(|one| one.name == "torch.nn.Softmax").map(|one| one.line);
    }
    let class = program.classes.iter().find(|class| class.name == made.name)?;
    returned(program, class)
}

/// The line of a softmax that `forward` of a class returns.
fn returned(program: &Program, class: &Class) -> Option<usize> {
    let forward = program.method(class, "forward")?;
    let mut returns = program.returns.iter().filter(|one| one.function == forward.at);
    let one = returns.next().filter(|_| returns.next().is_none())?;
    let names = ["torch.nn.functional.softmax", "torch.softmax"];
    let call = program
        .calls
        .iter()
        .find(|call| contains(&one.at, &call.at) && names.contains(&call.name.as_str()))?;
    // The whole value, not a part of it.
    let text = program.text.get(one.at.clone())?.trim();
    let whole = text.trim_start_matches("return").trim_start();
    program.text.get(call.at.clone()).filter(|inner| whole.starts_with(*inner)).map(|_| call.line)
}
