//! A model in 8 bits that is moved, and both widths at once.

use crate::read::python::{Argument, Program, names};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "quantized-model-moved",
    severity: Severity::Error,
    summary: "a quantized model has one width and stays where it was loaded",
    explain: include_str!("quantized_model_moved.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "from transformers import AutoModelForCausalLM, BitsAndBytesConfig\n\
             config = BitsAndBytesConfig(load_in_8bit=True)\n\
             model = AutoModelForCausalLM.from_pretrained(\"gpt2\", quantization_config=config)\n\
             model = model.to(\"cuda\")\n",
        ),
        named(
            "train.py",
            "from transformers import BitsAndBytesConfig\n\
             config = BitsAndBytesConfig(load_in_4bit=True, load_in_8bit=True)\n",
        ),
        named(
            "train.py",
            "from transformers import AutoModelForCausalLM\n\
             model = AutoModelForCausalLM.from_pretrained(\"gpt2\", load_in_8bit=True).cuda()\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "from transformers import AutoModelForCausalLM, BitsAndBytesConfig\n\
             config = BitsAndBytesConfig(load_in_4bit=True)\n\
             model = AutoModelForCausalLM.from_pretrained(\"gpt2\", quantization_config=config)\n\
             model.to(\"cuda\")\n",
        ),
        named(
            "train.py",
            "from transformers import AutoModelForCausalLM, BitsAndBytesConfig\n\
             config = BitsAndBytesConfig(load_in_8bit=True)\n\
             model = AutoModelForCausalLM.from_pretrained(\"gpt2\", quantization_config=config)\n\
             x = x.to(\"cuda\")\nmodel = build()\nmodel.to(\"cuda\")\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let is_true = |one: Option<&Argument>| one.is_some_and(|one| one.text == "True");
    let mut found = Vec::new();
    for call in &program.calls {
        let both = is_true(call.keyword("load_in_4bit")) && is_true(call.keyword("load_in_8bit"));
        if both && (call.name.ends_with("BitsAndBytesConfig") || call.name.ends_with(".from_pretrained")) {
            let message = "load_in_4bit and load_in_8bit are both True; transformers raises ValueError";
            found.push(Found::error(call.line, message, "Keep one of them"));
        }
    }
    let models = program.calls.iter().filter(|call| {
        let config = call.keyword("quantization_config").and_then(|one| {
            let made = program.call_at(&one.at);
            made.or_else(|| {
                program.call_at(&program.certain_value(&one.text, &call.function, call.at.start)?.at)
            })
        });
        let in_8bit = is_true(call.keyword("load_in_8bit"))
            || config.is_some_and(|config| {
                config.name.ends_with("BitsAndBytesConfig") && is_true(config.keyword("load_in_8bit"))
            });
        call.name.ends_with(".from_pretrained") && in_8bit
    });
    for model in models {
        let set = program.assignments.iter().find(|one| one.at == model.at);
        let moved = program.calls.iter().find(|call| {
            let last = call.name.rsplit('.').next().unwrap_or_default();
            if !matches!(last, "to" | "cuda") || call.conditional {
                return false;
            }
            // `from_pretrained(…).cuda()`.
            if call.at.start == model.at.start && call.at.end > model.at.end {
                return true;
            }
            let own = set.is_some_and(|set| call.name == format!("{}.{last}", set.name));
            let again = set.is_some_and(|set| {
                program.assignments.iter().any(|one| {
                    let behind = one.at.start > set.at.end && one.at.end < call.at.start;
                    behind && names(&one.name).any(|name| name == set.name)
                })
            });
            own && call.function == model.function && call.at.start > model.at.end && !again
        });
        if let Some(moved) = moved {
            let message = format!(
                "a model in 8 bits (line {}) cannot be moved; transformers raises `.{} is not supported for \
                 8-bit`",
                model.line,
                moved.name.rsplit('.').next().unwrap_or_default()
            );
            found.push(Found::error(
                moved.line,
                message,
                "Remove the call: device_map puts it on the GPU when it is loaded",
            ));
        }
    }
    found
}
