//! Values that only transformers and accelerate fill in.

use crate::read::config::Config;
use crate::read::json::Value;
use crate::read::python::Program;
use crate::rule::{Found, Judge, Rule, Severity, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "auto-without-trainer",
    severity: Severity::Error,
    summary: "a configuration for deepspeed.initialize has numbers where DeepSpeed takes no `auto`",
    explain: include_str!("auto_without_trainer.md"),
    judge: Judge::Deepspeed(judge),
    fires: &[named_with(
        "ds_config.json",
        "{\n  \"train_micro_batch_size_per_gpu\": \"auto\",\n  \"gradient_clipping\": 1.0\n}\n",
        &[(
            "train.py",
            "import deepspeed\nengine, _, _, _ = deepspeed.initialize(model=m, config=\"ds_config.json\")\n",
        )],
    )],
    silent: &[
        named_with(
            "ds_config.json",
            "{\n  \"train_micro_batch_size_per_gpu\": \"auto\"\n}\n",
            &[(
                "train.py",
                "from transformers import Trainer, TrainingArguments\n\
                 args = TrainingArguments(\"out\", deepspeed=\"ds_config.json\")\n",
            )],
        ),
        named_with(
            "ds_config.json",
            "{\n  \"train_micro_batch_size_per_gpu\": 4,\n  \"zero_optimization\": {\"stage\": 3, \
             \"reduce_bucket_size\": \"auto\"}\n}\n",
            &[(
                "train.py",
                "import deepspeed\nengine, _, _, _ = deepspeed.initialize(model=m, \
                 config=\"ds_config.json\")\n",
            )],
        ),
    ],
};

/// Values with which DeepSpeed calculates; in its sections it takes the default for "auto".
const NUMBERS: &[&str] = &[
    "train_batch_size",
    "train_micro_batch_size_per_gpu",
    "gradient_accumulation_steps",
    "gradient_clipping",
];

fn judge(config: &Config) -> Vec<Found> {
    let auto = config.json.entries.iter().filter(|(_, (_, value))| *value == Value::Text("auto".to_owned()));
    let mut auto =
        auto.filter(|(path, _)| NUMBERS.contains(&path.as_str()) || path.starts_with("optimizer.params."));
    let Some((path, (line, _))) = auto.next() else { return Vec::new() };
    let programs = config.nearby.iter().filter(|one| one.name.ends_with(".py"));
    let found = programs.filter_map(|nearby| {
        let program = Program::read(config.catalog, &nearby.text);
        let filled = ["transformers", "accelerate", "lightning", "pytorch_lightning", "trl"];
        let other =
            program.imports.values().any(|full| filled.contains(&full.split('.').next().unwrap_or_default()));
        let call = program.calls.iter().find(|call| {
            let names = |key: &str| {
                call.keyword(key).is_some_and(|one| {
                    one.text.trim_matches(['"', '\'']).rsplit('/').next() == Some(config.base())
                        && one.text.starts_with(['"', '\''])
                })
            };
            call.name == "deepspeed.initialize" && (names("config") || names("config_params"))
        })?;
        let message = format!(
            "{path} is \"auto\", but {} gives the file to deepspeed.initialize (line {}), which takes a \
             number; \
             only transformers and accelerate fill it in",
            nearby.name, call.line
        );
        (!other).then(|| Found::error(*line, message, "Write the number"))
    });
    found.take(1).collect()
}
