//! Gradients in half precision that a scaler refuses.

use crate::read::python::{Call, Program};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "half-weights-scaled",
    severity: Severity::Error,
    summary: "weights that a gradient scaler trains are in single precision",
    explain: include_str!("half_weights_scaled.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch\nfrom transformers import AutoModelForCausalLM, Trainer, \
             TrainingArguments\nmodel = \
             AutoModelForCausalLM.from_pretrained(\"a/b\", torch_dtype=torch.float16)\nargs = \
             TrainingArguments(output_dir=\"o\", fp16=True)\ntrainer = Trainer(model=model, args=args, \
             train_dataset=data)\ntrainer.train()\n",
        ),
        named(
            "train.py",
            "import torch\nmodel = Net().cuda().half()\nopt = torch.optim.Adam(model.parameters())\nscaler = \
             torch.cuda.amp.GradScaler()\nfor x in loader:\n    loss = model(x).sum()\n    \
             scaler.scale(loss).backward()\n    scaler.step(opt)\n    scaler.update()\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch\nfrom transformers import AutoModelForCausalLM, Trainer, \
             TrainingArguments\nmodel = \
             AutoModelForCausalLM.from_pretrained(\"a/b\", torch_dtype=torch.bfloat16)\nargs = \
             TrainingArguments(output_dir=\"o\", bf16=True)\ntrainer = Trainer(model=model, args=args, \
             train_dataset=data)\ntrainer.train()\n",
        ),
        named(
            "train.py",
            "import torch\nfrom peft import LoraConfig, get_peft_model\nfrom transformers import \
             AutoModelForCausalLM, Trainer, TrainingArguments\nmodel = \
             AutoModelForCausalLM.from_pretrained(\"a/b\", torch_dtype=torch.float16)\nmodel = \
             get_peft_model(model, LoraConfig())\nargs = TrainingArguments(output_dir=\"o\", \
             fp16=True)\nTrainer(model=model, args=args, train_dataset=data).train()\n",
        ),
        named(
            "train.py",
            "import torch\nmodel = Net().cuda()\nteacher = Net().cuda().half()\nopt = \
             torch.optim.Adam(model.parameters())\nscaler = torch.cuda.amp.GradScaler()\nfor x in \
             loader:\n    \
             scaler.scale(model(x).sum()).backward()\n    scaler.step(opt)\n    scaler.update()\n",
        ),
    ],
};

const ANSWER: &str = "`ValueError: Attempting to unscale FP16 gradients.`";

fn judge(program: &Program) -> Vec<Found> {
    // Weights of adapters are others than those that are loaded.
    let adapted = ["peft", "quantization_config", "load_in_", "deepspeed"]
        .iter()
        .any(|word| program.text.contains(word));
    if adapted {
        return Vec::new();
    }
    of_trainer(program).or_else(|| of_scaler(program)).into_iter().collect()
}

/// A model loaded in half precision, for a Trainer with fp16.
fn of_trainer(program: &Program) -> Option<Found> {
    let arguments = program.calls.iter().find(|call| {
        let known = call.name.ends_with("TrainingArguments") || call.name.ends_with("SFTConfig");
        known && call.keyword("fp16").is_some_and(|one| one.text == "True")
    })?;
    let loads: Vec<&Call> =
        program.calls.iter().filter(|call| call.name.ends_with(".from_pretrained")).collect();
    let of_models =
        loads.iter().filter(|call| call.name.contains("ModelFor") || call.name.contains("AutoModel"));
    let mut of_models = of_models.map(|call| (call, dtype(call)));
    let (model, half) = of_models.next().filter(|_| of_models.next().is_none())?;
    let trains = program.calls.iter().any(|call| call.name.ends_with(".train") && call.arguments.len() < 2);
    let fp16 = arguments.keyword("fp16")?.line;
    let message = format!(
        "fp16=True (line {fp16}) trains with a gradient scaler, and the weights are loaded in half \
         precision: {ANSWER}"
    );
    let fix = "Load the weights in float32 (remove the dtype), or use bf16=True with bfloat16";
    (half && trains).then(|| Found::error(model.line, message, fix))
}

fn dtype(call: &Call) -> bool {
    ["torch_dtype", "dtype"].iter().any(|key| {
        call.keyword(key).is_some_and(|one| {
            matches!(one.text.trim_matches(['"', '\'']), "torch.float16" | "torch.half" | "float16")
        })
    })
}

/// A model made half, whose parameters the optimizer of a scaler has.
fn of_scaler(program: &Program) -> Option<Found> {
    let made = program.assignments.iter().find(|one| {
        let call = program.call_at(&one.at).filter(|call| call.name.ends_with("GradScaler"));
        call.is_some_and(|call| call.keyword("enabled").is_none())
    })?;
    let steps = program.calls.iter().any(|call| call.name == format!("{}.step", made.name));
    let optimizer = program.calls.iter().find(|call| call.name.starts_with("torch.optim."))?;
    let given = optimizer.argument(0, "params")?.text.clone();
    let model = given.strip_suffix(".parameters()")?;
    let mut sets =
        program.assignments.iter().filter(|one| one.name == model && one.at.start < optimizer.at.start);
    let set = sets.next_back()?;
    let half = set.text.ends_with(".half()") || set.text.ends_with(".to(torch.float16)");
    let alone = program.statements.iter().any(|one| one.text == format!("{model}.half()"));
    let message =
        format!("{model} is in half precision, and {} trains it with a gradient scaler: {ANSWER}", made.name);
    let fix = "Leave the weights in float32; autocast computes in half precision";
    (steps && (half || alone)).then(|| Found::error(set.line, message, fix))
}
