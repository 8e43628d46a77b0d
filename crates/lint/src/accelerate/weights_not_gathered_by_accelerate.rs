//! The weights of a model that Accelerate cannot take from ZeRO-3.

use crate::read::accelerate::AccelerateConfig;
use crate::read::config::gathers_weights;
use crate::read::json::Json;
use crate::read::python::{Call, Program};
use crate::recognize::base_name;
use crate::rule::{Found, Judge, Rule, Severity, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "weights-not-gathered-by-accelerate",
    severity: Severity::Error,
    summary: "ZeRO-3 settings let Accelerate's get_state_dict gather the weights",
    explain: include_str!("weights_not_gathered_by_accelerate.md"),
    judge: Judge::Accelerate(judge),
    fires: &[
        named_with(
            "accelerate.yaml",
            "compute_environment: LOCAL_MACHINE\ndeepspeed_config:\n  deepspeed_config_file: \
             configs/zero3.json\n\
             distributed_type: DEEPSPEED\nnum_processes: 4\n",
            &[
                ("run.sh", "accelerate launch --config_file accelerate.yaml train.py\n"),
                (
                    "train.py",
                    "from accelerate import Accelerator\n\ndef main():\n    acc = Accelerator()\n    model = \
                     acc.prepare(net)\n    state = acc.get_state_dict(model)\n",
                ),
                (
                    "configs/zero3.json",
                    "{\"zero_optimization\": {\"stage\": 3, \"stage3_gather_16bit_weights_on_model_save\": \
                     false}}\n",
                ),
            ],
        ),
        named_with(
            "zero3.yaml",
            "compute_environment: LOCAL_MACHINE\ndeepspeed_config:\n  zero_stage: 3\n  \
             zero3_save_16bit_model: \
             false\ndistributed_type: DEEPSPEED\nnum_processes: 4\n",
            &[
                ("run.sh", "accelerate launch --config_file zero3.yaml train.py\n"),
                (
                    "train.py",
                    "from accelerate import Accelerator\naccelerator = Accelerator()\nmodel = \
                     accelerator.prepare(net)\nstate = accelerator.get_state_dict(model)\n",
                ),
            ],
        ),
    ],
    silent: &[
        named_with(
            "zero3.yaml",
            "compute_environment: LOCAL_MACHINE\ndeepspeed_config:\n  zero_stage: 3\n  \
             zero3_save_16bit_model: \
             true\ndistributed_type: DEEPSPEED\nnum_processes: 4\n",
            &[
                ("run.sh", "accelerate launch --config_file zero3.yaml train.py\n"),
                (
                    "train.py",
                    "from accelerate import Accelerator\nacc = Accelerator()\nstate = \
                     acc.get_state_dict(model)\n",
                ),
            ],
        ),
        named_with(
            "zero2.yaml",
            "compute_environment: LOCAL_MACHINE\ndeepspeed_config:\n  zero_stage: 2\ndistributed_type: \
             DEEPSPEED\nnum_processes: 4\n",
            &[
                ("run.sh", "accelerate launch --config_file zero2.yaml train.py\n"),
                (
                    "train.py",
                    "from accelerate import Accelerator\nacc = Accelerator()\nstate = \
                     acc.get_state_dict(model)\n",
                ),
            ],
        ),
        // Another program is started with it.
        named_with(
            "zero3.yaml",
            "compute_environment: LOCAL_MACHINE\ndeepspeed_config:\n  zero_stage: 3\n  \
             zero3_save_16bit_model: \
             false\ndistributed_type: DEEPSPEED\nnum_processes: 4\n",
            &[
                ("run.sh", "accelerate launch --config_file zero3.yaml train.py\npython export.py\n"),
                (
                    "train.py",
                    "from accelerate import Accelerator\nacc = Accelerator()\nacc.save_state(\"out\")\n",
                ),
                (
                    "export.py",
                    "from accelerate import Accelerator\nacc = Accelerator()\nstate = \
                     acc.get_state_dict(model)\n",
                ),
            ],
        ),
        // The file that it names is not known.
        named_with(
            "accelerate.yaml",
            "compute_environment: LOCAL_MACHINE\ndeepspeed_config:\n  deepspeed_config_file: \
             /etc/zero3.json\n\
             distributed_type: DEEPSPEED\nnum_processes: 4\n",
            &[
                ("run.sh", "accelerate launch --config_file accelerate.yaml train.py\n"),
                (
                    "train.py",
                    "from accelerate import Accelerator\nacc = Accelerator()\nstate = \
                     acc.get_state_dict(model)\n",
                ),
            ],
        ),
    ],
};

fn judge(config: &AccelerateConfig) -> Vec<Found> {
    fault(config).into_iter().collect()
}

fn fault(config: &AccelerateConfig) -> Option<Found> {
    if config.string("distributed_type") != Some("DEEPSPEED") {
        return None;
    }
    let (key, said) = not_gathered(config)?;
    let (_, launch) = config.starts().into_iter().find(|(_, launch)| {
        let own = ["deepspeed_config_file", "zero3_save_16bit_model", "zero_stage"];
        !own.iter().any(|name| launch.options.has(name))
    })?;
    let started = |name: &str| launch.words.iter().any(|word| base_name(&word.text) == base_name(name));
    let over = config.programs.iter().find(|one| started(&one.name))?;
    let program = over.program(config.catalog);
    let call = program.calls.iter().find(|call| gathers(program, call))?;
    let message = format!(
        "{} line {} calls get_state_dict, but {said}; Accelerate raises `Cannot get 16bit model weights` and \
         nothing is saved",
        over.name, call.line
    );
    let fix = match key {
        "deepspeed_config_file" => "Set \"stage3_gather_16bit_weights_on_model_save\": true in that file",
        _ => "Set `zero3_save_16bit_model: true`",
    };
    let line = config.line(&["deepspeed_config", key]);
    Some(Found::error(line, message, fix).unless_certain(!call.conditional))
}

/// The key because of which ZeRO-3 gathers no weights, and how to say it.
fn not_gathered(config: &AccelerateConfig) -> Option<(&'static str, String)> {
    let section = config.root.get("deepspeed_config")?;
    let Some(file) = section.get("deepspeed_config_file").and_then(|value| value.as_str()) else {
        let stage = section.get("zero_stage").and_then(serde_yaml::Value::as_u64);
        let off = section.get("zero3_save_16bit_model").and_then(serde_yaml::Value::as_bool) == Some(false);
        let said = "zero3_save_16bit_model is false".to_owned();
        return (stage == Some(3) && off).then_some(("zero3_save_16bit_model", said));
    };
    let over = config.deepspeed.as_ref().filter(|over| base_name(&over.name) == base_name(file))?;
    let json = Json::read(&over.text);
    let third =
        json.number("zero_optimization.stage").is_some_and(|stage| (stage - 3.0).abs() < f64::EPSILON);
    let said = format!("{file} does not set stage3_gather_16bit_weights_on_model_save to true");
    (third && !gathers_weights(&json)).then_some(("deepspeed_config_file", said))
}

/// Whether a call takes the whole model from an Accelerator.
fn gathers(program: &Program, call: &Call) -> bool {
    let Some(receiver) = call.name.strip_suffix(".get_state_dict") else {
        return false;
    };
    let made = |text: &str| text.starts_with("Accelerator(") || text.starts_with("accelerate.Accelerator(");
    program.assignments.iter().any(|one| one.name == receiver && made(&one.text))
}
