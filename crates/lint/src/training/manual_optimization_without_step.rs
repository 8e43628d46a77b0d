//! A module of Lightning that optimizes by hand, and never does.

use crate::read::python::{Class, Program, contains};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "manual-optimization-without-step",
    severity: Severity::Error,
    summary: "modules of Lightning with manual optimization step their optimizers",
    explain: include_str!("manual_optimization_without_step.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "lit.py",
            "import lightning as L\nclass Net(L.LightningModule):\n    def __init__(self):\n        \
             super().__init__()\n        self.automatic_optimization = False\n    def training_step(self, \
             batch, \
             i):\n        return self.loss(batch)\n    def configure_optimizers(self):\n        return \
             Adam(self.parameters())\n",
        ),
        named(
            "lit.py",
            "import pytorch_lightning as pl\nclass Net(pl.LightningModule):\n    automatic_optimization = \
             False\n    def configure_optimizers(self):\n        return SGD(self.parameters(), \
             lr=1)\n    def \
             training_step(self, batch, i):\n        opt = self.optimizers()\n        \
             opt.zero_grad()\n        self.manual_backward(self.loss(batch))\n",
        ),
    ],
    silent: &[
        named(
            "lit.py",
            "import lightning as L\nclass Net(L.LightningModule):\n    def __init__(self):\n        \
             super().__init__()\n        self.automatic_optimization = False\n    def training_step(self, \
             batch, \
             i):\n        opt = self.optimizers()\n        self.manual_backward(self.loss(batch))\n        \
             opt.step()\n    def configure_optimizers(self):\n        return Adam(self.parameters())\n",
        ),
        // Its base, or what gets the module, may step.
        named(
            "lit.py",
            "import lightning as L\nclass Net(Stepping, L.LightningModule):\n    automatic_optimization = \
             False\n    def training_step(self, batch, i):\n        return self.loss(batch)\n    def \
             configure_optimizers(self):\n        return Adam(self.parameters())\n",
        ),
        named(
            "lit.py",
            "import lightning as L\nclass Net(L.LightningModule):\n    automatic_optimization = \
             False\n    def \
             training_step(self, batch, i):\n        return update(self, batch)\n    def \
             configure_optimizers(self):\n        return Adam(self.parameters())\n",
        ),
        // Nothing to optimize: it counts neighbours.
        named(
            "lit.py",
            "import lightning as L\nclass Knn(L.LightningModule):\n    automatic_optimization = \
             False\n    def \
             training_step(self, batch, i):\n        self.bank.add(batch)\n    def \
             configure_optimizers(self):\n        return None\n",
        ),
    ],
};

/// Modules that are looked at.
const CLASSES_LIMIT: usize = 50;

fn judge(program: &Program) -> Vec<Found> {
    let modules = program.classes.iter().filter(|class| {
        let base = class.bases.trim_matches(['(', ')', ' ']);
        matches!(
            base,
            "L.LightningModule"
                | "pl.LightningModule"
                | "LightningModule"
                | "lightning.LightningModule"
                | "pytorch_lightning.LightningModule"
        )
    });
    modules.take(CLASSES_LIMIT).filter_map(|class| fault(program, class)).collect()
}

fn fault(program: &Program, class: &Class) -> Option<Found> {
    let text = program.text.get(class.at.clone())?;
    let mut set = program.assignments.iter().filter(|one| {
        contains(&class.at, &one.at)
            && matches!(one.name.as_str(), "self.automatic_optimization" | "automatic_optimization")
    });
    let off = set.next().filter(|one| one.text == "False" && set.next().is_none())?;
    let has =
        |name: &str| program.functions.iter().any(|one| one.name == name && contains(&class.at, &one.at));
    let steps = [".step(", "optimizer_step(", "scaler", "run_closure", "getattr("];
    let hands_itself = program.calls.iter().any(|call| {
        let given = call.arguments.iter().any(|one| one.text == "self");
        given && contains(&class.at, &call.at) && call.name != "super"
    });
    let derived = program.classes.iter().any(|other| other.bases.contains(&class.name));
    let nothing = ["return None", "return []"]
        .iter()
        .any(|end| text.lines().any(|line| line.trim_start().starts_with(end)));
    if !has("training_step")
        || !has("configure_optimizers")
        || hands_itself
        || derived
        || nothing
        || steps.iter().any(|word| text.contains(word))
    {
        return None;
    }
    let message = format!(
        "{} switches automatic optimization off, and training_step never calls step() of an optimizer: the \
         weights stay as they are",
        class.name
    );
    let fix = "Call manual_backward(loss) and step() of self.optimizers(), or remove automatic_optimization";
    Some(Found::error(off.line, message, fix))
}
