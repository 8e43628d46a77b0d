//! Another precision in the configuration than in the arguments of the trainer.

use crate::read::config::Config;
use crate::read::launch::Launches;
use crate::read::python::Program;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "precision-contradicts",
    severity: Severity::Error,
    summary: "DeepSpeed's configuration and the trainer use the same precision",
    explain: include_str!("precision_contradicts.md"),
    judge: Judge::Deepspeed(judge),
    fires: &[
        named_with(
            "ds_config.json",
            "{\"train_micro_batch_size_per_gpu\": \"auto\", \"fp16\": {\"enabled\": true}}\n",
            &[("run.sh", "torchrun --nproc_per_node=8 train.py --deepspeed ds_config.json --bf16 True\n")],
        ),
        named_with(
            "ds_config.json",
            "{\"train_micro_batch_size_per_gpu\": \"auto\", \"bf16\": {\"enabled\": true}}\n",
            &[(
                "train.py",
                "from transformers import TrainingArguments\n\
                 args = TrainingArguments(\"out\", fp16=True, deepspeed=\"ds_config.json\")\n",
            )],
        ),
    ],
    silent: &[
        named_with(
            "ds_config.json",
            "{\"train_micro_batch_size_per_gpu\": \"auto\", \"fp16\": {\"enabled\": \"auto\"}}\n",
            &[("run.sh", "torchrun --nproc_per_node=8 train.py --deepspeed ds_config.json --bf16 True\n")],
        ),
        named_with(
            "ds_config.json",
            "{\"train_micro_batch_size_per_gpu\": 1, \"fp16\": {\"enabled\": true}}\n",
            &[
                ("run.sh", "torchrun --nproc_per_node=8 train.py --deepspeed ds_config.json --bf16 False\n"),
                ("other.sh", "deepspeed train.py --deepspeed --deepspeed_config ds_config.json --bf16\n"),
            ],
        ),
    ],
};

fn judge(config: &Config) -> Vec<Found> {
    let pairs = [("fp16", "bf16"), ("bf16", "fp16")];
    let found = pairs.into_iter().filter_map(|(own, other)| {
        let path = format!("{own}.enabled");
        if !config.json.is_true(&path) {
            return None;
        }
        let (file, line, certain) = config.nearby.iter().find_map(|nearby| {
            let place = match config.programs().iter().find(|one| one.name == nearby.name) {
                Some(program) => in_program(config, program, other),
                None => in_script(config, &nearby.text, other, own),
            };
            place.map(|(line, certain)| (nearby.name.as_str(), line, certain))
        })?;
        let message = format!(
            "{own} is enabled, but line {line} of {file} asks for {other}; transformers refuses a \
             configuration \
             that differs from TrainingArguments"
        );
        let fix = format!("Write `\"enabled\": \"auto\"` in \"fp16\" and \"bf16\", or enable {other} here");
        let found = Found::error(config.json.line(&path), message, fix).about(path);
        Some(found.unless_certain(certain))
    });
    found.collect()
}

/// A start with `--deepspeed FILE --bf16`: without a file DeepSpeed's own option is a switch.
fn in_script(config: &Config, text: &str, other: &str, own: &str) -> Option<(usize, bool)> {
    let script = Script::read(config.catalog, text);
    Launches::of_script(&script).launches.iter().find_map(|launch| {
        let words: Vec<&str> = launch.words.iter().map(|word| word.text.as_str()).collect();
        let value = |name: &str| {
            words.iter().enumerate().find_map(|(at, word)| match word.split_once('=') {
                Some((option, value)) => (option == name).then_some(Some(value)),
                None => {
                    (*word == name).then(|| words.get(at + 1).copied().filter(|next| !next.starts_with("--")))
                }
            })
        };
        let file = value("--deepspeed").flatten()?.rsplit('/').next()?;
        let on = |name: &str| {
            value(&format!("--{name}")).is_some_and(|value| {
                !matches!(value.unwrap_or("true").to_ascii_lowercase().as_str(), "false" | "0" | "no")
            })
        };
        (file == config.base() && on(other) && !on(own)).then_some((launch.line, launch.certain))
    })
}

/// `TrainingArguments(bf16=True, deepspeed="ds_config.json")`.
fn in_program(config: &Config, program: &Program, other: &str) -> Option<(usize, bool)> {
    let arguments = program.calls.iter().find(|call| {
        let file = call.keyword("deepspeed").map(|one| one.text.trim_matches(['"', '\'']).rsplit('/').next());
        call.name.ends_with("TrainingArguments")
            && file.flatten() == Some(config.base())
            && call.keyword(other).is_some_and(|one| one.text == "True")
    })?;
    Some((arguments.line, true))
}
