//! Training of a model whose weights are quantized, without an adapter.

use crate::read::python::{Call, Program};
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "quantized-model-trained",
    severity: Severity::Error,
    summary: "a Trainer gets a quantized model with adapters",
    explain: include_str!("quantized_model_trained.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, \
             TrainingArguments\nbnb = \
             BitsAndBytesConfig(load_in_4bit=True)\nmodel = AutoModelForCausalLM.from_pretrained(\"a/b\", \
             quantization_config=bnb)\nTrainer(model=model, args=TrainingArguments(\"out\"), \
             train_dataset=ds).train()\n",
        ),
        named(
            "train.py",
            "from transformers import AutoModelForCausalLM, Trainer\n\ndef build():\n    return \
             AutoModelForCausalLM.from_pretrained(\"a/b\", load_in_8bit=True)\n\nmodel = build()\ntrainer = \
             Trainer(model, args, train_dataset=ds)\ntrainer.train()\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "from peft import LoraConfig, get_peft_model\nfrom transformers import AutoModelForCausalLM, \
             BitsAndBytesConfig, Trainer\nmodel = AutoModelForCausalLM.from_pretrained(\"a/b\", \
             quantization_config=BitsAndBytesConfig(load_in_4bit=True))\nmodel = get_peft_model(model, \
             LoraConfig())\ntrainer = Trainer(model=model, train_dataset=ds)\ntrainer.train()\n",
        ),
        named_with(
            "train.py",
            "from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer\nfrom lora import \
             attach\n\
             model = AutoModelForCausalLM.from_pretrained(\"a/b\", \
             quantization_config=BitsAndBytesConfig(load_in_4bit=True))\nattach(model)\ntrainer = \
             Trainer(model=model, train_dataset=ds)\ntrainer.train()\n",
            &[],
        ),
        named(
            "train.py",
            "from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer\nmodel = \
             AutoModelForCausalLM.from_pretrained(\"a/b\", \
             quantization_config=BitsAndBytesConfig(load_in_4bit=\
             True))\ntrainer = Trainer(model=model, eval_dataset=ds)\nprint(trainer.evaluate())\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let adapts = ["peft", "add_adapter", "load_adapter", "lora", "Lora", "LoRA"];
    let trains = program.calls.iter().any(|call| call.name.ends_with(".train"));
    if adapts.iter().any(|word| program.text.contains(word)) || !trains {
        return Vec::new();
    }
    let trainers = program
        .calls
        .iter()
        .filter(|call| call.name.starts_with("transformers.") && call.name.ends_with("Trainer"));
    trainers.filter_map(|trainer| fault(program, trainer)).take(1).collect()
}

fn fault(program: &Program, trainer: &Call) -> Option<Found> {
    let model = trainer.argument(0, "model")?;
    trainer.keyword("train_dataset")?;
    let made = program.origin_call(&model.at, &trainer.function)?;
    if !made.name.ends_with(".from_pretrained") {
        return None;
    }
    // Another function may attach what is trained.
    let handed = program.calls.iter().any(|call| {
        let given = call.arguments.iter().any(|one| one.text == model.text);
        given && call.at != trainer.at && call.name != "print"
    });
    let how = ["load_in_4bit", "load_in_8bit"].into_iter().find(|name| {
        let is_true = |call: &Call| call.keyword(name).is_some_and(|one| one.text == "True");
        let config = made.keyword("quantization_config");
        let config = config.and_then(|one| program.origin_call(&one.at, &made.function));
        is_true(made)
            || config.is_some_and(|config| config.name.ends_with("BitsAndBytesConfig") && is_true(config))
    })?;
    let message = format!(
        "the model is loaded with {how} (line {}) and gets no adapter; Trainer raises `You cannot perform \
         fine-tuning on purely quantized models`",
        made.line
    );
    let fix = "Attach an adapter: `get_peft_model(prepare_model_for_kbit_training(model), LoraConfig(…))`";
    (!handed).then(|| Found::error(trainer.line, message, fix))
}
