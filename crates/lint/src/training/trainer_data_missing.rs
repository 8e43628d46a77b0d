//! A Trainer without the data that its arguments ask for.

use crate::read::python::{Call, Program, number, string};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "trainer-data-missing",
    severity: Severity::Error,
    summary: "Trainer has the datasets and the steps that its arguments need",
    explain: include_str!("trainer_data_missing.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "from transformers import Trainer, TrainingArguments\nargs = TrainingArguments(\"out\", \
             eval_strategy=\"epoch\")\ntrainer = Trainer(model=model, args=args, train_dataset=data)\n",
        ),
        named(
            "train.py",
            "from datasets import load_dataset\nfrom transformers import Trainer, TrainingArguments\n\
             data = load_dataset(\"c4\", \"en\", split=\"train\", streaming=True)\n\
             args = TrainingArguments(\"out\", num_train_epochs=1)\n\
             Trainer(model=model, args=args, train_dataset=data).train()\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "from transformers import Trainer, TrainingArguments\nargs = TrainingArguments(\"out\", \
             eval_strategy=\"epoch\")\ntrainer = Trainer(model=model, args=args, train_dataset=data, \
             eval_dataset=val)\n\
             other = Trainer(model=model, args=args, **data)\n",
        ),
        named(
            "train.py",
            "from datasets import load_dataset\nfrom transformers import Trainer, TrainingArguments\n\
             data = load_dataset(\"c4\", \"en\", split=\"train\", streaming=True)\n\
             args = TrainingArguments(\"out\", max_steps=1000)\n\
             Trainer(model=model, args=args, train_dataset=data).train()\n",
        ),
        named(
            "train.py",
            "from transformers import Trainer, TrainingArguments\nclass Mine(Trainer):\n    pass\n\
             args = TrainingArguments(\"out\", eval_strategy=\"no\")\n\
             trainer = Trainer(model=model, args=args, train_dataset=data)\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let trainers = program
        .calls
        .iter()
        .filter(|call| call.name == "transformers.Trainer" && call.keyword("*").is_none());
    trainers.flat_map(|call| faults(program, call)).collect()
}

fn faults(program: &Program, call: &Call) -> Vec<Found> {
    let args = call.argument(1, "args").and_then(|one| {
        program
            .call_at(&one.at)
            .or_else(|| program.call_at(&program.certain_value(&one.text, &call.function, call.at.start)?.at))
    });
    let Some(args) =
        args.filter(|args| args.name == "transformers.TrainingArguments" && args.keyword("*").is_none())
    else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let strategy = args.keyword("eval_strategy").or_else(|| args.keyword("evaluation_strategy"));
    let evaluates =
        strategy.and_then(|one| string(&one.text)).is_some_and(|name| matches!(name, "steps" | "epoch"));
    let plain = call.arguments.iter().filter(|one| one.name.is_none()).count();
    if evaluates && call.keyword("eval_dataset").is_none() && plain < 5 {
        let message =
            "Trainer has no eval_dataset, but eval_strategy asks for evaluations; it raises ValueError";
        found.push(Found::error(call.line, message, "Pass eval_dataset, or set eval_strategy=\"no\""));
    }
    let data = call.keyword("train_dataset");
    let streams = data.is_some_and(|one| {
        let set = program.certain_value(&one.text, &call.function, call.at.start);
        set.and_then(|set| program.call_at(&set.at)).is_some_and(|made| {
            made.name == "datasets.load_dataset"
                && made.keyword("streaming").is_some_and(|one| one.text == "True")
        })
    });
    let steps = args.keyword("max_steps").map(|one| number(&one.text));
    if streams && steps.is_none_or(|steps| steps == Some(-1.0)) {
        let message = "train_dataset is streamed and has no length, and max_steps is not set; Trainer \
         raises ValueError";
        found.push(Found::error(call.line, message, "Set max_steps in TrainingArguments"));
    }
    found
}
