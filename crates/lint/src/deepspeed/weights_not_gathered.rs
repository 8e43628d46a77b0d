//! A model that is saved without the weights that ZeRO-3 keeps on other ranks.

use crate::read::config::{Config, GATHER, gathers_weights};
use crate::read::dockerfile::command::Command;
use crate::read::engines::{Engine, engines};
use crate::read::python::Program;
use crate::read::script::Script;
use crate::read::script_values;
use crate::rule::{Found, Judge, Rule, Severity, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "weights-not-gathered",
    severity: Severity::Error,
    summary: "with ZeRO-3, saving a model gathers the weights",
    explain: include_str!("weights_not_gathered.md"),
    judge: Judge::Deepspeed(judge),
    fires: &[
        named_with(
            "z3.json",
            "{\"zero_optimization\": {\"stage\": 3}, \"train_batch_size\": \"auto\"}\n",
            &[
                (
                    "go.sh",
                    "TO=/out/a\ndeepspeed fit.py --deepspeed z3.json --output_dir $TO --save_strategy \
                     no\npython \
                     ask.py --from $TO\n",
                ),
                (
                    "fit.py",
                    "from transformers import Trainer\ntrainer = Trainer(model, args)\ntrainer.train()\n\
                     trainer.save_model()\n",
                ),
                ("ask.py", "model = AutoModelForCausalLM.from_pretrained(args.path)\n"),
            ],
        ),
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
        // The weights come from the checkpoint.
        named_with(
            "z3.json",
            "{\"zero_optimization\": {\"stage\": 3}, \"train_batch_size\": \"auto\"}\n",
            &[
                (
                    "go.sh",
                    "deepspeed fit.py --deepspeed z3.json --output_dir /out/a\npython /out/a/zero_to_fp32.py \
                     /out/a /out/a\npython ask.py --from /out/a\n",
                ),
                ("fit.py", "from transformers import Trainer\nTrainer(model, a).save_model()\n"),
                ("ask.py", "model = AutoModelForCausalLM.from_pretrained(args.path)\n"),
            ],
        ),
        named_with(
            "z3.json",
            "{\"zero_optimization\": {\"stage\": 3}, \"train_batch_size\": \"auto\"}\n",
            &[
                (
                    "go.sh",
                    "deepspeed fit.py --deepspeed z3.json --output_dir /out/a\npython ask.py --from \
                     /out/base\n",
                ),
                ("fit.py", "from transformers import Trainer\nTrainer(model, a).save_model()\n"),
                ("ask.py", "model = AutoModelForCausalLM.from_pretrained(args.path)\n"),
            ],
        ),
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
    found.chain(loaded_without_weights(config)).take(1).collect()
}

/// A directory that the Trainer of transformers saves without weights, and that a later command loads.
fn loaded_without_weights(config: &Config) -> Option<Found> {
    let program = |name: &str| {
        config.programs().iter().find(|one| one.name.rsplit('/').next() == name.rsplit('/').next())
    };
    let scripts = config.nearby.iter().filter(|one| !one.name.ends_with(".py"));
    let scripts = scripts.filter(|one| !one.text.contains("zero_to_fp32"));
    scripts.flat_map(|script| {
        let commands = script_values::commands(&Script::read(config.catalog, &script.text));
        let of = |command: &Command| {
            let word = command.words.iter().find(|word| word.text.ends_with(".py"))?;
            program(&word.text)
        };
        let mut found = Vec::new();
        for (at, command) in commands.iter().enumerate().filter(|(_, one)| one.certain) {
            let given = command.value(&["--deepspeed"]);
            let this = given.is_some_and(|file| file.text.rsplit('/').next() == Some(config.base()));
            let (saver, to) = (of(command).filter(|_| this), command.value(&["--output_dir"]));
            let (Some(saver), Some(to)) = (saver, to) else {
                continue;
            };
            let saves = saver.calls.iter().find(|call| {
                call.name.ends_with(".save_model") && call.arguments.is_empty() && !call.conditional
            });
            let trains = saver.imports.values().any(|full| full == "transformers.Trainer");
            let Some(saves) = saves.filter(|_| trains) else { continue };
            let loads = commands[at + 1..].iter().find(|one| {
                let loader = of(one).filter(|loader| loader.name != saver.name);
                one.words.iter().any(|word| word.text == to.text)
                    && loader.is_some_and(|loader| loader.text.contains(".from_pretrained("))
            });
            let Some(loads) = loads else { continue };
            let message = format!(
                "line {} of {} saves no weights with ZeRO-3 unless stage3_gather_16bit_weights_on_model_save \
                 is \
                 true, only a checkpoint for zero_to_fp32.py; line {} of {} loads {} and finds none",
                saves.line, saver.name, loads.line, script.name, to.text
            );
            let key = if config.json.get(GATHER).is_some() { GATHER } else { "zero_optimization.stage" };
            let fix = "Set \"stage3_gather_16bit_weights_on_model_save\": true";
            found.push(Found::error(config.json.line(key), message, fix).about(key));
        }
        found
    })
    .next()
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
