//! Batch sizes of DeepSpeed that no number of GPUs, or not this one, satisfies.

use crate::read::config::Config;
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "deepspeed-batch-mismatch",
    severity: Severity::Error,
    summary: "train_batch_size equals micro batch size × accumulation steps × ranks",
    explain: include_str!("deepspeed_batch_mismatch.md"),
    judge: Judge::Deepspeed(judge),
    fires: &[
        named_with(
            "zero.json",
            "{\n  \"train_batch_size\": 96,\n  \"train_micro_batch_size_per_gpu\": 8,\n  \
             \"gradient_accumulation_steps\": 2\n}\n",
            &[("go.sh", "export CUDA_VISIBLE_DEVICES=2,3\ndeepspeed fit.py --deepspeed_config zero.json\n")],
        ),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": 100,\n  \"train_micro_batch_size_per_gpu\": 8,\n  \
             \"gradient_accumulation_steps\": 2\n}\n",
        ),
        named_with(
            "ds_config.json",
            "{\n  \"train_batch_size\": 64,\n  \"train_micro_batch_size_per_gpu\": 4,\n  \
             \"gradient_accumulation_steps\": 1\n}\n",
            &[("hostfile", "node1 slots=4\nnode2 slots=4\n")],
        ),
        named_with(
            "ds_config.json",
            "{\n  \"train_batch_size\": 64,\n  \"train_micro_batch_size_per_gpu\": 4,\n  \
             \"gradient_accumulation_steps\": 1\n}\n",
            &[
                ("hostfile", "node1 slots=4\nnode2 slots=4\n"),
                ("run.sh", "deepspeed --hostfile ./hostfile train.py --deepspeed_config ds_config.json\n"),
            ],
        ),
    ],
    silent: &[
        // The default of the shell may be another one.
        named_with(
            "zero.json",
            "{\n  \"train_batch_size\": 96,\n  \"train_micro_batch_size_per_gpu\": 8,\n  \
             \"gradient_accumulation_steps\": 2\n}\n",
            &[(
                "go.sh",
                "export CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-0,1}\ndeepspeed fit.py \
                 --deepspeed_config \
                 zero.json\n",
            )],
        ),
        named_with(
            "ds_config.json",
            "{\n  \"train_batch_size\": 64,\n  \"train_micro_batch_size_per_gpu\": 4,\n  \
             \"gradient_accumulation_steps\": 2\n}\n",
            &[("hostfile", "node1 slots=4\nnode2 slots=4\n")],
        ),
        named(
            "ds_config.json",
            "{\n  \"train_batch_size\": \"auto\",\n  \"train_micro_batch_size_per_gpu\": 3\n}\n",
        ),
        named("ds_config.json", "{\n  \"train_batch_size\": 100\n}\n"),
        // Four of the eight slots.
        named_with(
            "ds_config.json",
            "{\n  \"train_batch_size\": 16,\n  \"train_micro_batch_size_per_gpu\": 4,\n  \
             \"gradient_accumulation_steps\": 1\n}\n",
            &[
                ("hostfile", "node1 slots=4\nnode2 slots=4\n"),
                ("run.sh", "deepspeed --include node1 train.py --deepspeed_config ds_config.json\n"),
            ],
        ),
        // Only the shell knows which slots.
        named_with(
            "ds_config.json",
            "{\n  \"train_batch_size\": 16,\n  \"train_micro_batch_size_per_gpu\": 4,\n  \
             \"gradient_accumulation_steps\": 1\n}\n",
            &[
                ("hostfile", "node1 slots=4\nnode2 slots=4\n"),
                ("run.sh", "deepspeed $DS_ARGS train.py --deepspeed_config ds_config.json\n"),
            ],
        ),
        // Another hostfile.
        named_with(
            "ds_config.json",
            "{\n  \"train_batch_size\": 16,\n  \"train_micro_batch_size_per_gpu\": 4,\n  \
             \"gradient_accumulation_steps\": 1\n}\n",
            &[
                ("hostfile", "node1 slots=4\nnode2 slots=4\n"),
                ("run.sh", "deepspeed --hostfile /job/hostfile train.py --deepspeed_config ds_config.json\n"),
            ],
        ),
        // torchrun reads no hostfile.
        named_with(
            "ds_config.json",
            "{\n  \"train_batch_size\": 16,\n  \"train_micro_batch_size_per_gpu\": 4,\n  \
             \"gradient_accumulation_steps\": 1\n}\n",
            &[
                ("hostfile", "node1 slots=4\nnode2 slots=4\n"),
                ("run.sh", "torchrun --nnodes 1 --nproc-per-node 4 train.py --deepspeed ds_config.json\n"),
            ],
        ),
        // The configuration is in the program.
        named_with(
            "ds_config.json",
            "{\n  \"train_batch_size\": 16,\n  \"train_micro_batch_size_per_gpu\": 4,\n  \
             \"gradient_accumulation_steps\": 1\n}\n",
            &[
                ("hostfile", "node1 slots=4\nnode2 slots=4\n"),
                ("run.sh", "deepspeed --include=node1 train.py\n"),
            ],
        ),
        // Two copies of a model in four stages.
        named_with(
            "ds_config.json",
            "{\n  \"train_batch_size\": 256,\n  \"train_micro_batch_size_per_gpu\": 4,\n  \
             \"gradient_accumulation_steps\": 32\n}\n",
            &[
                ("run.sh", "deepspeed --num_gpus 8 pipe.py --deepspeed_config ds_config.json\n"),
                ("pipe.py", "net = PipelineModule(layers=specs, num_stages=4)\n# ds_config.json\n"),
            ],
        ),
    ],
};

const TRAIN: &str = "train_batch_size";
const MICRO: &str = "train_micro_batch_size_per_gpu";
const STEPS: &str = "gradient_accumulation_steps";

fn judge(config: &Config) -> Vec<Found> {
    let json = &config.json;
    if config.template || json.broken.is_some() || json.is_true("elasticity.enabled") {
        return Vec::new();
    }
    let zero =
        [TRAIN, MICRO, STEPS].into_iter().find(|key| json.number(key).is_some_and(|number| number < 1.0));
    if let Some(key) = zero {
        return vec![Found::error(
            json.line(key),
            format!(
                "{key} must be at least 1; DeepSpeed refuses \
                 it"
            ),
            "",
        )];
    }
    let (train, micro, steps) = (config.whole(TRAIN), config.whole(MICRO), config.whole(STEPS));
    let left = |key: &str| json.get(key).is_some() && json.number(key).is_none();
    let (Some(train), Some(micro)) = (train, micro) else { return Vec::new() };
    if left(STEPS) {
        return Vec::new();
    }
    let each = micro.saturating_mul(steps.unwrap_or(1)).max(1);
    let parts = match steps {
        Some(steps) => format!("{micro} per GPU × {steps} accumulation steps"),
        None => format!("{micro} per GPU"),
    };
    let fix = format!("Remove {TRAIN}; DeepSpeed computes it");
    if train % each != 0 {
        let message = format!("{TRAIN} {train} is not a multiple of {parts}; no number of GPUs fits");
        return vec![Found::error(json.line(TRAIN), message, fix)];
    }
    let Some(world) = &config.world else { return Vec::new() };
    let needed = train / each;
    let (fits, message) = match steps {
        Some(_) => (
            needed == world.size,
            format!(
                "{TRAIN} is {train}, but {parts} × {} GPUs ({}) = {}",
                world.size,
                world.from,
                each.saturating_mul(world.size)
            ),
        ),
        None => (
            needed % world.size == 0,
            format!(
                "{TRAIN} {train} does not divide into {parts} on the {} GPUs of {}",
                world.size, world.from
            ),
        ),
    };
    if fits {
        return Vec::new();
    }
    // Fewer copies of the model than ranks: tensor, pipeline or sequence parallelism.
    let possible = (1..world.size).any(|copies| {
        world.size % copies == 0 && needed % copies == 0 && (steps.is_none() || needed == copies)
    });
    if possible && config.nearby.iter().any(|one| splits_model(&one.text)) {
        return Vec::new();
    }
    let parallel = !world.given && possible;
    vec![Found::error(json.line(TRAIN), message, fix).unless_certain(!parallel)]
}

/// Whether a program or script near the configuration shares a copy of the model among several ranks.
fn splits_model(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "PipelineModule",
        "num_stages",
        "mpu=",
        "parallel-size",
        "parallel_size",
        "tensor_parallel",
        "sequence_parallel",
        "pipe-parallel",
        "pipe_parallel",
    ];
    WORDS.iter().any(|word| text.contains(word))
}
