//! A class of layers for FSDP that the model does not have.

use crate::model_layers::{model_of, other_class};
use crate::read::accelerate::AccelerateConfig;
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "wrapped-class-of-other-model",
    severity: Severity::Error,
    summary: "FSDP wraps a class of layers that the model has",
    explain: include_str!("wrapped_class_of_other_model.md"),
    judge: Judge::Accelerate(judge),
    fires: &[
        named_with(
            "fsdp.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  \
             fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_transformer_layer_cls_to_wrap: \
             LlamaDecoderLayer\nnum_processes: 8\n",
            &[(
                "Makefile",
                "MODEL ?= Qwen/Qwen2.5-7B\nsft:\n\taccelerate launch --config_file fsdp.yaml sft.py \\\n\t\t\
                 --model_name_or_path $(MODEL)\n",
            )],
        ),
        named_with(
            "fsdp.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  \
             fsdp_transformer_layer_cls_to_wrap: Qwen2DecoderLayer\nnum_processes: 8\n",
            &[(
                "run.sh",
                "accelerate launch --config_file=fsdp.yaml train.py --model meta-llama/Llama-3.1-8B\n",
            )],
        ),
    ],
    silent: &[
        named_with(
            "fsdp.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  \
             fsdp_transformer_layer_cls_to_wrap: Qwen2DecoderLayer\nnum_processes: 8\n",
            &[("run.sh", "accelerate launch --config_file fsdp.yaml train.py --model Qwen/Qwen2.5-7B\n")],
        ),
        named(
            "fsdp.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  \
             fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer\nnum_processes: 8\n",
        ),
        named_with(
            "fsdp.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  \
             fsdp_auto_wrap_policy: SIZE_BASED_WRAP\n  fsdp_transformer_layer_cls_to_wrap: \
             LlamaDecoderLayer\nnum_processes: 8\n",
            &[("run.sh", "accelerate launch --config_file fsdp.yaml train.py --model Qwen/Qwen2.5-7B\n")],
        ),
    ],
};

fn judge(config: &AccelerateConfig) -> Vec<Found> {
    let path = ["fsdp_config", "fsdp_transformer_layer_cls_to_wrap"];
    let section = config.root.get("fsdp_config");
    let key = |key: &str| section.and_then(|section| section.get(key)).and_then(|value| value.as_str());
    let Some(given) = key("fsdp_transformer_layer_cls_to_wrap") else { return Vec::new() };
    let fsdp = config.string("distributed_type") == Some("FSDP");
    if !fsdp || key("fsdp_auto_wrap_policy").is_some_and(|policy| policy != "TRANSFORMER_BASED_WRAP") {
        return Vec::new();
    }
    let found = config.scripts.iter().find_map(|script| {
        let whole = script.text.replace("\\\n", " ");
        let base = crate::recognize::base_name(&config.name);
        whole
            .lines()
            .filter(|line| line.contains("accelerate") && line.to_ascii_lowercase().contains(&base))
            .find_map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                let model = model_of(&words, &script.text)?;
                let own = other_class(config.catalog, given, &model)?;
                Some((model, own, script.name.clone()))
            })
    });
    let Some((model, own, script)) = found else { return Vec::new() };
    let message = format!(
        "{model}, which {script} trains, has layers of the class {own} and none of {given}; accelerate \
         ends with \
         `Could not find the transformer layer class {given} in the model`"
    );
    vec![Found::error(config.line(&path), message, format!("Write `{own}`"))]
}
