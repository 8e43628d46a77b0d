//! A value of another type than DeepSpeed reads.

use crate::read::config::Config;
use crate::read::json::Value;
use crate::rule::{Change, Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "deepspeed-value-type",
    severity: Severity::Error,
    summary: "numbers and switches of DeepSpeed's configuration are not strings",
    explain: include_str!("deepspeed_value_type.md"),
    judge: Judge::Deepspeed(judge),
    fires: &[
        named("ds_config.json", "{\n  \"train_batch_size\": \"16\"\n}\n"),
        named("ds_config.json", "{\n  \"train_batch_size\": 16,\n  \"fp16\": {\"enabled\": \"false\"}\n}\n"),
        named("ds_config.json", "{\n  \"train_batch_size\": 16,\n  \"fp16\": true\n}\n"),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 16,\n  \"zero_optimization\": {\"stage\": \"two\"}\n}\n",
        ),
        named("ds_config.json", "{\n  \"train_batch_size\": 16.5\n}\n"),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 16,\n  \"zero_optimization\": {\"stage\": 3, \
             \"offload_optimizer\": {\"device\": \"gpu\"}}\n}\n",
        ),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": \
             \"1e-4\"}}\n}\n",
        ),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"communication_data_type\": \"float16\",\n  \
             \"zero_optimization\": 3\n}\n",
        ),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"amp\": {\"enabled\": true},\n  \
             \"zero_optimization\": {\"stage\": 2}\n}\n",
        ),
    ],
    silent: &[
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": \"BATCH_SIZE\",\n  \"fp16\": {\"enabled\": \"FP16\"}\n}\n",
        ),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": \"auto\",\n  \"fp16\": {\"enabled\": \"auto\"},\n  \
             \"zero_optimization\": {\"stage\": 2, \"reduce_bucket_size\": 5e8}\n}\n",
        ),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 16,\n  \"bf16\": {\"enabled\": true},\n  \"zero_optimization\": \
             {\"stage\": 3, \"offload_param\": {\"device\": \"cpu\"}}\n}\n",
        ),
    ],
};

const NUMBERS: &[&str] = &[
    "train_batch_size",
    "train_micro_batch_size_per_gpu",
    "gradient_accumulation_steps",
    "steps_per_print",
    "zero_optimization.stage",
];

const SWITCHES: &[&str] = &[
    "fp16.enabled",
    "bf16.enabled",
    "amp.enabled",
    "wall_clock_breakdown",
    "prescale_gradients",
    "zero_optimization.overlap_comm",
    "zero_optimization.contiguous_gradients",
    "zero_optimization.reduce_scatter",
    "activation_checkpointing.partition_activations",
    "activation_checkpointing.cpu_checkpointing",
    "flops_profiler.enabled",
    "comms_logger.enabled",
];

const SECTIONS: &[&str] = &[
    "fp16",
    "bf16",
    "amp",
    "optimizer",
    "scheduler",
    "activation_checkpointing",
    "flops_profiler",
    "aio",
    "elasticity",
];

fn judge(config: &Config) -> Vec<Found> {
    if config.template || config.json.broken.is_some() {
        return Vec::new();
    }
    let mut found = numbers(config);
    found.extend(switches(config));
    found.extend(sections(config));
    found.extend(parameters(config));
    found.extend(zero(config));
    found
}

fn numbers(config: &Config) -> Vec<Found> {
    let json = &config.json;
    let mut found = Vec::new();
    for key in NUMBERS {
        let what = match json.get(key) {
            Some(Value::Text(text)) if is_value(text) => format!("the string \"{text}\""),
            Some(Value::Truth(truth)) => format!("{truth}"),
            Some(Value::Number(number)) if number.fract() != 0.0 => format!("{number}"),
            _ => continue,
        };
        let digits = json.text(key).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let line = json.line(key);
        let change = digits.map(|text| Change::word(line, &format!("\"{text}\""), text));
        let message = format!("{key} is {what}, not a whole number; DeepSpeed fails");
        found.push(Found::error(line, message, "Write a number without quotes").change_if(change));
    }
    found
}

/// Whether a text is meant as a number, and not as a place that somebody still fills in.
fn is_value(text: &str) -> bool {
    let word = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase());
    text != "auto" && (word || text.parse::<f64>().is_ok())
}

fn switches(config: &Config) -> Vec<Found> {
    let json = &config.json;
    let words = ["true", "false", "yes", "no", "on", "off", "1", "0"];
    let mut found = Vec::new();
    for key in SWITCHES {
        let Some(text) = json.text(key).filter(|text| words.contains(&text.to_ascii_lowercase().as_str()))
        else {
            continue;
        };
        let message = format!(
            "{key} is the string \"{text}\", which counts as true; a switch is true or false without quotes"
        );
        // What is meant by other words is likely, and not certain.
        let meant = ["true", "false"].into_iter().find(|word| word.eq_ignore_ascii_case(text));
        let change = meant.map(|word| Change::word(json.line(key), &format!("\"{text}\""), word));
        found.push(Found::warning(json.line(key), message, "Remove the quotes").change_if(change));
    }
    found
}

fn sections(config: &Config) -> Vec<Found> {
    let json = &config.json;
    let mut found = Vec::new();
    for key in SECTIONS {
        if let Some(Value::Truth(_) | Value::Number(_)) = json.get(key) {
            let message = format!("{key} is not an object; DeepSpeed fails");
            found.push(Found::error(
                json.line(key),
                message,
                format!("Write \"{key}\": {{\"enabled\": true}}"),
            ));
        }
    }
    for key in ["offload_optimizer", "offload_param"] {
        let path = format!("zero_optimization.{key}.device");
        if let Some(device) =
            json.text(&path).filter(|device| !["none", "cpu", "nvme", "auto"].contains(device))
        {
            let message = format!(
                "{key} has the device {device}; it is none, cpu or nvme; DeepSpeed fails with ValidationError"
            );
            found.push(Found::error(json.line(&path), message, "Use cpu or nvme"));
        }
    }
    found
}

/// Numbers of the optimizer and of the scheduler as texts.
fn parameters(config: &Config) -> Vec<Found> {
    let json = &config.json;
    let texts = json.entries.iter().filter_map(|(path, (_, value))| {
        let name =
            path.strip_prefix("optimizer.params.").or_else(|| path.strip_prefix("scheduler.params."))?;
        match value {
            Value::Text(text) if text.parse::<f64>().is_ok() || text.starts_with('[') => {
                Some((path, name, text))
            }
            _ => None,
        }
    });
    let found = texts.map(|(path, name, text)| {
        let message =
            format!("{name} is the string \"{text}\", not a number; the optimizer fails with TypeError");
        Found::error(json.line(path), message, "Write the number without quotes")
    });
    found.collect()
}

/// A number for the whole section of ZeRO, and types of data that do not exist.
fn zero(config: &Config) -> Vec<Found> {
    let json = &config.json;
    let mut found = Vec::new();
    if let Some(Value::Number(number)) = json.get("zero_optimization") {
        let message = format!("zero_optimization is {number}, not an object; DeepSpeed fails with TypeError");
        let fix = format!("Write \"zero_optimization\": {{\"stage\": {number}}}");
        found.push(Found::error(json.line("zero_optimization"), message, fix));
    }
    let kind = json.text("communication_data_type").map(str::to_ascii_lowercase);
    if let Some(kind) = kind.filter(|kind| !["fp16", "bf16", "bfp16", "fp32"].contains(&kind.as_str())) {
        let message = format!("communication_data_type {kind} does not exist; DeepSpeed raises ValueError");
        found.push(Found::error(json.line("communication_data_type"), message, "Use fp16, bf16 or fp32"));
    }
    let stage = config.stage().is_some_and(|stage| stage > 0);
    if json.is_true("amp.enabled") && stage {
        let message = "amp (Apex) and ZeRO are both on; DeepSpeed fails with AssertionError";
        found.push(Found::error(json.line("amp.enabled"), message, "Use bf16 or fp16 in place of amp"));
    }
    found
}
