//! Values that only transformers and accelerate fill in.

use crate::read::config::Config;
use crate::read::engines::{Engine, engines};
use crate::read::json::Value;
use crate::rule::{Found, Judge, Rule, Severity, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "auto-without-trainer",
    severity: Severity::Error,
    summary: "a configuration for deepspeed.initialize has numbers where DeepSpeed takes no `auto`",
    explain: include_str!("auto_without_trainer.md"),
    judge: Judge::Deepspeed(judge),
    fires: &[
        named_with(
            "ds_config.json",
            "{\n  \"train_micro_batch_size_per_gpu\": \"auto\",\n  \"gradient_clipping\": 1.0\n}\n",
            &[(
                "train.py",
                "import deepspeed\nengine, _, _, _ = deepspeed.initialize(model=m, \
                 config=\"ds_config.json\")\n",
            )],
        ),
        named_with(
            "ds_config.json",
            "{\n  \"train_micro_batch_size_per_gpu\": \"auto\"\n}\n",
            &[(
                "train.py",
                "import argparse\nimport deepspeed\nfrom transformers import AutoModelForCausalLM\np = \
                 argparse.ArgumentParser()\np.add_argument(\"--config\", default=\"ds_config.json\")\nargs = \
                 p.parse_args()\nengine, _, _, _ = deepspeed.initialize(model=m, config=args.config)\n",
            )],
        ),
        named_with(
            "ds_config.json",
            "{\n  \"train_micro_batch_size_per_gpu\": \"auto\"\n}\n",
            &[
                (
                    "train.py",
                    "import argparse\nimport deepspeed\np = deepspeed.add_config_arguments(\
                     argparse.ArgumentParser())\nargs = p.parse_args()\n\
                     engine = deepspeed.initialize(args=args, model=m)[0]\n",
                ),
                ("run.sh", "deepspeed train.py --deepspeed --deepspeed_config ds_config.json\n"),
            ],
        ),
        named_with(
            "ds_config.json",
            "{\n  \"gradient_clipping\": \"auto\"\n}\n",
            &[(
                "train.py",
                "import json\nimport deepspeed\nwith open(\"ds_config.json\") as f:\n    cfg = json.load(f)\n\
                 engine = deepspeed.initialize(model=m, config=cfg)[0]\n",
            )],
        ),
    ],
    silent: &[
        named_with(
            "ds_config.json",
            "{\n  \"train_micro_batch_size_per_gpu\": \"auto\"\n}\n",
            &[(
                "train.py",
                "import json\nimport deepspeed\nwith open(\"ds_config.json\") as f:\n    cfg = json.load(f)\n\
                 cfg[\"train_micro_batch_size_per_gpu\"] = 4\n\
                 engine = deepspeed.initialize(model=m, config=cfg)[0]\n",
            )],
        ),
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
    let found = engines(config).into_iter().filter_map(|Engine { program, call }| {
        let filled = ["transformers", "accelerate", "lightning", "pytorch_lightning", "trl"];
        let fills = |full: &String| {
            let first = full.split('.').next().unwrap_or_default();
            // Models and tokenizers fill in nothing.
            let plain = ["AutoModel", "AutoTokenizer", "AutoConfig", "AutoProcessor", "get_scheduler"];
            let last = full.rsplit('.').next().unwrap_or_default();
            filled.contains(&first) && !plain.iter().any(|name| last.starts_with(name))
        };
        let message = format!(
            "{path} is \"auto\", but {} gives the file to deepspeed.initialize (line {}), which takes a \
             number; \
             only transformers and accelerate fill it in",
            program.name, call.line
        );
        (!program.imports.values().any(fills)).then(|| Found::error(*line, message, "Write the number"))
    });
    found.take(1).collect()
}
