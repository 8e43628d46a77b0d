//! A class of layers for FSDP that the model does not have.

use crate::file::Over;
use crate::model_layers::{model_of, model_of_program, other_class};
use crate::programs::option;
use crate::read::accelerate::AccelerateConfig;
use crate::recognize::base_name;
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
             fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer\nnum_processes: 8\n",
            &[(
                "tune.py",
                "\"\"\"accelerate launch --config_file fsdp.yaml tune.py\"\"\"\nfrom transformers import \
                 MistralForCausalLM\nm = MistralForCausalLM.from_pretrained(\"mistralai/Mistral-7B-v0.3\")\n",
            )],
        ),
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
        named_with(
            "fsdp.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  \
             fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer\nnum_processes: 8\n",
            &[
                ("run.sh", "accelerate launch --config_file fsdp.yaml tune.py --lr 1e-5\n"),
                (
                    "tune.py",
                    "from transformers import AutoModelForCausalLM, AutoTokenizer\nBASE = \
                     \"Qwen/Qwen2.5-7B\"\ntok = AutoTokenizer.from_pretrained(BASE)\nmodel = \
                     AutoModelForCausalLM.from_pretrained(BASE)\n",
                ),
            ],
        ),
        named_with(
            "fsdp.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  \
             fsdp_transformer_layer_cls_to_wrap: Qwen2DecoderLayer\nnum_processes: 8\n",
            &[
                ("run.sh", "accelerate launch --config_file fsdp.yaml tune.py\n"),
                (
                    "tune.py",
                    "import argparse\nfrom transformers import AutoModelForCausalLM\nparser = \
                     argparse.ArgumentParser()\nparser.add_argument(\"--base\", \
                     default=\"meta-llama/Llama-3.1-8B\")\nargs = parser.parse_args()\nmodel = \
                     AutoModelForCausalLM.from_pretrained(args.base)\n",
                ),
            ],
        ),
    ],
    silent: &[
        named_with(
            "fsdp.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  \
             fsdp_transformer_layer_cls_to_wrap: MistralDecoderLayer\nnum_processes: 8\n",
            &[(
                "tune.py",
                "\"\"\"accelerate launch --config_file fsdp.yaml tune.py\"\"\"\nfrom transformers import \
                 MistralForCausalLM\nm = MistralForCausalLM.from_pretrained(\"mistralai/Mistral-7B-v0.3\")\n",
            )],
        ),
        // It names the configuration for another program.
        named_with(
            "fsdp.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  \
             fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer\nnum_processes: 8\n",
            &[(
                "tune.py",
                "# accelerate launch --config_file fsdp.yaml other.py is for Llama\nfrom transformers import \
                 MistralForCausalLM\nm = MistralForCausalLM.from_pretrained(\"mistralai/Mistral-7B-v0.3\")\n",
            )],
        ),
        named_with(
            "fsdp.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  \
             fsdp_transformer_layer_cls_to_wrap: Qwen2DecoderLayer\nnum_processes: 8\n",
            &[
                ("run.sh", "accelerate launch --config_file fsdp.yaml tune.py --base Qwen/Qwen2.5-7B\n"),
                (
                    "tune.py",
                    "import argparse\nfrom transformers import AutoModelForCausalLM\nparser = \
                     argparse.ArgumentParser()\nparser.add_argument(\"--base\", \
                     default=\"meta-llama/Llama-3.1-8B\")\nargs = parser.parse_args()\nmodel = \
                     AutoModelForCausalLM.from_pretrained(args.base)\n",
                ),
            ],
        ),
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
                let (model, by) = match model_of(&words, &script.text) {
                    Some(model) => (model, script.name.clone()),
                    None => in_program(config, &words)?,
                };
                let own = other_class(config.catalog, given, &model)?;
                Some((model, own, by))
            })
    });
    let found = found.or_else(|| documented(config, given));
    let Some((model, own, script)) = found else { return Vec::new() };
    let message = format!(
        "{model}, which {script} trains, has layers of the class {own} and none of {given}; accelerate \
         ends with \
         `Could not find the transformer layer class {given} in the model`"
    );
    vec![Found::error(config.line(&path), message, format!("Write `{own}`"))]
}

/// The model of a program that says itself how it is started, the class of its layers, and its name.
fn documented(config: &AccelerateConfig, given: &str) -> Option<(String, &'static str, String)> {
    config.programs.iter().find_map(|program| {
        let line = documented_start(config, program)?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let (model, by) = in_program(config, &words)?;
        let own = other_class(config.catalog, given, &model)?;
        Some((model, own, by))
    })
}

/// The line of a program that says how to start it with this configuration: `"""accelerate launch
/// --config_file fsdp.yaml train.py"""`.
fn documented_start<'p>(config: &AccelerateConfig, program: &'p Over) -> Option<&'p str> {
    let named = |line: &str, name: &str| {
        let mut words = line.split(|letter: char| letter.is_whitespace() || "\"'`=".contains(letter));
        words.any(|word| base_name(word) == base_name(name))
    };
    let mut lines = program.text.lines().filter(|line| line.contains("accelerate launch"));
    lines.find(|line| named(line, &config.name) && named(line, &program.name))
}

/// The model that the program of a command loads, with the name of the program.
fn in_program(config: &AccelerateConfig, words: &[&str]) -> Option<(String, String)> {
    let bases: Vec<String> =
        words.iter().map(|word| base_name(word.trim_matches(['"', '\'', '`']))).collect();
    let over = config.programs.iter().find(|one| bases.contains(&base_name(&one.name)))?;
    let program = over.program(config.catalog);
    let model = model_of_program(program, &|name| option(words, &[&name.replace('-', "_")]));
    // A value that only the shell knows may be any model.
    model.filter(|model| !model.contains('$')).map(|model| (model, over.name.clone()))
}
