//! A configuration that DeepSpeed reads and others do not.

use crate::read::config::Config;
use crate::read::json::Value;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "deepspeed-config-not-json",
    severity: Severity::Error,
    summary: "configurations with \"auto\" are strict JSON",
    explain: include_str!("deepspeed_config_not_json.md"),
    judge: Judge::Deepspeed(judge),
    fires: &[
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": \"auto\",\n  \"zero_optimization\": {\"stage\": 2,}\n}\n",
        ),
        named("ds_config.json", "{\n  // per GPU\n  \"train_micro_batch_size_per_gpu\": \"auto\"\n}\n"),
        named("ds_config.json", "{\n  \"train_batch_size\": 8\n  \"steps_per_print\": 10\n}\n"),
    ],
    silent: &[
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": \"auto\",\n  \"zero_optimization\": {\"stage\": 2}\n}\n",
        ),
        named("package.json", "{\n  \"train_batch_size\": \"auto\"\n}\n"),
    ],
};

fn judge(config: &Config) -> Vec<Found> {
    if config.template || config.json.broken.is_some() {
        return Vec::new();
    }
    let Err(why) = serde_json::from_str::<serde::de::IgnoredAny>(config.text.trim_start_matches('\u{feff}'))
    else {
        return Vec::new();
    };
    let automatic =
        config.json.entries.values().any(|(_, value)| matches!(value, Value::Text(text) if text == "auto"));
    let line = why.line().clamp(1, config.text.lines().count().max(1));
    // The comma stands on the line before the bracket that the parser complains of.
    let lines: Vec<&str> = config.text.lines().collect();
    let before = line >= 2
        && lines.get(line - 1).is_some_and(|text| text.trim_start().starts_with(['}', ']']))
        && lines.get(line - 2).is_some_and(|text| text.trim_end().ends_with(','));
    let (line, what) = if before {
        (line - 1, "a comma follows the last entry")
    } else {
        (line, "a comma, quote or comment that JSON does not have")
    };
    let message = format!(
        "not valid JSON: {what}; DeepSpeed reads it as Hjson, transformers and accelerate fail with \
         JSONDecodeError"
    );
    let fix = "Remove it, so that the file is JSON";
    let found = match automatic {
        // Only transformers and accelerate replace "auto".
        true => Found::error(line, message, fix),
        false => Found::note(line, message, fix),
    };
    vec![found]
}
