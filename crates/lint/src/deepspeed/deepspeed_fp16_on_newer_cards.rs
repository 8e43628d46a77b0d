//! fp16 on cards that have bf16.

use crate::read::config::Config;
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "deepspeed-fp16-on-newer-cards",
    severity: Severity::Note,
    summary: "GPUs that support bf16 train in bf16",
    explain: include_str!("deepspeed_fp16_on_newer_cards.md"),
    judge: Judge::Deepspeed(judge),
    fires: &[named_with(
        "ds_config.json",
        "{\n  \"train_batch_size\": 8,\n  \"fp16\": {\"enabled\": true}\n}\n",
        &[("server.json", "healthy-h100-x8-sxm-ubuntu-22.04.json")],
    )],
    silent: &[
        named_with(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"fp16\": {\"enabled\": true}\n}\n",
            &[("server.json", "healthy-t4-cloud-vm.json")],
        ),
        named("ds_config.json", "{\n  \"train_batch_size\": 8,\n  \"fp16\": {\"enabled\": true}\n}\n"),
    ],
};

fn judge(config: &Config) -> Vec<Found> {
    let Some(facts) = config.facts.as_ref().filter(|_| config.json.is_true("fp16.enabled")) else {
        return Vec::new();
    };
    let Some(gpus) = facts.gpu.list.known().filter(|gpus| !gpus.is_empty()) else { return Vec::new() };
    let newer = gpus.iter().all(|gpu| gpu.compute_capability.known().is_some_and(|(major, _)| *major >= 8));
    let message = format!(
        "fp16 is enabled on {}, which supports bf16 at the same speed without loss scaling",
        gpus[0].name
    );
    newer
        .then(|| {
            Found::note(
                config.json.line("fp16.enabled"),
                message,
                "Set \"bf16\": {\"enabled\": true} \
                 instead",
            )
        })
        .into_iter()
        .collect()
}
