//! A class of layers for FSDP in a command that trains a model of another family.

use crate::model_layers::{model_of, other_class};
use crate::programs::option;
use crate::read::handed::all_commands;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "wrapped-class-of-other-model-in-script",
    severity: Severity::Error,
    summary: "the class of layers in a command is one of the model that it trains",
    explain: include_str!("wrapped_class_of_other_model_in_script.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "run.sh",
            "torchrun --nproc_per_node=8 train.py \\\n  --model_name_or_path Qwen/Qwen2.5-7B \\\n  --fsdp \
             \"full_shard auto_wrap\" \\\n  --fsdp_transformer_layer_cls_to_wrap LlamaDecoderLayer\n",
        ),
        named(
            "run.sh",
            "MODEL=google/gemma-2-9b\naccelerate launch --use_fsdp \
             --fsdp_transformer_layer_cls_to_wrap=GemmaDecoderLayer train.py --model_name $MODEL\n",
        ),
    ],
    silent: &[
        named(
            "run.sh",
            "torchrun --nproc_per_node=8 train.py --model_name_or_path Qwen/Qwen2.5-7B \
             --fsdp_transformer_layer_cls_to_wrap Qwen2DecoderLayer\n",
        ),
        named(
            "run.sh",
            "torchrun --nproc_per_node=8 train.py --model_name_or_path /models/own \
             --fsdp_transformer_layer_cls_to_wrap LlamaDecoderLayer\n",
        ),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let mut found = Vec::new();
    for command in all_commands(script) {
        let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
        let Some(given) = option(&words, &["fsdp_transformer_layer_cls_to_wrap"]) else { continue };
        let Some(model) = model_of(&words, &script.text) else { continue };
        let Some(own) = other_class(script.catalog, &given, &model) else { continue };
        let message = format!(
            "{model} has layers of the class {own} and none of {given}; the training ends with `Could not \
             find \
             the transformer layer class`"
        );
        let at = command.words.iter().find(|word| word.text.contains("layer_cls_to_wrap"));
        let line = at.map_or(command.line, |word| word.line.max(command.line));
        found.push(Found::error(line, message, format!("Write `{own}`")).unless_certain(command.certain));
    }
    found
}
