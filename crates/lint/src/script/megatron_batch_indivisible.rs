//! A global batch that the data-parallel ranks of Megatron cannot share out.

use crate::read::dockerfile::expand::expand;
use crate::read::launch::{Launch, Launches};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "megatron-batch-indivisible",
    severity: Severity::Error,
    summary: "Megatron's global batch is a multiple of its micro-batches on all data-parallel ranks",
    explain: include_str!("megatron_batch_indivisible.md"),
    judge: Judge::Launch(judge),
    fires: &[
        named(
            "run.sh",
            "TP=4\nPP=2\ntorchrun --nnodes=4 --nproc_per_node=8 --node_rank=$R --master_addr=$M \
             pretrain_gpt.py \
             --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP --micro-batch-size 2 \
             --global-batch-size 500\n",
        ),
        named(
            "run.sh",
            "torchrun --standalone --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size=2 \
             --micro-batch-size=3 --global-batch-size=64\n",
        ),
        named(
            "run.sh",
            "GPUS=8\nMODEL=(\n  --tensor-model-parallel-size 2\n  --num-layers 24 # small\n)\nBATCH=(\n  \
             --micro-batch-size 3\n)\nBATCH+=(--global-batch-size 64)\ntorchrun --standalone \
             --nproc_per_node $GPUS pretrain_gpt.py \"${MODEL[@]}\" \"${BATCH[@]}\"\n",
        ),
        named(
            "run.sh",
            "DISTRIBUTED_ARGS=\"--standalone --nproc_per_node 8\"\nBATCH_ARGS=\"--micro-batch-size 4\"\n\
             BATCH_ARGS+=\" --global-batch-size 100\"\ntorchrun $DISTRIBUTED_ARGS pretrain_gpt.py \
             $BATCH_ARGS\n",
        ),
    ],
    silent: &[
        named(
            "run.sh",
            "GPUS=8\nBATCH=(\n  --micro-batch-size 3\n  --global-batch-size 96\n)\ntorchrun --standalone \
             --nproc_per_node $GPUS pretrain_gpt.py --tensor-model-parallel-size 2 \"${BATCH[@]}\"\n",
        ),
        named(
            "run.sh",
            "BATCH=(--micro-batch-size 3 --global-batch-size 64)\nif [ -n \"$RAMP\" ]; then\n  \
             BATCH+=(--rampup-batch-size 24 24 1000)\nfi\ntorchrun --standalone --nproc_per_node 8 \
             pretrain_gpt.py \"${BATCH[@]}\"\n",
        ),
        named(
            "run.sh",
            "torchrun --standalone --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size=2 \
             --micro-batch-size=4 --global-batch-size=64\n",
        ),
        named(
            "run.sh",
            "torchrun --standalone --nproc_per_node 8 pretrain_gpt.py $MODEL_ARGS --micro-batch-size=3 \
             --global-batch-size=64\n",
        ),
        named(
            "run.sh",
            "torchrun --standalone --nproc_per_node 8 pretrain_gpt.py --micro-batch-size=3 \
             --global-batch-size=64 \
             --rampup-batch-size 24 24 1000\n",
        ),
    ],
};

fn judge(launches: &Launches) -> Vec<Found> {
    launches.launches.iter().filter(|launch| launch.launcher.is_torch()).filter_map(indivisible).collect()
}

fn indivisible(launch: &Launch) -> Option<Found> {
    let mut words = Vec::new();
    for word in &launch.words {
        let text = match word.known {
            true => word.text.clone(),
            false => expand(&word.text, &launch.variables).text,
        };
        // What it holds may be other options.
        if text.starts_with('$') && (text.contains('@') || text.contains("ARG") || text.contains("OPT")) {
            return None;
        }
        words.extend(text.split(['=', ' ']).map(str::to_owned));
    }
    if words.iter().any(|word| word.contains("rampup-batch-size") || word.contains("sequence-parallel-size"))
    {
        return None;
    }
    let value = |name: &str| {
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1)?.parse::<u64>().ok().filter(|count| *count > 0)
    };
    let or_one = |name: &str| match words.iter().any(|word| word == name) {
        true => value(name),
        false => Some(1),
    };
    let (all, each) = (value("--global-batch-size")?, value("--micro-batch-size")?);
    let (tensor, pipeline) =
        (or_one("--tensor-model-parallel-size")?, or_one("--pipeline-model-parallel-size")?);
    let context = or_one("--context-parallel-size")?;
    let world = launch.ranks()?;
    let model = tensor.checked_mul(pipeline)?.checked_mul(context)?;
    let data = world.checked_div(model).filter(|data| *data > 0 && world % model == 0)?;
    let message = format!(
        "--global-batch-size {all} is not a multiple of {}: micro-batches of {each} on {data} data-parallel \
         ranks ({world} GPUs in groups of {model}); Megatron stops with an AssertionError",
        each.checked_mul(data)?
    );
    let unit = each * data;
    let fix = format!("Write `--global-batch-size {}`", (all / unit).max(1) * unit);
    (all % unit != 0).then(|| Found::error(launch.line, message, fix).unless_certain(launch.certain))
}
