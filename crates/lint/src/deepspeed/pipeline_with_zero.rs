//! Pipeline parallelism with a stage of ZeRO that it does not work with.

use crate::read::config::Config;
use crate::read::python::Program;
use crate::rule::{Found, Judge, Rule, Severity, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "pipeline-with-zero",
    severity: Severity::Error,
    summary: "a configuration for a PipelineModule has ZeRO stage 0 or 1",
    explain: include_str!("pipeline_with_zero.md"),
    judge: Judge::Deepspeed(judge),
    fires: &[named_with(
        "ds_config.json",
        "{\n  \"train_batch_size\": 64,\n  \"zero_optimization\": {\"stage\": 2}\n}\n",
        &[(
            "train.py",
            "import deepspeed\nfrom deepspeed.pipe import PipelineModule\nnet = \
             PipelineModule(layers=layers, \
             num_stages=2)\nengine, _, _, _ = deepspeed.initialize(model=net, config=\"ds_config.json\")\n",
        )],
    )],
    silent: &[
        named_with(
            "ds_config.json",
            "{\n  \"train_batch_size\": 64,\n  \"zero_optimization\": {\"stage\": 1}\n}\n",
            &[(
                "train.py",
                "import deepspeed\nfrom deepspeed.pipe import PipelineModule\nnet = \
                 PipelineModule(layers=layers, \
                 num_stages=2)\nengine, _, _, _ = deepspeed.initialize(model=net, \
                 config=\"ds_config.json\")\n",
            )],
        ),
        named_with(
            "ds_config.json",
            "{\n  \"train_batch_size\": 64,\n  \"zero_optimization\": {\"stage\": 3}\n}\n",
            &[(
                "train.py",
                "import deepspeed\nengine, _, _, _ = deepspeed.initialize(model=net, \
                 config=\"ds_config.json\")\n",
            )],
        ),
    ],
};

fn judge(config: &Config) -> Vec<Found> {
    let Some(stage) = config.stage().filter(|stage| *stage > 1) else { return Vec::new() };
    let programs = config.nearby.iter().filter(|one| one.name.ends_with(".py"));
    let found = programs.filter_map(|nearby| {
        let program = Program::read(config.catalog, &nearby.text);
        let is_pipeline = |at: &std::ops::Range<usize>| {
            program.call_at(at).is_some_and(|call| call.name.ends_with("PipelineModule"))
        };
        let call = program.calls.iter().find(|call| {
            let named = call.keyword("config").or_else(|| call.keyword("config_params")).is_some_and(|one| {
                one.text.starts_with(['"', '\''])
                    && one.text.trim_matches(['"', '\'']).rsplit('/').next() == Some(config.base())
            });
            let model = call.argument(1, "model").is_some_and(|model| {
                let set = program.value(&model.text, &call.function, call.at.start);
                is_pipeline(&model.at) || set.is_some_and(|one| is_pipeline(&one.at))
            });
            call.name == "deepspeed.initialize" && named && model
        })?;
        let message = format!(
            "ZeRO stage {stage}, but line {} of {} gives the file to a PipelineModule; the engine stops: \
             ZeRO-2 \
             and ZeRO-3 are incompatible with pipeline parallelism",
            call.line, nearby.name
        );
        Some(Found::error(config.json.line("zero_optimization.stage"), message, "Set \"stage\": 1 or 0"))
    });
    found.take(1).collect()
}
