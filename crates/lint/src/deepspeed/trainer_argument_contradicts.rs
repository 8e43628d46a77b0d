//! Numbers of the configuration that differ from those of TrainingArguments.

use crate::file::Over;
use crate::programs::option;
use crate::read::config::Config;
use crate::read::python::{Program, number};
use crate::read::script::Script;
use crate::read::script_values;
use crate::recognize::base_name;
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
            "{\n  \"gradient_accumulation_steps\": \"auto\",\n  \"train_micro_batch_size_per_gpu\": 8\n}\n",
            &[(
                "run.sh",
                "deepspeed --num_gpus 4 run_summarization.py \\\n  --deepspeed ds_config.json \\\n  \
                 --per_device_train_batch_size 4\n",
            )],
        ),
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
            "{\n  \"train_micro_batch_size_per_gpu\": 8\n}\n",
            &[(
                "run.sh",
                "deepspeed run_clm.py --deepspeed ds_config.json --per_device_train_batch_size 8 \
                 --gradient_accumulation_steps 2\n",
            )],
        ),
        named_with(
            "ds_config.json",
            "{\n  \"train_micro_batch_size_per_gpu\": 8\n}\n",
            &[(
                "run.sh",
                "deepspeed run_clm.py --deepspeed other.json --per_device_train_batch_size 4\n\
                 cp ds_config.json /out\n",
            )],
        ),
        // Its own options.
        named_with(
            "ds_config.json",
            "{\n  \"train_micro_batch_size_per_gpu\": 8\n}\n",
            &[
                ("run.sh", "deepspeed t.py --deepspeed ds_config.json --per_device_train_batch_size 4\n"),
                ("t.py", "import argparse\nimport deepspeed\nCONFIG = \"ds_config.json\"\n"),
            ],
        ),
        named_with(
            "ds_config.json",
            "{\n  \"train_micro_batch_size_per_gpu\": 8\n}\n",
            &[("run.sh", "deepspeed t.py --deepspeed ds_config.json --per_device_train_batch_size $BATCH\n")],
        ),
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
    let found: Vec<Found> =
        config.programs().iter().flat_map(|program| in_program(config, program)).collect();
    let mut scripts = config.nearby.iter().filter(|one| !one.name.ends_with(".py"));
    match found.is_empty() {
        true => scripts.find_map(|script| in_script(config, script).into_iter().next()).into_iter().collect(),
        false => found,
    }
}

/// What a script gives to a program that parses TrainingArguments: `--deepspeed ds_config.json`.
fn in_script(config: &Config, script: &Over) -> Vec<Found> {
    let read = Script::read(config.catalog, &script.text);
    let mut found = Vec::new();
    for command in script_values::commands(&read) {
        let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
        let file = option(&words, &["deepspeed"]);
        let is_this = |path: String| base_name(&path) == base_name(config.base());
        if !file.is_some_and(is_this) || !parses_arguments(config, &words) {
            continue;
        }
        found.extend(PAIRS.iter().filter_map(|&(key, argument)| {
            let given = option(&words, &[argument])?;
            let (ours, theirs) = (config.json.number(key)?, given.parse::<f64>().ok()?);
            contradiction(config, (key, ours), (argument, theirs), command.line, &script.name)
        }));
    }
    found
}

/// Whether the program of a command has these options from transformers: one that is not there is taken to.
fn parses_arguments(config: &Config, words: &[&str]) -> bool {
    let Some(program) = words.iter().find(|word| word.ends_with(".py")) else { return false };
    let known = config.nearby.iter().find(|one| base_name(&one.name) == base_name(program));
    known.is_none_or(|one| {
        one.text.contains("TrainingArguments")
            || one.text.contains("HfArgumentParser")
            || one.text.contains("TrlParser")
    })
}

/// A key and an argument whose values differ.
fn contradiction(
    config: &Config,
    (key, ours): (&str, f64),
    (argument, theirs): (&str, f64),
    line: usize,
    file: &str,
) -> Option<Found> {
    let differ = (ours - theirs).abs() > f64::EPSILON * ours.abs().max(theirs.abs());
    let message = format!(
        "{key} is {ours}, but {argument} is {theirs} in line {line} of {file}; transformers stops with \
         `Please correct the following DeepSpeed config values that mismatch TrainingArguments values`"
    );
    differ.then(|| Found::error(config.json.line(key), message, format!("Write \"auto\" for {key}")))
}

fn in_program(config: &Config, program: &Program) -> Vec<Found> {
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
    let found = PAIRS.iter().filter_map(|&(key, argument)| {
        let given = call.keyword(argument)?;
        let (ours, theirs) = (config.json.number(key)?, number(&given.text)?);
        contradiction(config, (key, ours), (argument, theirs), given.line, &program.name)
    });
    found.collect()
}
