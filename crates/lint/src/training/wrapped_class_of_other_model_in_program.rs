//! A class of layers for FSDP, given in a program, that its model does not have.

use crate::model_layers::{model_of_program, other_class};
use crate::read::python::{Argument, Call, Program, entries, string};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "wrapped-class-of-other-model-in-program",
    severity: Severity::Error,
    summary: "a program gives FSDP a class of layers that its model has",
    explain: include_str!("wrapped_class_of_other_model_in_program.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "tune.py",
            "from accelerate import Accelerator, FullyShardedDataParallelPlugin\nfrom transformers import \
             AutoModelForCausalLM\nplugin = \
             FullyShardedDataParallelPlugin(\
             transformer_cls_names_to_wrap=[\"LlamaDecoderLayer\"])\naccelerator \
             = Accelerator(fsdp_plugin=plugin)\nmodel = \
             AutoModelForCausalLM.from_pretrained(\"Qwen/Qwen2.5-7B\")\n",
        ),
        named(
            "tune.py",
            "from transformers import AutoModelForCausalLM, TrainingArguments\nmodel = \
             AutoModelForCausalLM.from_pretrained(\"meta-llama/Llama-3.1-8B\")\nargs = \
             TrainingArguments(output_dir=\"out\", fsdp=\"full_shard auto_wrap\", \
             fsdp_config={\"transformer_layer_cls_to_wrap\": [\"Qwen2DecoderLayer\"]})\n",
        ),
        named(
            "tune.py",
            "import functools\nfrom torch.distributed.fsdp.wrap import transformer_auto_wrap_policy\nfrom \
             transformers import AutoModelForCausalLM\nfrom transformers.models.llama.modeling_llama import \
             LlamaDecoderLayer\npolicy = functools.partial(transformer_auto_wrap_policy, \
             transformer_layer_cls={LlamaDecoderLayer})\nmodel = \
             AutoModelForCausalLM.from_pretrained(\"Qwen/Qwen2.5-7B\")\n",
        ),
    ],
    silent: &[
        named(
            "tune.py",
            "from accelerate import Accelerator, FullyShardedDataParallelPlugin\nfrom transformers import \
             AutoModelForCausalLM\nplugin = \
             FullyShardedDataParallelPlugin(transformer_cls_names_to_wrap=[\"LlamaDecoderLayer\", \
             \"Qwen2DecoderLayer\"])\nmodel = AutoModelForCausalLM.from_pretrained(\"Qwen/Qwen2.5-7B\")\n",
        ),
        named(
            "tune.py",
            "from accelerate import FullyShardedDataParallelPlugin\nfrom transformers import \
             AutoModelForCausalLM\nplugin = \
             FullyShardedDataParallelPlugin(transformer_cls_names_to_wrap=[\"LlamaDecoderLayer\"])\nmodel = \
             AutoModelForCausalLM.from_pretrained(\"Qwen/Qwen2.5-7B\")\nteacher = \
             AutoModelForCausalLM.from_pretrained(\"meta-llama/Llama-3.1-8B\")\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let given: Vec<(&Call, &Argument, Vec<String>)> =
        program.calls.iter().filter_map(|call| classes(program, call)).collect();
    // A command may give another model than the default of an option.
    let Some(model) =
        (!given.is_empty()).then(|| model_of_program(program, &|_| Some("$".to_owned()))).flatten()
    else {
        return Vec::new();
    };
    let found = given.into_iter().filter_map(|(call, argument, classes)| {
        let classes = classes.join(",");
        let own = other_class(program.catalog, &classes, &model)?;
        let torch = argument.name.as_deref() == Some("transformer_layer_cls");
        let ends = match torch {
            true => "FSDP then wraps no layer and gathers the whole model at once".to_owned(),
            false => format!("the training ends with `Could not find the transformer layer class {classes}`"),
        };
        let message = format!("{model} has layers of the class {own} and none of {classes}; {ends}");
        let line = argument.line.max(call.line);
        Some(Found::error(line, message, format!("Write `{own}`")).unless_certain(!torch))
    });
    found.collect()
}

/// The classes of layers that a call gives to FSDP.
fn classes<'p>(program: &'p Program, call: &'p Call) -> Option<(&'p Call, &'p Argument, Vec<String>)> {
    let of_plugin = || call.keyword("transformer_cls_names_to_wrap");
    let (argument, text) = if let Some(one) = of_plugin().or_else(|| call.keyword("transformer_layer_cls")) {
        (one, program.origin(&one.at, &call.function).text)
    } else {
        let one = call.keyword("fsdp_config")?;
        let entries = entries(program.origin(&one.at, &call.function).text)?;
        let is_key = |key: &str| {
            string(key).is_some_and(|key| key.trim_start_matches("fsdp_") == "transformer_layer_cls_to_wrap")
        };
        (one, entries.into_iter().find(|(key, _)| is_key(key))?.1)
    };
    let inner = text.trim().trim_start_matches(['[', '{', '(']).trim_end_matches([']', '}', ')']);
    let names = inner.split(',').map(|one| one.trim().trim_matches(['"', '\'']).to_owned());
    let names: Vec<String> = names.filter(|one| !one.is_empty()).collect();
    Some((call, argument, names))
}
