//! Settings of DeepSpeed that undo or forbid each other.

use crate::read::config::Config;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "deepspeed-settings-contradict",
    severity: Severity::Error,
    summary: "ZeRO stage, offload and precision settings do not contradict each other",
    explain: include_str!("deepspeed_settings_contradict.md"),
    judge: Judge::Deepspeed(judge),
    fires: &[
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"fp16\": {\"enabled\": true},\n  \"bf16\": \
             {\"enabled\": true}\n}\n",
        ),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"zero_optimization\": {\n    \"stage\": 2,\n    \
             \"offload_param\": {\"device\": \"cpu\"}\n  }\n}\n",
        ),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"zero_optimization\": {\n    \"stage\": 3,\n    \
             \"offload_optimizer\": {\"device\": \"nvme\"}\n  }\n}\n",
        ),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"zero_optimization\": {\n    \"stage\": 2,\n    \
             \"cpu_offload\": true,\n    \"offload_optimizer\": {\"device\": \"cpu\", \"ratio\": 0.5}\n  }\n\
             }\n",
        ),
    ],
    silent: &[
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"fp16\": {\"enabled\": \"auto\"},\n  \"bf16\": \
             {\"enabled\": \"auto\"},\n  \"zero_optimization\": {\n    \"stage\": 3,\n    \"offload_param\": \
             {\"device\": \"nvme\", \"nvme_path\": \"/nvme\"},\n    \"offload_optimizer\": \
             {\"device\": \"cpu\", \"ratio\": 0.3}\n  }\n}\n",
        ),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": \
             {\"device\": \"cpu\"}, \"offload_param\": {\"device\": \"none\"}}\n}\n",
        ),
    ],
};

fn judge(config: &Config) -> Vec<Found> {
    if config.template || config.json.broken.is_some() {
        return Vec::new();
    }
    let json = &config.json;
    let mut found = Vec::new();
    if json.is_true("fp16.enabled") && (json.is_true("bf16.enabled") || json.is_true("bfloat16.enabled")) {
        let message = "fp16 and bf16 are both enabled; DeepSpeed refuses this";
        found.push(Found::error(
            json.line("fp16.enabled"),
            message,
            "Use bf16 on Ampere and newer GPUs, fp16 on older ones",
        ));
    }
    let Some(stage) = config.stage() else { return found };
    let zero = |key: &str| format!("zero_optimization.{key}");
    if stage > 3 {
        found.push(Found::error(
            json.line(&zero("stage")),
            format!("ZeRO stage {stage} does not exist; DeepSpeed refuses it"),
            "Use a stage from 0 to 3",
        ));
    }
    found.extend(offload(config, stage));
    if json.text("gradient_allreduce_op") == Some("sum") && stage == 3 {
        let message = "DeepSpeed refuses `gradient_allreduce_op: sum` at ZeRO stage 3";
        found.push(Found::error(json.line("gradient_allreduce_op"), message, "Use `mean`"));
    }
    for key in ["fp16.fp16_master_weights_and_grads", "bf16.bf16_master_weights_and_grads"] {
        if json.is_true(key) && stage == 0 {
            found.push(Found::error(
                json.line(key),
                format!("DeepSpeed refuses {key} without ZeRO"),
                "Use a stage from 1 to 3",
            ));
        }
    }
    let stage3 =
        json.keys("zero_optimization").find(|(key, _)| key.starts_with("stage3_") && !key.contains("gather"));
    if let Some((key, line)) = stage3.filter(|_| stage < 3) {
        found.push(Found::note(
            line,
            format!("{key} has no effect at ZeRO stage {stage}"),
            "Remove it, or use stage 3",
        ));
    }
    found
}

fn offload(config: &Config, stage: u64) -> Vec<Found> {
    let json = &config.json;
    let mut found = Vec::new();
    let device = |section: &str| {
        json.text(&format!("zero_optimization.{section}.device"))
            .filter(|device| *device != "none" && *device != "auto")
    };
    let line = |section: &str| json.line(&format!("zero_optimization.{section}"));
    if let Some(device) = device("offload_param").filter(|_| stage < 3) {
        let message = format!(
            "offload_param to {device} has no effect at ZeRO stage {stage}; only stage 3 offloads parameters"
        );
        found.push(Found::warning(line("offload_param"), message, "Set \"stage\": 3"));
    }
    if let Some(device) = device("offload_optimizer").filter(|_| stage == 0) {
        let message = format!("offload_optimizer to {device} has no effect without ZeRO; it saves no memory");
        found.push(Found::warning(line("offload_optimizer"), message, "Use a stage from 1 to 3"));
    }
    let ratio = json.number("zero_optimization.offload_optimizer.ratio");
    if ratio.is_some_and(|ratio| ratio < 1.0) && stage != 3 {
        let message = "DeepSpeed refuses a ratio below 1 (partial offload) below ZeRO stage 3";
        found.push(Found::error(
            json.line("zero_optimization.offload_optimizer.ratio"),
            message,
            "Set \"stage\": 3, or remove the ratio",
        ));
    }
    for section in ["offload_param", "offload_optimizer"] {
        let path = json.get(&format!("zero_optimization.{section}.nvme_path"));
        if device(section) == Some("nvme") && stage == 3 && path.is_none() {
            found.push(Found::error(
                line(section),
                format!("{section} to nvme has no nvme_path, which is required"),
                "Add \"nvme_path\": \"/local/nvme\"",
            ));
        }
    }
    for (old, new) in [("cpu_offload", "offload_optimizer"), ("cpu_offload_param", "offload_param")] {
        let path = format!("zero_optimization.{old}");
        if json.get(&path).is_some() && json.get(&format!("zero_optimization.{new}")).is_some() {
            let message = format!("{old} is the old form of {new}; DeepSpeed refuses both together");
            found.push(Found::error(json.line(&path), message, "Remove the old one"));
        }
    }
    found
}
