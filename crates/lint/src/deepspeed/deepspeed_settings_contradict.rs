//! Settings of DeepSpeed that undo or forbid each other.

use crate::read::config::Config;
use crate::rule::{Found, Judge, Rule, Severity, named};

/// The rule.
pub const RULE: Rule = Rule {
    id: "deepspeed-settings-contradict",
    severity: Severity::Error,
    summary: "stage, offload and precision of DeepSpeed agree",
    explain: include_str!("deepspeed_settings_contradict.md"),
    judge: Judge::Deepspeed(judge),
    fires: &[
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"fp16\": {\"enabled\": true},\n  \"bf16\": {\"enabled\": true}\n}\n",
        ),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"zero_optimization\": {\n    \"stage\": 2,\n    \"offload_param\": {\"device\": \"cpu\"}\n  }\n}\n",
        ),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"zero_optimization\": {\n    \"stage\": 3,\n    \"offload_optimizer\": {\"device\": \"nvme\"}\n  }\n}\n",
        ),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"zero_optimization\": {\n    \"stage\": 2,\n    \"cpu_offload\": true,\n    \"offload_optimizer\": {\"device\": \"cpu\", \"ratio\": 0.5}\n  }\n}\n",
        ),
    ],
    silent: &[
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"fp16\": {\"enabled\": \"auto\"},\n  \"bf16\": {\"enabled\": \"auto\"},\n  \"zero_optimization\": {\n    \"stage\": 3,\n    \"offload_param\": {\"device\": \"nvme\", \"nvme_path\": \"/nvme\"},\n    \"offload_optimizer\": {\"device\": \"cpu\", \"ratio\": 0.3}\n  }\n}\n",
        ),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"device\": \"cpu\"}, \"offload_param\": {\"device\": \"none\"}}\n}\n",
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
        let says = "fp16 and bf16 are both enabled: DeepSpeed refuses that";
        found.push(Found::error(
            json.line("fp16.enabled"),
            says,
            "bf16 on cards from Ampere on, fp16 on older ones",
        ));
    }
    let Some(stage) = config.stage() else { return found };
    let zero = |key: &str| format!("zero_optimization.{key}");
    if stage > 3 {
        found.push(Found::error(
            json.line(&zero("stage")),
            format!("there is no stage {stage} of ZeRO"),
            "0 to 3",
        ));
    }
    found.extend(offload(config, stage));
    if json.text("gradient_allreduce_op") == Some("sum") && stage == 3 {
        let says = "gradient_allreduce_op: sum is refused at stage 3";
        found.push(Found::error(json.line("gradient_allreduce_op"), says, "mean"));
    }
    for key in ["fp16.fp16_master_weights_and_grads", "bf16.bf16_master_weights_and_grads"] {
        if json.is_true(key) && stage == 0 {
            found.push(Found::error(
                json.line(key),
                format!("{key} is refused without ZeRO"),
                "a stage from 1 to 3",
            ));
        }
    }
    let stage3 =
        json.keys("zero_optimization").find(|(key, _)| key.starts_with("stage3_") && !key.contains("gather"));
    if let Some((key, line)) = stage3.filter(|_| stage < 3) {
        found.push(Found::note(
            line,
            format!("{key} has no effect at stage {stage}"),
            "take it out, or stage 3",
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
        let says = format!(
            "offload_param to {device} has no effect at stage {stage}: parameters are offloaded at stage 3 only"
        );
        found.push(Found::warning(line("offload_param"), says, "\"stage\": 3"));
    }
    if let Some(device) = device("offload_optimizer").filter(|_| stage == 0) {
        let says = format!("offload_optimizer to {device} has no effect without ZeRO");
        found.push(Found::warning(line("offload_optimizer"), says, "a stage from 1 to 3"));
    }
    let ratio = json.number("zero_optimization.offload_optimizer.ratio");
    if ratio.is_some_and(|ratio| ratio < 1.0) && stage != 3 {
        let says = "a ratio below 1 (partial offload) is refused below stage 3";
        found.push(Found::error(
            json.line("zero_optimization.offload_optimizer.ratio"),
            says,
            "\"stage\": 3, or no ratio",
        ));
    }
    for section in ["offload_param", "offload_optimizer"] {
        let path = json.get(&format!("zero_optimization.{section}.nvme_path"));
        if device(section) == Some("nvme") && stage == 3 && path.is_none() {
            found.push(Found::error(
                line(section),
                format!("{section} to nvme has no nvme_path"),
                "\"nvme_path\": \"/local/nvme\"",
            ));
        }
    }
    for (old, new) in [("cpu_offload", "offload_optimizer"), ("cpu_offload_param", "offload_param")] {
        let path = format!("zero_optimization.{old}");
        if json.get(&path).is_some() && json.get(&format!("zero_optimization.{new}")).is_some() {
            let says = format!("{old} is the old form of {new}, and DeepSpeed refuses both together");
            found.push(Found::error(json.line(&path), says, "take the old one out"));
        }
    }
    found
}
