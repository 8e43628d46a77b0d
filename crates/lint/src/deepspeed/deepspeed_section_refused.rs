//! An optimizer or scheduler that DeepSpeed does not create.

use crate::read::config::Config;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "deepspeed-section-refused",
    severity: Severity::Error,
    summary: "optimizer and scheduler have their parameters and fit the ZeRO stage",
    explain: include_str!("deepspeed_section_refused.md"),
    judge: Judge::Deepspeed(judge),
    fires: &[
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"scheduler\": {\"type\": \"WarmupDecayLR\", \"params\": \
             {\"warmup_num_steps\": 10}}\n}\n",
        ),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"optimizer\": {\"type\": \"OneBitAdam\", \"params\": \
             {\"lr\": 1e-4}},\n  \"zero_optimization\": {\"stage\": 1}\n}\n",
        ),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"scheduler\": {\"type\": \"OneCycle\", \"params\": \
             {\"cycle_min_lr\": 0}}\n}\n",
        ),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"optimizer\": {\"type\": \"Lamb\", \"params\": {\"lr\": \
             1e-4}},\n  \"zero_optimization\": {\"stage\": 2}\n}\n",
        ),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"scheduler\": {\"type\": \"WarmupDecay\", \"params\": \
             {\"total_num_steps\": 10}}\n}\n",
        ),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"optimizer\": {\"params\": {\"lr\": 1e-4}}\n}\n",
        ),
        named(
            "ds_config.json",
            "{\n  \"optimizer\": {\"type\": \"Adam\", \"params\": {\"lr\": 1e-4, \"max_grad_norm\": \
             1.0}}\n}\n",
        ),
    ],
    silent: &[
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"scheduler\": {\"type\": \"WarmupDecayLR\", \"params\": \
             {\"total_num_steps\": \"auto\"}}\n}\n",
        ),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"optimizer\": {\"type\": \"OneBitAdam\", \"params\": \
             {\"lr\": 1e-4}},\n  \"fp16\": {\"enabled\": true}\n}\n",
        ),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"optimizer\": {\"type\": \"AdamW\"},\n  \"scheduler\": \
             {\"type\": \"WarmupLR\"},\n  \"zero_optimization\": {\"stage\": 3}\n}\n",
        ),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"optimizer\": {\"type\": \"Lamb\"},\n  \
             \"zero_allow_untested_optimizer\": true,\n  \"zero_optimization\": {\"stage\": 2}\n}\n",
        ),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"scheduler\": {\"type\": \"CosineAnnealingLR\", \"params\": \
             {\"T_max\": 10}}\n}\n",
        ),
    ],
};

/// DeepSpeed's own schedulers, and the parameters without a default.
const SCHEDULERS: &[(&str, &[&str])] = &[
    ("LRRangeTest", &[]),
    ("OneCycle", &["cycle_min_lr", "cycle_max_lr"]),
    ("WarmupLR", &[]),
    ("WarmupDecayLR", &["total_num_steps"]),
    ("WarmupCosineLR", &["total_num_steps"]),
];

/// Optimizers that communicate compressed gradients by themselves.
const COMPRESSED: &[&str] = &["onebitadam", "zerooneadam", "onebitlamb"];

/// Optimizers that ZeRO takes without being told to.
const TESTED: &[&str] = &["adam", "adamw", "adagrad", "lion", "muon"];

fn judge(config: &Config) -> Vec<Found> {
    if config.template || config.json.broken.is_some() {
        return Vec::new();
    }
    scheduler(config).into_iter().chain(optimizer(config)).chain(clipping(config)).collect()
}

/// A limit of the gradients among the parameters of the optimizer.
fn clipping(config: &Config) -> Option<Found> {
    const KEY: &str = "optimizer.params.max_grad_norm";
    config.json.get(KEY)?;
    config.json.text("optimizer.type")?;
    let message = "max_grad_norm is no parameter of an optimizer here; DeepSpeed stops with ValueError: \
                   'max_grad_norm' is not supported as an optimizer parameter";
    let fix = match config.json.get("gradient_clipping") {
        Some(_) => "Remove it; \"gradient_clipping\" is set",
        None => "Write it as \"gradient_clipping\" at the top level",
    };
    Some(Found::error(config.json.line(KEY), message, fix))
}

fn scheduler(config: &Config) -> Option<Found> {
    let json = &config.json;
    json.get("scheduler")?;
    let line = json.line("scheduler");
    let Some(name) = json.text("scheduler.type") else { return untyped(config, "scheduler") };
    let Some((_, required)) = SCHEDULERS.iter().find(|(known, _)| *known == name) else {
        let near =
            SCHEDULERS.iter().map(|(known, _)| (diagnostic::suggest::edits(known, name), *known)).min()?;
        let message = format!("scheduler {name} does not exist; did you mean {}?", near.1);
        // Those of torch.optim.lr_scheduler count too.
        return (near.0 <= 3 && near.0 > 0)
            .then(|| Found::error(json.line("scheduler.type"), message, format!("Write `{}`", near.1)));
    };
    let missing = required.iter().find(|key| json.get(&format!("scheduler.params.{key}")).is_none())?;
    let message =
        format!("scheduler {name} has no {missing}, which is required; DeepSpeed fails with TypeError");
    Some(Found::error(line, message, format!("Add \"{missing}\" to its params")))
}

fn optimizer(config: &Config) -> Option<Found> {
    let json = &config.json;
    json.get("optimizer")?;
    let Some(name) = json.text("optimizer.type") else { return untyped(config, "optimizer") };
    let stage = config.stage().filter(|stage| *stage > 0)?;
    let lower = name.to_ascii_lowercase();
    let line = json.line("optimizer.type");
    if COMPRESSED.contains(&lower.as_str()) {
        let message =
            format!("{name} is not compatible with ZeRO, but the stage is {stage}; DeepSpeed refuses it");
        return Some(Found::error(line, message, "Set \"stage\": 0, or use AdamW"));
    }
    let untested = !TESTED.contains(&lower.as_str()) && json.get("zero_allow_untested_optimizer").is_none();
    let message =
        format!("{name} is untested with ZeRO; DeepSpeed refuses it without zero_allow_untested_optimizer");
    untested
        .then(|| Found::warning(line, message, "Add \"zero_allow_untested_optimizer\": true, or use AdamW"))
}

/// A section without the name of what it is.
fn untyped(config: &Config, section: &str) -> Option<Found> {
    let path = format!("{section}.type");
    if config.json.get(&path).is_some() || config.json.keys(section).next().is_none() {
        return None;
    }
    let message = format!("{section} has no type; DeepSpeed ignores its params");
    Some(Found::warning(config.json.line(section), message, "Add \"type\""))
}
