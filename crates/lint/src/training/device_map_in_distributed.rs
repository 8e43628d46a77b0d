//! A model that is spread over all GPUs of a process, in a training with several processes.

use crate::read::launch::Launches;
use crate::read::python::{Program, string};
use crate::rule::{Found, Judge, Rule, Severity, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "device-map-in-distributed",
    severity: Severity::Error,
    summary: "a model for distributed training is not loaded with device_map=\"auto\"",
    explain: include_str!("device_map_in_distributed.md"),
    judge: Judge::Training(judge),
    fires: &[
        named_with(
            "train.py",
            "from transformers import AutoModelForCausalLM, Trainer\n\
             model = AutoModelForCausalLM.from_pretrained(\"gpt2\", device_map=\"auto\")\n\
             Trainer(model=model, train_dataset=data).train()\n",
            &[("run.sh", "torchrun --standalone --nproc_per_node=4 train.py\n")],
        ),
        named_with(
            "train.py",
            "from accelerate import Accelerator\nfrom transformers import AutoModelForCausalLM\n\
             accelerator = Accelerator()\n\
             model = AutoModelForCausalLM.from_pretrained(\"gpt2\", device_map='balanced')\n\
             model = accelerator.prepare(model)\n",
            &[("run.sh", "accelerate launch --num_processes 8 train.py\n")],
        ),
    ],
    silent: &[
        named_with(
            "train.py",
            "from transformers import AutoModelForCausalLM, Trainer\n\
             model = AutoModelForCausalLM.from_pretrained(\"gpt2\", device_map=\"auto\")\n\
             Trainer(model=model, train_dataset=data).train()\n",
            &[("run.sh", "python train.py\n")],
        ),
        named_with(
            "infer.py",
            "from transformers import AutoModelForCausalLM\n\
             model = AutoModelForCausalLM.from_pretrained(\"gpt2\", \
             device_map=\"auto\")\nmodel.generate(x)\n",
            &[("run.sh", "torchrun --standalone --nproc_per_node=4 infer.py\n")],
        ),
        named_with(
            "train.py",
            "from transformers import AutoModelForCausalLM, Trainer\n\
             model = AutoModelForCausalLM.from_pretrained(\"gpt2\", device_map={\"\": rank})\n\
             Trainer(model=model, train_dataset=data).train()\n",
            &[("run.sh", "torchrun --standalone --nproc_per_node=4 train.py\n")],
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let trains = program.calls.iter().any(|call| {
        let last = call.name.rsplit('.').next().unwrap_or_default();
        let library = call.name.starts_with("transformers.") || call.name.starts_with("trl.");
        library && last.ends_with("Trainer") || call.name.ends_with("accelerator.prepare")
    });
    let loads = program.calls.iter().find_map(|call| {
        let given = call.keyword("device_map").filter(|_| call.name.ends_with(".from_pretrained"))?;
        let spread = matches!(string(&given.text)?, "auto" | "balanced" | "balanced_low_0" | "sequential");
        (spread && !call.conditional).then_some(given)
    });
    let Some(given) = loads.filter(|_| trains) else { return Vec::new() };
    let base = program.name.rsplit('/').next().unwrap_or_default();
    let started = program.scripts.iter().find_map(|script| {
        let launches = Launches::of_script(script.script(program.catalog)).launches;
        let launch = launches
            .into_iter()
            .find(|launch| launch.words.iter().any(|word| word.text.rsplit('/').next() == Some(base)))?;
        let ranks = launch.ranks();
        (ranks != Some(1)).then(|| (script.name.clone(), launch.line, ranks.is_some() && launch.certain))
    });
    let Some((script, line, certain)) = started else { return Vec::new() };
    let message = format!(
        "device_map={} spreads the model over the GPUs of each process, but line {line} of {script} starts \
         several \
         processes; accelerate raises `You can't train a model that has been loaded with device_map='auto' \
         in any \
         distributed mode`",
        given.text
    );
    let fix = "Leave device_map out, or write `device_map={\"\": int(os.environ[\"LOCAL_RANK\"])}`";
    vec![Found::error(given.line, message, fix).unless_certain(certain)]
}
