//! FSDP with arguments of another type than it takes.

use crate::read::python::{Call, Program, string};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "fsdp-arguments-invalid",
    severity: Severity::Error,
    summary: "FSDP gets its own types, and clips gradients itself",
    explain: include_str!("fsdp_arguments_invalid.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch\nfrom torch.distributed.fsdp import FullyShardedDataParallel as FSDP\n\
             model = FSDP(net, mixed_precision=torch.bfloat16)\n",
        ),
        named(
            "train.py",
            "from torch.distributed.fsdp import FullyShardedDataParallel\n\
             model = FullyShardedDataParallel(net, sharding_strategy=\"FULL_SHARD\", cpu_offload=True)\n",
        ),
        named(
            "train.py",
            "from torch.distributed.fsdp import FullyShardedDataParallel as FSDP\n\
             from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy\n\
             model = FSDP(net, \
             auto_wrap_policy=transformer_auto_wrap_policy(transformer_layer_cls={Block}))\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch.distributed.fsdp import FullyShardedDataParallel as FSDP\nmodel = \
             FSDP(net)\n\
             torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import functools\nimport torch\nfrom torch.distributed.fsdp import CPUOffload, MixedPrecision, \
             ShardingStrategy\n\
             from torch.distributed.fsdp import FullyShardedDataParallel as FSDP\n\
             from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy\n\
             policy = functools.partial(size_based_auto_wrap_policy, min_num_params=1000)\n\
             model = FSDP(net, auto_wrap_policy=policy, \
             mixed_precision=MixedPrecision(param_dtype=torch.bfloat16), \
             cpu_offload=CPUOffload(offload_params=True), sharding_strategy=ShardingStrategy.FULL_SHARD)\n\
             model.clip_grad_norm_(1.0)\n",
        ),
        named(
            "train.py",
            "from torch.distributed.fsdp import FullyShardedDataParallel as FSDP\n\
             model = FSDP(net, cpu_offload=False, mixed_precision=False)\n",
        ),
        named(
            "train.py",
            "import torch\nfrom accelerate import FullyShardedDataParallelPlugin\n\
             plugin = FullyShardedDataParallelPlugin(sharding_strategy=\"FULL_SHARD\", cpu_offload=True)\n\
             torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let wraps = program.calls.iter().filter(|call| {
        call.name.starts_with("torch.distributed.fsdp.") && call.name.ends_with(".FullyShardedDataParallel")
    });
    let wraps: Vec<&Call> = wraps.collect();
    let mut found: Vec<Found> = wraps.iter().flat_map(|call| types(program, call)).collect();
    found.extend(wraps.iter().filter_map(|call| clipped(program, call)));
    found
}

/// FSDP takes False as if nothing was given.
fn is_on(text: &str) -> bool {
    text == "True"
}

fn mixed_precision(call: &Call) -> Option<Found> {
    let given = call.keyword("mixed_precision")?;
    let kind = given.text.strip_prefix("torch.").is_some_and(|rest| rest.chars().all(char::is_alphanumeric));
    let message = format!("mixed_precision of FSDP is {}; it takes a MixedPrecision", given.text);
    let fix = "Write `MixedPrecision(param_dtype=torch.bfloat16, …)`";
    (kind || is_on(&given.text) || string(&given.text).is_some())
        .then(|| Found::error(given.line, message, fix))
}

fn types(program: &Program, call: &Call) -> Vec<Found> {
    let mut found: Vec<Found> = mixed_precision(call).into_iter().collect();
    if let Some(one) = call.keyword("cpu_offload").filter(|one| is_on(&one.text)) {
        let message = format!("cpu_offload of FSDP is {}; it takes a CPUOffload", one.text);
        found.push(Found::error(one.line, message, "Write `CPUOffload(offload_params=True)`"));
    }
    if let Some(one) = call.keyword("sharding_strategy").filter(|one| string(&one.text).is_some()) {
        let message = format!(
            "sharding_strategy of FSDP is the text {}; it takes a ShardingStrategy (KeyError with \
             several ranks)",
            one.text
        );
        let name = string(&one.text).unwrap_or_default().to_ascii_uppercase();
        found.push(Found::error(one.line, message, format!("Write `ShardingStrategy.{name}`")));
    }
    if let Some(one) = call.keyword("auto_wrap_policy") {
        let made = program.call_at(&one.at).map(|made| made.name.as_str()).unwrap_or_default();
        let last = made.rsplit('.').next().unwrap_or_default();
        if matches!(last, "transformer_auto_wrap_policy" | "size_based_auto_wrap_policy") {
            let message = format!(
                "{last} is called here; FSDP calls it for each module itself, and this call raises TypeError"
            );
            found.push(Found::error(one.line, message, format!("Write `functools.partial({last}, …)`")));
        }
    }
    found
}

/// The gradients of an FSDP model are clipped by a function that sees a part of them.
fn clipped(program: &Program, wrap: &Call) -> Option<Found> {
    let name = &program.assignments.iter().find(|one| one.at == wrap.at)?.name;
    let whole = wrap.keyword("sharding_strategy").is_some_and(|one| one.text.contains("NO_SHARD"));
    let clip = program.calls.iter().find(|call| {
        let first = call.arguments.first().is_some_and(|one| one.text == format!("{name}.parameters()"));
        call.name.starts_with("torch.nn.utils.clip_grad_norm") && first
    })?;
    let message = format!(
        "{} sees only this rank's part of the gradients of {name} (FSDP in line {}); each rank clips by \
         a different norm",
        clip.name, wrap.line
    );
    (!whole).then(|| Found::warning(clip.line, message, format!("Write `{name}.clip_grad_norm_(…)`")))
}
