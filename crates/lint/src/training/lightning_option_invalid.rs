//! Options of Lightning's Trainer that release 2 does not have.

use pep440_rs::Version;

use crate::read::python::{Program, contains, string};
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "lightning-option-invalid",
    severity: Severity::Error,
    summary: "Lightning's Trainer gets accelerators and precisions that exist",
    explain: include_str!("lightning_option_invalid.md"),
    judge: Judge::Training(judge),
    fires: &[
        named("train.py", "import lightning as L\ntrainer = L.Trainer(accelerator=\"ddp\", devices=4)\n"),
        named(
            "train.py",
            "from lightning.pytorch import Trainer\ntrainer = Trainer(devices=4, precision=\"fp16\")\n",
        ),
        named_with(
            "train.py",
            "import pytorch_lightning as pl\nclass M(pl.LightningModule):\n    def training_epoch_end(self, \
             outputs):\n        \
             pass\n",
            &[("requirements.txt", "pytorch-lightning==2.4.0\n")],
        ),
        named(
            "train.py",
            "import lightning as L\nclass M(L.LightningModule):\n    def validation_epoch_end(self, \
             outputs):\n        \
             pass\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import lightning as L\ntrainer = L.Trainer(accelerator=\"gpu\", devices=4, strategy=\"ddp\", \
             precision=\"bf16-mixed\")\nother = L.Trainer(accelerator=acc, precision=16)\nfabric = \
             L.Trainer(precision=\"16\")\n",
        ),
        named_with(
            "train.py",
            "import pytorch_lightning as pl\nclass M(pl.LightningModule):\n    def training_epoch_end(self, \
             outputs):\n        \
             pass\n    def on_train_epoch_end(self):\n        pass\n",
            &[("requirements.txt", "pytorch-lightning==1.9.5\n")],
        ),
        named(
            "train.py",
            "import lightning as L\nclass Helper:\n    def training_epoch_end(self, outputs):\n        \
             pass\n",
        ),
    ],
};

const ACCELERATORS: &[&str] = &["cpu", "gpu", "tpu", "cuda", "mps", "auto", "hpu", "xpu", "ipu", "npu"];

const PRECISIONS: &[&str] = &[
    "64",
    "32",
    "16",
    "bf16",
    "transformer-engine",
    "transformer-engine-float16",
    "16-true",
    "16-mixed",
    "bf16-true",
    "bf16-mixed",
    "32-true",
    "64-true",
    "nf4",
    "nf4-dq",
    "fp4",
    "fp4-dq",
    "int8",
    "int8-training",
];

/// Names of strategies, which people give as accelerators.
const STRATEGIES: &[&str] = &["ddp", "ddp_spawn", "ddp2", "dp", "fsdp", "deepspeed", "horovod", "ddp_cpu"];

/// Hooks that release 2 refuses, with those in their place.
const HOOKS: &[(&str, &str)] = &[
    ("training_epoch_end", "on_train_epoch_end"),
    ("validation_epoch_end", "on_validation_epoch_end"),
    ("test_epoch_end", "on_test_epoch_end"),
];

fn judge(program: &Program) -> Vec<Found> {
    let mut found = Vec::new();
    let trainers = program.calls.iter().filter(|call| {
        let last = call.name.rsplit('.').next().unwrap_or_default();
        let library = call.name.starts_with("lightning.") || call.name.starts_with("pytorch_lightning.");
        library && matches!(last, "Trainer" | "Fabric")
    });
    for call in trainers {
        // Lightning 1 had other names of accelerators, and these options.
        let of_lightning_1 = ["gpus", "tpu_cores", "num_processes", "auto_select_gpus"];
        if of_lightning_1.iter().any(|name| call.keyword(name).is_some()) {
            continue;
        }
        if let Some(given) = call.keyword("accelerator")
            && let Some(name) =
                string(&given.text).filter(|name| !ACCELERATORS.contains(&name.to_ascii_lowercase().as_str()))
            && STRATEGIES.contains(&name)
        {
            let message =
                format!("accelerator={name:?} is the name of a strategy; Lightning raises ValueError");
            found.push(Found::error(
                given.line,
                message,
                format!("Write `accelerator=\"gpu\", strategy={name:?}`"),
            ));
        }
        if let Some(given) = call.keyword("precision")
            && let Some(name) = string(&given.text).filter(|name| !PRECISIONS.contains(name))
        {
            let message = format!("precision={name:?} does not exist; Lightning raises ValueError");
            let fix = "Use \"16-mixed\", \"bf16-mixed\", \"32-true\" or another of its names";
            found.push(Found::error(given.line, message, fix));
        }
    }
    if is_two(program) {
        found.extend(hooks(program));
    } else if is_named_two(program) {
        found.extend(hooks(program).into_iter().map(|one| one.unless_certain(false)));
    }
    found
}

/// Whether `import lightning as L` is meant for release 2, which brought that name of the modules.
fn is_named_two(program: &Program) -> bool {
    let old = Version::new([2, 0]);
    let pinned_below =
        ["lightning", "pytorch-lightning"].iter().any(|name| program.packages.below(name, &old).is_some());
    !pinned_below && program.imports.values().any(|full| full == "lightning")
}

/// Whether release 2 or newer is certainly used.
fn is_two(program: &Program) -> bool {
    let two = Version::new([2, 0]);
    let pinned = |name: &str| program.packages.at_least(name, &two).is_some();
    pinned("lightning") || pinned("pytorch-lightning")
}

fn hooks(program: &Program) -> Vec<Found> {
    let modules = program.classes.iter().filter(|class| class.bases.contains("LightningModule"));
    let methods =
        modules.flat_map(|class| program.functions.iter().filter(|one| contains(&class.at, &one.at)));
    let found = methods.filter_map(|one| {
        let (old, new) = HOOKS.iter().find(|(old, _)| *old == one.name)?;
        let message = format!("Lightning 2.0 and newer refuse a module with {old}; NotImplementedError");
        Some(Found::error(
            one.line,
            message,
            format!("Use {new}, and keep the outputs in the module yourself"),
        ))
    });
    found.collect()
}
