//! A list of GPUs that CUDA does not take.

use crate::read::settings::Settings;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "visible-devices-invalid",
    severity: Severity::Warning,
    summary: "CUDA_VISIBLE_DEVICES lists GPUs by index or UUID",
    explain: include_str!("visible_devices_invalid.md"),
    judge: Judge::Variables(judge),
    fires: &[
        named("train.sh", "export CUDA_VISIBLE_DEVICES=all\ntorchrun train.py\n"),
        named("train.sh", "CUDA_VISIBLE_DEVICES=0-3 torchrun train.py\n"),
        named("Dockerfile", "FROM python:3.12\nENV CUDA_VISIBLE_DEVICES=cuda:0\n"),
    ],
    silent: &[
        named("train.sh", "export CUDA_VISIBLE_DEVICES=0,1,2,3\ntorchrun train.py\n"),
        named("train.sh", "CUDA_VISIBLE_DEVICES= python a.py\nCUDA_VISIBLE_DEVICES=-1 python b.py\n"),
        named("train.sh", "CUDA_VISIBLE_DEVICES=GPU-1a2b,MIG-3c4d python a.py\n"),
        named("train.sh", "export CUDA_VISIBLE_DEVICES=0,1,\npython a.py\n"),
        named(
            "train.sh",
            "CUDA_VISIBLE_DEVICES=$SLURM_LOCALID python a.py\nNVIDIA_VISIBLE_DEVICES=all python b.py\n",
        ),
        named(
            "train.sh",
            "CUDA_VISIBLE_DEVICES=\"\" python a.py\nCUDA_VISIBLE_DEVICES=NoDevFiles python b.py\n",
        ),
    ],
};

fn judge(settings: &Settings) -> Vec<Found> {
    let known = settings.known().filter(|(_, one, _)| one.name == "CUDA_VISIBLE_DEVICES");
    known
        .filter_map(|(_, one, value)| {
            let message = format!("CUDA_VISIBLE_DEVICES={value}: {}", why(value)?);
            Some(Found::warning(one.location.clone(), message, "List indices or UUIDs: `0,1`"))
        })
        .collect()
}

/// Why CUDA shows fewer GPUs than somebody meant.
fn why(value: &str) -> Option<String> {
    // Words that are used to hide all.
    let hides = value.trim().is_empty()
        || value.starts_with('-')
        || ["none", "void", "NoDevFiles"].iter().any(|word| word.eq_ignore_ascii_case(value));
    if hides {
        return None;
    }
    // Nothing is behind a comma at the end; where a blank is, another rule says so.
    let entries: Vec<&str> = value.strip_suffix(',').unwrap_or(value).split(',').collect();
    let is_id = |entry: &str| entry.starts_with("GPU-") || entry.starts_with("MIG-");
    let is_index = |entry: &str| !entry.is_empty() && entry.bytes().all(|byte| byte.is_ascii_digit());
    let entry = entries.iter().find(|entry| !is_id(entry.trim()) && !is_index(entry.trim()))?;
    Some(match *entry {
        "all" => "`all` is a value of NVIDIA_VISIBLE_DEVICES; CUDA shows no GPU".to_owned(),
        entry => format!("`{entry}` is neither an index nor a UUID; CUDA shows only the GPUs before it"),
    })
}
