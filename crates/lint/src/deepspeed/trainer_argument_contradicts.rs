//! Numbers of the configuration that differ from those of TrainingArguments.

use crate::read::config::Config;
use crate::read::python::{Program, number};
use crate::rule::{Found, Judge, Rule, Severity, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "trainer-argument-contradicts",
    severity: Severity::Error,
    summary: "DeepSpeed's configuration has the numbers of TrainingArguments, or `auto`",
    explain: include_str!("trainer_argument_contradicts.md"),
    judge: Judge::Deepspeed(judge),
    fires: &[
        named_with(
            "ds_config.json",
            "{\n  \"train_micro_batch_size_per_gpu\": \"auto\",\n  \"gradient_accumulation_steps\": 8\n}\n",
            &[(
                "train.py",
                "from transformers import TrainingArguments\nargs = TrainingArguments(\"out\", \
                 gradient_accumulation_steps=4, deepspeed=\"ds_config.json\")\n",
            )],
        ),
        named_with(
            "ds_config.json",
            "{\n  \"train_micro_batch_size_per_gpu\": 2,\n  \"gradient_clipping\": 0.5\n}\n",
            &[(
                "train.py",
                "from transformers import TrainingArguments\nargs = TrainingArguments(\"out\", \
                 per_device_train_batch_size=2, max_grad_norm=1.0, deepspeed=\"ds_config.json\")\n",
            )],
        ),
    ],
    silent: &[
        named_with(
            "ds_config.json",
            "{\n  \"train_micro_batch_size_per_gpu\": \"auto\",\n  \"gradient_accumulation_steps\": \
             \"auto\"\n}\n",
            &[(
                "train.py",
                "from transformers import TrainingArguments\nargs = TrainingArguments(\"out\", \
                 gradient_accumulation_steps=4, deepspeed=\"ds_config.json\")\n",
            )],
        ),
        named_with(
            "ds_config.json",
            "{\n  \"train_micro_batch_size_per_gpu\": 1,\n  \"gradient_accumulation_steps\": 8\n}\n",
            &[(
                "train.py",
                "from transformers import TrainingArguments\nargs = TrainingArguments(\"out\", \
                 per_device_train_batch_size=1, gradient_accumulation_steps=8, \
                 deepspeed=\"ds_config.json\")\n\
                 other = TrainingArguments(\"out\", gradient_accumulation_steps=2)\n",
            )],
        ),
    ],
};

/// Keys of the configuration with the argument that transformers compares them with.
const PAIRS: &[(&str, &str)] = &[
    ("train_micro_batch_size_per_gpu", "per_device_train_batch_size"),
    ("gradient_accumulation_steps", "gradient_accumulation_steps"),
    ("gradient_clipping", "max_grad_norm"),
    ("optimizer.params.lr", "learning_rate"),
    ("optimizer.params.eps", "adam_epsilon"),
    ("optimizer.params.weight_decay", "weight_decay"),
];

fn judge(config: &Config) -> Vec<Found> {
    config.programs().iter().flat_map(|program| in_program(config, program)).collect()
}

fn in_program(config: &Config, program: &Program) -> Vec<Found> {
    let name = &program.name;
    let own = |one: &crate::read::python::Argument| {
        one.text.starts_with(['"', '\''])
            && one.text.trim_matches(['"', '\'']).rsplit('/').next() == Some(config.base())
    };
    let call = program.calls.iter().find(|call| {
        call.name.starts_with("transformers.")
            && call.name.ends_with("TrainingArguments")
            && call.keyword("deepspeed").is_some_and(own)
    });
    let Some(call) = call else { return Vec::new() };
    let found = PAIRS.iter().filter_map(|(key, argument)| {
        let given = call.keyword(argument)?;
        let (ours, theirs) = (config.json.number(key)?, number(&given.text)?);
        let message = format!(
            "{key} is {ours}, but {argument} is {theirs} in line {} of {name}; transformers stops with \
             `Please \
             correct the following DeepSpeed config values that mismatch TrainingArguments values`",
            given.line
        );
        let differ = (ours - theirs).abs() > f64::EPSILON * ours.abs().max(theirs.abs());
        differ.then(|| Found::error(config.json.line(key), message, format!("Write \"auto\" for {key}")))
    });
    found.collect()
}
