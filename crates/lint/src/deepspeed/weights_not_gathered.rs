//! A model that is saved without the weights that ZeRO-3 keeps on other ranks.

use crate::read::config::{Config, GATHER, gathers_weights};
use crate::read::engines::{Engine, engines};
use crate::read::python::Program;
use crate::rule::{Found, Judge, Rule, Severity, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "weights-not-gathered",
    severity: Severity::Error,
    summary: "with ZeRO-3, save_16bit_model gathers the weights",
    explain: include_str!("weights_not_gathered.md"),
    judge: Judge::Deepspeed(judge),
    fires: &[
        named_with(
            "ds_config.json",
            "{\n  \"train_batch_size\": 64,\n  \"zero_optimization\": {\n    \"stage\": 3,\n    \
             \"stage3_gather_16bit_weights_on_model_save\": false\n  }\n}\n",
            &[(
                "train.py",
                "import deepspeed\nengine, _, _, _ = deepspeed.initialize(model=net, \
                 config=\"ds_config.json\")\nengine.save_16bit_model(\"out\")\n",
            )],
        ),
        named_with(
            "zero3.json",
            "{\n  \"train_batch_size\": 64,\n  \"zero_optimization\": {\"stage\": 3}\n}\n",
            &[
                (
                    "train.py",
                    "import deepspeed\ndef save(engine):\n    engine.save_fp16_model(\"out\", \
                     \"model.bin\")\n\
                     def main(args):\n    engine = deepspeed.initialize(args, net)[0]\n    save(engine)\n\
                     deepspeed.add_config_arguments(parser)\n",
                ),
                ("run.sh", "deepspeed train.py --deepspeed_config zero3.json\n"),
            ],
        ),
    ],
    silent: &[
        named_with(
            "ds_config.json",
            "{\n  \"train_batch_size\": 64,\n  \"zero_optimization\": {\"stage\": 3, \
             \"stage3_gather_16bit_weights_on_model_save\": true}\n}\n",
            &[(
                "train.py",
                "import deepspeed\nengine, _, _, _ = deepspeed.initialize(model=net, \
                 config=\"ds_config.json\")\nengine.save_16bit_model(\"out\")\n",
            )],
        ),
        named_with(
            "ds_config.json",
            "{\n  \"train_batch_size\": 64,\n  \"zero_optimization\": {\"stage\": 2}\n}\n",
            &[(
                "train.py",
                "import deepspeed\nengine, _, _, _ = deepspeed.initialize(model=net, \
                 config=\"ds_config.json\")\nengine.save_16bit_model(\"out\")\n",
            )],
        ),
        named_with(
            "ds_config.json",
            "{\n  \"train_batch_size\": 64,\n  \"zero_optimization\": {\"stage\": 3}\n}\n",
            &[(
                "train.py",
                "import deepspeed\nengine, _, _, _ = deepspeed.initialize(model=net, \
                 config=\"ds_config.json\")\nif not engine.save_16bit_model(\"out\"):\n    \
                 engine.save_checkpoint(\"out\")\n",
            )],
        ),
    ],
};

fn judge(config: &Config) -> Vec<Found> {
    if config.stage() != Some(3) || gathers_weights(&config.json) || config.template {
        return Vec::new();
    }
    let found = engines(config).into_iter().filter_map(|Engine { program, .. }| {
        let (method, line) = saves(program)?;
        let message = format!(
            "line {line} of {} calls {method}, which saves no model with ZeRO-3 unless \
             stage3_gather_16bit_weights_on_model_save is true; it only logs that",
            program.name
        );
        let key = if config.json.get(GATHER).is_some() { GATHER } else { "zero_optimization.stage" };
        let fix = "Set \"stage3_gather_16bit_weights_on_model_save\": true, or call save_checkpoint and \
                   convert its files with zero_to_fp32.py";
        Some(Found::error(config.json.line(key), message, fix))
    });
    found.take(1).collect()
}

/// A call that saves the weights alone, without a look at its result, and its line.
fn saves(program: &Program) -> Option<(&'static str, usize)> {
    const METHODS: &[&str] = &["save_16bit_model", "save_fp16_model"];
    program.statements.iter().find_map(|statement| {
        let call = program.call_at(&statement.at)?;
        let last = call.name.rsplit('.').next().unwrap_or_default();
        let method = METHODS.iter().find(|method| **method == last && call.name.contains('.'))?;
        Some((*method, call.line))
    })
}
