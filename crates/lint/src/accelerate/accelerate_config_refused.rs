//! Keys and values of accelerate's configuration that it refuses, or that contradict each other.

use diagnostic::suggest::typo_of;
use serde_yaml::Value;

use crate::read::accelerate::AccelerateConfig;
use crate::rule::{Change, Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "accelerate-config-refused",
    severity: Severity::Error,
    summary: "accelerate takes its configuration file",
    explain: include_str!("accelerate_config_refused.md"),
    judge: Judge::Accelerate(judge),
    fires: &[
        named(
            "ds.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n  \
             deepspeed_config_file: zero2.json\n  zero3_init_flag: false\nmixed_precision: \
             bf16\nnum_processes: 8\n",
        ),
        named(
            "ds.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config: \
             {deepspeed_config_file: zero3.json, gradient_accumulation_steps: 4}\nnum_processes: 8\n",
        ),
        named(
            "c.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: \
             no\nnum_processes: 8\n",
        ),
        named(
            "c.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: bfloat16\n\
             num_processes: 8\n",
        ),
        named(
            "c.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: multi_gpu\nnum_processes: 8\n",
        ),
        named(
            "c.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_process: 8\nnum_machines: \
             1\n",
        ),
        named(
            "c.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\ngpu_ids: 0\nnum_processes: 1\n",
        ),
        named(
            "c.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nfsdp_config:\n  \
             fsdp_sharding_strategy: \
             FULL_SHARD\nnum_processes: 8\n",
        ),
    ],
    silent: &[
        named(
            "ds.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n  \
             deepspeed_config_file: zero2.json\n  deepspeed_multinode_launcher: standard\n  zero3_init_flag: \
             false\nnum_processes: 16\nnum_machines: 2\nmain_process_ip: 10.0.4.11\n",
        ),
        named(
            "ds.yaml",
            "compute_environment: LOCAL_MACHINE\ndebug: false\ndeepspeed_config:\n  \
             gradient_accumulation_steps: 1\n  \
             zero_stage: 2\ndistributed_type: DEEPSPEED\ndowncast_bf16: 'no'\nmixed_precision: \
             bf16\nuse_cpu: false\n",
        ),
        named(
            "c.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: 'NO'\nfsdp_config: {}\nmixed_precision: \
             'no'\n\
             gpu_ids: all\nnum_processes: 1\nuse_cpu: false\n",
        ),
        named(
            "c.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_version: \
             2\nfp8_config: \
             {}\nparallelism_config: {}\nmixed_precision: fp16 # half\n",
        ),
        named(
            "sm.yaml",
            "compute_environment: AMAZON_SAGEMAKER\ndistributed_type: DATA_PARALLEL\nec2_instance_type: \
             ml.p3.16xlarge\niam_role_name: a\n",
        ),
    ],
};

fn judge(config: &AccelerateConfig) -> Vec<Found> {
    let Some(root) = config.root.as_mapping() else { return Vec::new() };
    if config.string("compute_environment") == Some("AMAZON_SAGEMAKER") {
        return Vec::new();
    }
    let mut found: Vec<Found> =
        root.keys().filter_map(Value::as_str).filter_map(|key| unknown(config, key)).collect();
    found.extend(kind(config));
    found.extend(precision(config));
    found.extend(gpu_ids(config));
    found.extend(beside_the_file(config));
    found.extend(other_section(config));
    found
}

fn unknown(config: &AccelerateConfig, key: &str) -> Option<Found> {
    let mut keys = config.catalog.accelerate_config().keys();
    if keys.any(|known| known == key) {
        return None;
    }
    let line = config.line(&[key]);
    let message = format!(
        "{key} is not a key of accelerate's configuration; accelerate launch ends with `unknown keys`"
    );
    Some(match typo_of(key, config.catalog.accelerate_config().keys()) {
        Some(near) => {
            Found::error(line, message, format!("Write `{near}`")).change(Change::key(line, key, near))
        }
        None => Found::warning(
            line,
            format!("{message}, unless a newer release has it"),
            "Remove it, or move it to the section that it is for",
        ),
    })
}

fn kind(config: &AccelerateConfig) -> Option<Found> {
    let value = config.string("distributed_type")?;
    let types = || config.catalog.accelerate_config().types();
    if types().any(|known| known == value) {
        return None;
    }
    let line = config.line(&["distributed_type"]);
    let upper = value.to_ascii_uppercase().replace('-', "_");
    let near = types().find(|one| *one == upper).or_else(|| typo_of(&upper, types()));
    let message =
        format!("accelerate has no distributed_type {value}; accelerate launch ends with ValueError");
    Some(match near {
        Some(near) => Found::error(line, message, format!("Write `distributed_type: {near}`"))
            .change(Change::value(line, "distributed_type", value, near)),
        None => Found::error(line, message, "Write MULTI_GPU, DEEPSPEED or FSDP"),
    })
}

fn precision(config: &AccelerateConfig) -> Option<Found> {
    let line = config.line(&["mixed_precision"]);
    let written = config.written("mixed_precision")?;
    // PyYAML reads YAML 1.1.
    let bare = ["no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"].contains(&written);
    if bare {
        let message = format!(
            "mixed_precision: {written} without quotes is the truth value false; accelerate launch ends with \
             `'bool' object has no attribute 'lower'`"
        );
        return Some(Found::error(line, message, "Write `mixed_precision: 'no'`").change(Change::value(
            line,
            "mixed_precision",
            written,
            "'no'",
        )));
    }
    let value = config.string("mixed_precision")?;
    let known = ["no", "fp16", "bf16", "fp8"].contains(&value.to_ascii_lowercase().as_str());
    let message =
        format!("mixed_precision {value} is not one of no, fp16, bf16 and fp8; accelerate refuses it");
    let fix = if value.contains("bf") { "Write `bf16`" } else { "Write `fp16` or `bf16`" };
    (!known && !value.contains(['$', '{'])).then(|| Found::error(line, message, fix))
}

fn gpu_ids(config: &AccelerateConfig) -> Option<Found> {
    let value = config.root.get("gpu_ids")?;
    let line = config.line(&["gpu_ids"]);
    if let Some(number) = value.as_u64() {
        let message = format!(
            "gpu_ids: {number} is a number; accelerate launch ends with `'int' object has no attribute \
             'split'`"
        );
        return Some(
            Found::error(line, message, format!("Write `gpu_ids: '{number}'`")).change(Change::value(
                line,
                "gpu_ids",
                &number.to_string(),
                &format!("'{number}'"),
            )),
        );
    }
    let ids = value.as_str().filter(|ids| *ids != "all" && !ids.is_empty())?;
    let count = ids.split(',').filter(|id| !id.trim().is_empty()).count() as u64;
    let machines = config.number("num_machines").unwrap_or(1).max(1);
    let processes = config.number("num_processes")? / machines;
    let given = config
        .starts()
        .iter()
        .any(|(_, launch)| launch.options.has("num_processes") || launch.options.has("gpu_ids"));
    let message = format!(
        "gpu_ids has {count} GPUs, but num_processes starts {processes} on each machine; the others fail \
         with \
         `invalid device ordinal`"
    );
    (processes > count && !given && config.string("distributed_type") != Some("MULTI_CPU")).then(|| {
        Found::error(
            line,
            message,
            format!("Set `num_processes: {}`, or list {processes} GPUs", count * machines),
        )
    })
}

/// What belongs into DeepSpeed's own file.
fn beside_the_file(config: &AccelerateConfig) -> Vec<Found> {
    let Some(section) = config.root.get("deepspeed_config").and_then(Value::as_mapping) else {
        return Vec::new();
    };
    let Some(file) = section.get("deepspeed_config_file").and_then(Value::as_str) else { return Vec::new() };
    if config.string("distributed_type") != Some("DEEPSPEED") {
        return Vec::new();
    }
    let starts = config.starts();
    let by_option =
        !starts.is_empty() && starts.iter().all(|(_, launch)| launch.options.has("mixed_precision"));
    let top = config.root.get("mixed_precision").filter(|value| !value.is_null() && !by_option);
    let refused = config.catalog.accelerate_config().refused_fields();
    let fields = refused.filter(|field| section.contains_key(*field));
    let places = fields.map(|field| (field, config.line(&["deepspeed_config", field])));
    let places = places.chain(top.map(|_| ("mixed_precision", config.line(&["mixed_precision"]))));
    let found = places.map(|(field, line)| {
        let message = format!(
            "{field} next to deepspeed_config_file: accelerate raises ValueError, because it must be \
             set in {file}"
        );
        Found::error(line, message, format!("Remove {field} here and set it in {file}"))
    });
    found.collect()
}

/// A section for another type than the one that is chosen.
fn other_section(config: &AccelerateConfig) -> Option<Found> {
    let mut types = config.catalog.accelerate_config().types();
    let kind = config.string("distributed_type").filter(|kind| types.any(|known| known == *kind))?;
    let sections =
        [("deepspeed_config", "DEEPSPEED"), ("fsdp_config", "FSDP"), ("megatron_lm_config", "MEGATRON_LM")];
    let (section, needs) = sections.into_iter().find(|(section, needs)| {
        let filled =
            config.root.get(*section).and_then(Value::as_mapping).is_some_and(|keys| !keys.is_empty());
        filled && *needs != kind
    })?;
    let option = match needs {
        "DEEPSPEED" => "use_deepspeed",
        "FSDP" => "use_fsdp",
        _ => "use_megatron_lm",
    };
    let by_option = config.starts().iter().any(|(_, launch)| launch.options.has(option));
    let several = ["DEEPSPEED", "FSDP", "MEGATRON_LM"].contains(&kind);
    let message = format!(
        "distributed_type is {kind}: accelerate does not use {section}, and trains {}",
        if several { format!("with {kind}") } else { "each process with the whole model".to_owned() }
    );
    (!by_option).then(|| {
        Found::warning(
            config.line(&["distributed_type"]),
            message,
            format!("Write `distributed_type: {needs}`, or remove {section}"),
        )
    })
}
