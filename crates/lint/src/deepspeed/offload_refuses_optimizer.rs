//! ZeRO-Offload with an optimizer of the script's own that it does not take.

use std::rc::Rc;

use crate::location::{Location, OtherFile};
use crate::read::config::Config;
use crate::read::engines::{Engine, engines};
use crate::read::python::{Call, Program};
use crate::rule::{Found, Judge, Rule, Severity, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "offload-refuses-optimizer",
    severity: Severity::Error,
    summary: "with ZeRO-Offload the optimizer is DeepSpeed's own for the CPU",
    explain: include_str!("offload_refuses_optimizer.md"),
    judge: Judge::Deepspeed(judge),
    fires: &[
        named_with(
            "ds_config.json",
            "{\n  \"train_micro_batch_size_per_gpu\": 4,\n  \"zero_optimization\": {\"stage\": 2, \
             \"offload_optimizer\": {\"device\": \"cpu\"}}\n}\n",
            &[(
                "train.py",
                "import deepspeed\nimport torch\nopt = torch.optim.AdamW(net.parameters(), lr=1e-4)\n\
                 engine, opt, _, _ = deepspeed.initialize(model=net, optimizer=opt, \
                 config=\"ds_config.json\")\n",
            )],
        ),
        named_with(
            "zero3.json",
            "{\n  \"train_micro_batch_size_per_gpu\": 4,\n  \"optimizer\": {\"type\": \"AdamW\"},\n  \
             \"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"nvme\", \
             \"nvme_path\": \"/local\"}}\n}\n",
            &[(
                "run.py",
                "import deepspeed\nfrom deepspeed.ops.adam import FusedAdam\n\
                 engine = deepspeed.initialize(None, net, FusedAdam(net.parameters()), \
                 config=\"zero3.json\")[0]\n",
            )],
        ),
        named_with(
            "zero2.json",
            "{\n  \"train_micro_batch_size_per_gpu\": 4,\n  \"zero_optimization\": {\"stage\": 2, \
             \"offload_optimizer\": {\"device\": \"cpu\"}}\n}\n",
            &[
                (
                    "run.py",
                    "import argparse\nimport deepspeed\nimport torch\ndef main():\n    \
                     p = deepspeed.add_config_arguments(argparse.ArgumentParser())\n    args = \
                     p.parse_args()\n    opt = torch.optim.AdamW(net.parameters())\n    \
                     engine, opt, _, _ = deepspeed.initialize(args=args, model=net, optimizer=opt)\n",
                ),
                ("run.sh", "deepspeed --num_gpus 4 run.py --deepspeed --deepspeed_config zero2.json\n"),
            ],
        ),
    ],
    silent: &[
        named_with(
            "ds_config.json",
            "{\n  \"train_micro_batch_size_per_gpu\": 4,\n  \"zero_optimization\": {\"stage\": 2, \
             \"offload_optimizer\": {\"device\": \"cpu\"}}\n}\n",
            &[(
                "train.py",
                "import deepspeed\nfrom deepspeed.ops.adam import DeepSpeedCPUAdam\n\
                 opt = DeepSpeedCPUAdam(net.parameters(), lr=1e-4)\n\
                 engine, opt, _, _ = deepspeed.initialize(model=net, optimizer=opt, \
                 config=\"ds_config.json\")\n",
            )],
        ),
        named_with(
            "ds_config.json",
            "{\n  \"train_micro_batch_size_per_gpu\": 4,\n  \"zero_force_ds_cpu_optimizer\": false,\n  \
             \"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"device\": \"cpu\"}}\n}\n",
            &[(
                "train.py",
                "import deepspeed\nimport torch\nopt = torch.optim.AdamW(net.parameters(), lr=1e-4)\n\
                 engine, opt, _, _ = deepspeed.initialize(model=net, optimizer=opt, \
                 config=\"ds_config.json\")\n",
            )],
        ),
        named_with(
            "ds_config.json",
            "{\n  \"train_micro_batch_size_per_gpu\": 4,\n  \"zero_optimization\": {\"stage\": 2, \
             \"offload_optimizer\": {\"device\": \"none\"}}\n}\n",
            &[(
                "train.py",
                "import deepspeed\nimport torch\nopt = torch.optim.AdamW(net.parameters(), lr=1e-4)\n\
                 engine, opt, _, _ = deepspeed.initialize(model=net, optimizer=opt, \
                 config=\"ds_config.json\")\n\
                 other = deepspeed.initialize(model=net, optimizer=opt, config=\"other.json\")\n",
            )],
        ),
    ],
};

fn judge(config: &Config) -> Vec<Found> {
    let device = config.json.text("zero_optimization.offload_optimizer.device");
    let off = config.json.get("zero_force_ds_cpu_optimizer").is_some();
    let (Some(device @ ("cpu" | "nvme")), false) = (device, off || config.template) else {
        return Vec::new();
    };
    if config.stage().is_none_or(|stage| stage == 0) {
        return Vec::new();
    }
    let found = engines(config).into_iter().filter_map(|Engine { program, call }| {
        let (made, line) = optimizer(program, call)?;
        let message = format!(
            "{} offloads the optimizer (offload_optimizer, device \"{device}\"), but {made} is not \
             DeepSpeed's own; \
             deepspeed.initialize raises ZeRORuntimeException",
            config.name
        );
        let fix = "Use deepspeed.ops.adam.DeepSpeedCPUAdam, or an \"optimizer\" section without an \
         optimizer in \
                   the script, or set \"zero_force_ds_cpu_optimizer\": false";
        let file = Some(Rc::new(OtherFile { path: program.name.clone(), by: None }));
        Some(Found::error(Location::new(file, line), message, fix))
    });
    found.collect()
}

/// The optimizer that a script certainly gives to DeepSpeed, and its line.
fn optimizer(program: &Program, call: &Call) -> Option<(String, usize)> {
    let given = call.argument(2, "optimizer")?;
    // `engine, optimizer, _, _ = deepspeed.initialize(optimizer=optimizer)` sets the name for later.
    let made = program.origin_call(&given.at, &call.function).or_else(|| {
        let mut sets = program.assignments.iter().filter(|one| {
            one.name.split(',').any(|name| name.trim() == given.text) && one.at.start < call.at.start
        });
        let set = sets.next().filter(|one| one.function == call.function)?;
        program.call_at(&set.at).filter(|_| sets.all(|other| other.at.contains(&call.at.start)))
    })?;
    refused(made).then(|| (made.name.clone(), made.line))
}

/// Optimizers of other libraries and DeepSpeed's for the GPU.
fn refused(call: &Call) -> bool {
    let last = call.name.rsplit('.').next().unwrap_or_default();
    let of_torch =
        call.name.starts_with("torch.optim.") && last.starts_with(|letter: char| letter.is_ascii_uppercase());
    of_torch && call.name.matches('.').count() == 2
        || call.name.starts_with("deepspeed.ops.") && matches!(last, "FusedAdam" | "FusedLamb" | "FusedLion")
        || call.name.starts_with("bitsandbytes.optim.")
        || call.name == "transformers.Adafactor"
}
