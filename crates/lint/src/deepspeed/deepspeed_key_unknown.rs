//! A key that DeepSpeed does not know.

use crate::read::config::Config;
use crate::rule::{Change, Found, Judge, Rule, Severity, named};
use catalog::deepspeed_keys::Section;

pub(crate) const RULE: Rule = Rule {
    id: "deepspeed-key-unknown",
    severity: Severity::Error,
    summary: "DeepSpeed supports every key of its configuration",
    explain: include_str!("deepspeed_key_unknown.md"),
    judge: Judge::Deepspeed(judge),
    fires: &[
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 8,\n  \"zero_optimization\": {\n    \"stage\": 2,\n    \
             \"overlap_com\": true\n  }\n}\n",
        ),
        named("ds_config.json", "{\n  \"train_batch_size\": 8,\n  \"comms_timeout\": 7200\n}\n"),
        named("ds_config.json", "{\n  \"train_batch_size\": 8,\n  \"mpi\": {\"retry\": 3}\n}\n"),
        named("ds_config.json", "{\n  \"train_batch_size\": 8,\n  \"gradient_accumulation_step\": 2\n}\n"),
        named("ds_config.json", "{\n  \"train_batch_size\": 8,\n  \"train_micro_batch_per_gpu\": 2\n}\n"),
    ],
    silent: &[named(
        "ds_config.json",
        "{\n  \"_comment\": \"why\",\n  \"train_batch_size\": \"auto\",\n  \"zero_optimization\": \
         {\"stage\": 3, \"offload_param\": {\"device\": \"cpu\", \"pin_memory\": true}, \
         \"stage3_prefetch_bucket_size\": \"auto\"},\n  \"fp16\": {\"enabled\": \"auto\", \"loss_scale\": \
         0},\n  \"wall_clock_breakdown\": false\n}\n",
    )],
};

/// Words in keys that DeepSpeed has never had, and that are believed to steer communication.
const MADE_UP: &[&str] = &["timeout", "retry", "retries", "mpi", "nccl", "fault_tolerance", "watchdog"];

fn judge(config: &Config) -> Vec<Found> {
    if config.template || config.json.broken.is_some() {
        return Vec::new();
    }
    config.catalog.deepspeed_keys().all().iter().flat_map(|section| unknown(config, section)).collect()
}

fn unknown(config: &Config, section: &Section) -> Vec<Found> {
    let path = if section.section == "top" { "" } else { section.section.as_str() };
    // `_comment` and the like are nobody's mistake.
    let remark = |key: &str| !section.strict && (key.starts_with(['_', '/', '#']) || key.contains("comment"));
    let strange = config.json.keys(path).filter(|(key, _)| !section.keys.iter().any(|known| known == key));
    let has = |near: &str| config.json.keys(path).any(|(known, _)| known == near);
    let renamed = |key: &str, line| {
        let near = section.nearest(key).filter(|near| !has(near))?;
        Some(Change::key(line, key, near))
    };
    let found = strange.filter(|(key, _)| !remark(key));
    found.map(|(key, line)| one(section, path, key, line).change_if(renamed(key, line))).collect()
}

/// A key with one word more or less: `train_micro_batch_per_gpu`.
fn one_word_off<'s>(section: &'s Section, key: &str) -> Option<&'s str> {
    let within = |short: &str, long: &str| {
        let mut words = long.split('_');
        short.split('_').all(|word| words.any(|other| other == word))
    };
    let words = |text: &str| text.split('_').count();
    let mut near = section.keys.iter().filter(|known| {
        words(key) > 2
            && words(known) > 2
            && (words(known) == words(key) + 1 && within(key, known)
                || words(key) == words(known) + 1 && within(known, key))
    });
    // Only where one key alone is meant.
    near.next().filter(|_| near.next().is_none()).map(String::as_str)
}

fn one(section: &Section, path: &str, key: &str, line: usize) -> Found {
    let near = section.nearest(key).or_else(|| one_word_off(section, key));
    let meant = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
    let fix = near.map_or("Remove it".to_owned(), |near| format!("Write `{near}`"));
    if section.strict {
        let message = format!("unknown key {key} in {path}; DeepSpeed fails with ValidationError{meant}");
        return Found::error(line, message, fix);
    }
    let made_up = MADE_UP.iter().any(|word| key.to_ascii_lowercase().split('_').any(|part| part == *word));
    if made_up && near.is_none() {
        let message = format!(
            "unknown key {key} has no effect; this file cannot set communication timeouts or retries"
        );
        return Found::warning(
            line,
            message,
            "Use `init_distributed(timeout=…)` or DEEPSPEED_TIMEOUT (minutes)",
        );
    }
    let location = if path.is_empty() { String::new() } else { format!(" in {path}") };
    let message = format!("unknown key {key}{location}; DeepSpeed ignores it{meant}");
    if near.is_some() { Found::warning(line, message, fix) } else { Found::note(line, message, "") }
}
