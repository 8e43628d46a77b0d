//! ZeRO-Offload with an optimizer of the script's own that it does not take.

use std::rc::Rc;

use crate::location::{Location, OtherFile};
use crate::read::config::Config;
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
    let programs = config.nearby.iter().filter(|one| one.name.ends_with(".py"));
    let found = programs.filter_map(|nearby| {
        let program = Program::read(config.catalog, &nearby.text);
        let (made, line) = optimizer(&program, config.base())?;
        let message = format!(
            "{} offloads the optimizer (offload_optimizer, device \"{device}\"), but {made} is not \
             DeepSpeed's own; \
             deepspeed.initialize raises ZeRORuntimeException",
            config.name
        );
        let fix = "Use deepspeed.ops.adam.DeepSpeedCPUAdam, or an \"optimizer\" section without an \
         optimizer in \
                   the script, or set \"zero_force_ds_cpu_optimizer\": false";
        let file = Some(Rc::new(OtherFile { path: nearby.name.clone(), by: None }));
        Some(Found::error(Location { file, line }, message, fix))
    });
    found.collect()
}

/// The optimizer that a script certainly gives to DeepSpeed with this configuration, and its line.
fn optimizer(program: &Program, base: &str) -> Option<(String, usize)> {
    let call = program.calls.iter().find(|call| {
        let set = |name: &str| program.value(name, &call.function, call.at.start);
        let is_own = |key: &str| {
            let given = call.keyword(key).map(|one| one.text.as_str());
            given.is_some_and(|text| names(text, base) || set(text).is_some_and(|set| names(&set.text, base)))
        };
        call.name == "deepspeed.initialize" && ["config", "config_params"].iter().any(|key| is_own(key))
    })?;
    let given = call.argument(2, "optimizer")?;
    let made = program.call_at(&given.at).or_else(|| {
        let mut sets = program.assignments.iter().filter(|one| {
            one.name.split(',').any(|name| name.trim() == given.text) && one.at.start < call.at.start
        });
        let set = sets.next().filter(|one| one.function == call.function)?;
        program.call_at(&set.at).filter(|_| sets.next().is_none())
    })?;
    refused(made).then(|| (made.name.clone(), made.line))
}

/// `"configs/ds.json"` by its last part.
fn names(text: &str, base: &str) -> bool {
    let inner = text.strip_prefix(['"', '\'']).and_then(|text| text.strip_suffix(['"', '\'']));
    inner.is_some_and(|path| path.rsplit('/').next() == Some(base))
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
