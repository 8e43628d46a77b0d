//! Arguments of transformers' TrainingArguments that exclude each other.

use crate::read::python::{Argument, Call, Program, number};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "training-arguments-contradict",
    severity: Severity::Error,
    summary: "the arguments of TrainingArguments fit together",
    explain: include_str!("training_arguments_contradict.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "from transformers import TrainingArguments\nargs = TrainingArguments(\n    \
             output_dir=\"out\",\n    \
             fp16=True,\n    bf16=True,\n)\n",
        ),
        named(
            "train.py",
            "from transformers import Seq2SeqTrainingArguments\nargs = Seq2SeqTrainingArguments(\"out\", \
             save_strategy=\"epoch\", load_best_model_at_end=True)\n",
        ),
        named(
            "train.py",
            "import transformers\nargs = transformers.TrainingArguments(\"out\", eval_strategy=\"steps\", \
             eval_steps=200, save_steps=500, load_best_model_at_end=True)\n",
        ),
        named(
            "train.py",
            "from trl import SFTConfig\nfrom transformers import TrainingArguments\n\
             a = SFTConfig(\"out\", bf16=True, fp16=True)\n\
             b = TrainingArguments(\"out\", dataloader_prefetch_factor=2)\n",
        ),
        named(
            "train.py",
            "from transformers import TrainingArguments\nargs = TrainingArguments(\"out\", \
             lr_scheduler_type=\"reduce_lr_on_plateau\", fsdp=\"offload\")\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch\nfrom transformers import TrainingArguments\nbf16 = \
             torch.cuda.is_bf16_supported()\n\
             args = TrainingArguments(\"out\", fp16=not bf16, bf16=bf16, eval_strategy=\"steps\", \
             eval_steps=100, save_steps=500, save_strategy=\"steps\", load_best_model_at_end=True)\n",
        ),
        named(
            "train.py",
            "from transformers import TrainingArguments\nargs = TrainingArguments(\"out\", \
             evaluation_strategy=\"epoch\", save_strategy=\"epoch\", load_best_model_at_end=True, \
             fp16=False, bf16=True, dataloader_num_workers=4, dataloader_prefetch_factor=2)\n\
             more = TrainingArguments(**options, load_best_model_at_end=True)\n",
        ),
        named(
            "train.py",
            "from transformers import TrainingArguments\nargs = TrainingArguments(\"out\", \
             eval_strategy=\"steps\", eval_steps=200, save_strategy=\"best\", load_best_model_at_end=True)\n",
        ),
        named("train.py", "from mine import TrainingArguments\nTrainingArguments(fp16=True, bf16=True)\n"),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let calls = program.calls.iter().filter(|call| is_arguments(&call.name));
    calls.flat_map(|call| faults(&Given { call, defaults: !call.name.starts_with("trl.") })).collect()
}

/// transformers' own arguments, and the classes of TRL that inherit from them.
fn is_arguments(name: &str) -> bool {
    const OF_TRL: &[&str] =
        &["SFTConfig", "DPOConfig", "GRPOConfig", "KTOConfig", "ORPOConfig", "CPOConfig", "RewardConfig"];
    let (module, last) = name.rsplit_once('.').unwrap_or_default();
    match module.split('.').next() {
        Some("transformers") => matches!(last, "TrainingArguments" | "Seq2SeqTrainingArguments"),
        Some("trl") => OF_TRL.contains(&last),
        _ => false,
    }
}

/// What a call gives.
struct Given<'c> {
    call: &'c Call,
    /// Whether what it leaves out has the defaults of TrainingArguments.
    defaults: bool,
}

impl Given<'_> {
    fn is(&self, name: &str, value: &str) -> Option<&Argument> {
        self.call.keyword(name).filter(|one| one.text == value)
    }

    /// A text, or the last name of a member of an enum: `IntervalStrategy.EPOCH`. None where it is only known
    /// in the run.
    fn text(&self, names: &[&str], default: &str) -> Option<String> {
        let Some(given) = names.iter().find_map(|name| self.call.keyword(name)) else {
            return self.defaults.then(|| default.to_owned());
        };
        let quoted = given.text.strip_prefix(['"', '\'']).and_then(|text| text.strip_suffix(['"', '\'']));
        let member = given.text.rsplit_once('.').filter(|(class, _)| class.ends_with("Strategy"));
        quoted.map(str::to_owned).or_else(|| member.map(|(_, last)| last.to_ascii_lowercase()))
    }

    fn number(&self, name: &str, default: f64) -> Option<f64> {
        self.call.keyword(name).map_or(self.defaults.then_some(default), |one| number(&one.text))
    }
}

/// Every `ValueError` that the arguments certainly raise; the line is that of the later argument.
fn faults(given: &Given<'_>) -> Vec<Found> {
    // `**options` may set the rest.
    let whole = !given.call.arguments.iter().any(|one| one.name.as_deref() == Some("*"));
    let mut found = Vec::new();
    for (one, other) in [("fp16", "bf16"), ("fp16_full_eval", "bf16_full_eval")] {
        if let (Some(first), Some(second)) = (given.is(one, "True"), given.is(other, "True")) {
            let message = format!("{one} and {other} are both True; TrainingArguments raises ValueError");
            let fix = format!("Keep one of them: {other} on Ampere and newer GPUs, {one} on older ones");
            found.push(Found::error(first.line.max(second.line), message, fix));
        }
    }
    if whole {
        found.extend(best_model(given));
        found.extend(scheduler(given));
        found.extend(prefetch(given));
    }
    found.extend(fsdp(given));
    found
}

/// `load_best_model_at_end` without an evaluation for each checkpoint.
fn best_model(given: &Given<'_>) -> Option<Found> {
    let asked = given.is("load_best_model_at_end", "True")?;
    let eval = given.text(&["eval_strategy", "evaluation_strategy"], "no")?;
    let save = given.text(&["save_strategy"], "steps")?;
    if save == "best" {
        return None;
    }
    if eval != save {
        let message = format!(
            "load_best_model_at_end requires eval_strategy and save_strategy to match, but they are \
             \"{eval}\" \
             and \"{save}\"; TrainingArguments raises ValueError"
        );
        return Some(Found::error(
            asked.line,
            message,
            format!("Set both to the same: \"{}\"", better(&eval, &save)),
        ));
    }
    if eval != "steps" {
        return None;
    }
    // Without steps of their own both have the default of 500.
    let logging = given.number("logging_steps", 500.0)?;
    let eval = given.number("eval_steps", logging)?;
    let save = given.number("save_steps", 500.0)?;
    if eval < 1.0 || save < 1.0 || (save / eval).fract() == 0.0 {
        return None;
    }
    let message = format!(
        "load_best_model_at_end requires save_steps ({save}) to be a multiple of eval_steps ({eval}); \
         TrainingArguments raises ValueError"
    );
    let line = ["save_steps", "eval_steps"].iter().find_map(|name| given.call.keyword(name));
    let fix = format!("Set save_steps to a multiple of {eval}");
    Some(Found::error(line.unwrap_or(asked).line, message, fix))
}

/// The strategy of the two that is one.
fn better<'t>(eval: &'t str, save: &'t str) -> &'t str {
    if eval == "no" { save } else { eval }
}

fn scheduler(given: &Given<'_>) -> Option<Found> {
    let asked = given.call.keyword("lr_scheduler_type")?;
    let name = given.text(&["lr_scheduler_type"], "linear")?;
    let eval = given.text(&["eval_strategy", "evaluation_strategy"], "no")?;
    let message = format!(
        "lr_scheduler_type {name} requires an evaluation, but eval_strategy is \"no\"; TrainingArguments \
         raises \
         ValueError"
    );
    let fix = "Set eval_strategy=\"epoch\" or \"steps\"";
    (name == "reduce_lr_on_plateau" && eval == "no").then(|| Found::error(asked.line, message, fix))
}

fn prefetch(given: &Given<'_>) -> Option<Found> {
    let asked = given.call.keyword("dataloader_prefetch_factor").filter(|one| number(&one.text).is_some())?;
    let workers = given.number("dataloader_num_workers", 0.0)?;
    let message = "dataloader_prefetch_factor is set without workers; TrainingArguments raises ValueError";
    let fix = "Set dataloader_num_workers, or remove dataloader_prefetch_factor";
    (workers == 0.0).then(|| Found::error(asked.line, message, fix))
}

fn fsdp(given: &Given<'_>) -> Option<Found> {
    let asked = given.call.keyword("fsdp")?;
    let options = asked.text.strip_prefix(['"', '\''])?.strip_suffix(['"', '\''])?;
    let has = |name: &str| options.split_whitespace().any(|one| one == name);
    let deepspeed = given.call.keyword("deepspeed").is_some_and(|one| one.text != "None");
    let (message, certain) = match options.trim() {
        // Release 5 no longer checks these two.
        "offload" => ("fsdp=\"offload\" names no sharding strategy; transformers 4 raises ValueError", false),
        _ if has("full_shard") && has("shard_grad_op") => {
            ("full_shard and shard_grad_op exclude each other; transformers 4 raises ValueError", false)
        }
        "" => return None,
        _ if deepspeed => ("fsdp and deepspeed exclude each other; Trainer raises ValueError", true),
        _ => return None,
    };
    let fix = "Keep one: fsdp=\"full_shard auto_wrap\", or deepspeed";
    Some(Found::error(asked.line, message, fix).unless_certain(certain))
}
