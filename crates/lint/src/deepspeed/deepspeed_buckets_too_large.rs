//! Buckets of DeepSpeed that take much of the memory.

use crate::read::config::Config;
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "deepspeed-buckets-too-large",
    severity: Severity::Warning,
    summary: "ZeRO buckets take less than a quarter of the GPU memory",
    explain: include_str!("deepspeed_buckets_too_large.md"),
    judge: Judge::Deepspeed(judge),
    fires: &[named_with(
        "ds_config.json",
        "{\n  \"train_batch_size\": 8,\n  \"zero_optimization\": {\n    \"stage\": 2,\n    \"overlap_comm\": \
         true,\n    \"reduce_bucket_size\": 2e9,\n    \"allgather_bucket_size\": 2e9\n  }\n}\n",
        &[("server.json", "healthy-rtx4090-x8.json")],
    )],
    silent: &[
        named_with(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"zero_optimization\": {\"stage\": 2, \"reduce_bucket_size\": \
             2e8}\n}\n",
            &[("server.json", "healthy-rtx4090-x8.json")],
        ),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"zero_optimization\": {\"stage\": 2, \"reduce_bucket_size\": \
             2e9}\n}\n",
        ),
    ],
};

fn judge(config: &Config) -> Vec<Found> {
    let Some(facts) = config.facts.as_ref().filter(|_| !config.template && config.json.broken.is_none())
    else {
        return Vec::new();
    };
    let Some(gpus) = facts.gpu.list.known() else { return Vec::new() };
    let Some(memory) = gpus.iter().filter_map(|gpu| gpu.memory_total.known()).min() else {
        return Vec::new();
    };
    if !matches!(config.stage(), Some(1..=3)) {
        return Vec::new();
    }
    let keys = ["reduce_bucket_size", "allgather_bucket_size"].map(|key| format!("zero_optimization.{key}"));
    // What the file leaves out has its default, 5e8 elements, and is not the file's doing.
    let elements: f64 = keys.iter().filter_map(|key| config.json.number(key)).sum();
    let factor = if config.json.is_true("zero_optimization.overlap_comm") { 4.5 } else { 1.0 };
    let bytes = elements * 2.0 * factor;
    #[expect(clippy::cast_precision_loss, reason = "MiB of a GPU's memory")]
    let memory = *memory as f64 * f64::from(1 << 20);
    let Some(key) = keys.iter().find(|key| config.json.number(key).is_some()) else { return Vec::new() };
    let gib = |bytes: f64| bytes / f64::from(1 << 30);
    let message =
        format!("ZeRO buckets take about {:.0} GiB of {:.0} GiB GPU memory", gib(bytes), gib(memory));
    let large = bytes > memory / 4.0;
    large.then(|| Found::warning(config.json.line(key), message, "Set it to 2e8")).into_iter().collect()
}
