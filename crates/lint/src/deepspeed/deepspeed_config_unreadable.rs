//! A configuration of DeepSpeed that cannot be read.

use crate::read::config::Config;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "deepspeed-config-unreadable",
    severity: Severity::Error,
    summary: "the DeepSpeed configuration is valid JSON without duplicate keys",
    explain: include_str!("deepspeed_config_unreadable.md"),
    judge: Judge::Deepspeed(judge),
    fires: &[
        named("ds_config.json", "{\n  \"train_batch_size\": 8,\n  \"fp16\": {\"enabled\": true\n}\n"),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"zero_optimization\": {\"stage\": 2},\n  \
             \"train_batch_size\": 16\n}\n",
        ),
    ],
    silent: &[named(
        "ds_config.json",
        "{\n  // per GPU\n  \"train_micro_batch_size_per_gpu\": 8,\n  \"zero_optimization\": \
         {\"stage\": 2},\n}\n",
    )],
};

fn judge(config: &Config) -> Vec<Found> {
    if config.template {
        return Vec::new();
    }
    let broken = config
        .json
        .broken
        .iter()
        .map(|(line, why)| Found::error(*line, format!("not valid JSON: {why}"), ""));
    let twice = config.json.twice.iter().map(|(line, key)| {
        Found::error(*line, format!("duplicate key {key}; DeepSpeed refuses the file"), "Keep one of them")
    });
    broken.chain(twice).collect()
}
