//! Pipeline parallelism with a stage of ZeRO that it does not work with.

use crate::read::config::Config;
use crate::read::engines::{Engine, engines};
use crate::rule::{Found, Judge, Rule, Severity, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "pipeline-with-zero",
    severity: Severity::Error,
    summary: "a configuration for a PipelineModule has ZeRO stage 0 or 1",
    explain: include_str!("pipeline_with_zero.md"),
    judge: Judge::Deepspeed(judge),
    fires: &[
        named_with(
            "ds_config.json",
            "{\n  \"train_batch_size\": 64,\n  \"zero_optimization\": {\"stage\": 2}\n}\n",
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
            &[
                (
                    "train.py",
                    "import argparse\nimport deepspeed\nfrom deepspeed.pipe import PipelineModule\n\
                     class Net(PipelineModule):\n    pass\n\
                     def build(n):\n    return Net(layers=layers, num_stages=n)\n\
                     def main():\n    p = deepspeed.add_config_arguments(argparse.ArgumentParser())\n    \
                     args = p.parse_args()\n    net = build(2)\n    \
                     deepspeed.initialize(args=args, model=net)\n",
                ),
                ("run.sh", "CFG=ds_config.json\ndeepspeed train.py --deepspeed_config=$CFG\n"),
            ],
        ),
    ],
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
    let found = engines(config).into_iter().filter_map(|Engine { program, call }| {
        let model = call.argument(1, "model")?;
        let made = program.origin_call(&model.at, &call.function)?;
        let of_class = program
            .classes
            .iter()
            .any(|class| class.name == made.name && class.bases.contains("PipelineModule"));
        let message = format!(
            "ZeRO stage {stage}, but line {} of {} gives the file to a PipelineModule; the engine stops: \
             ZeRO-2 \
             and ZeRO-3 are incompatible with pipeline parallelism",
            call.line, program.name
        );
        let line = config.json.line("zero_optimization.stage");
        (of_class || made.name.ends_with("PipelineModule"))
            .then(|| Found::error(line, message, "Set \"stage\": 1 or 0"))
    });
    found.take(1).collect()
}
