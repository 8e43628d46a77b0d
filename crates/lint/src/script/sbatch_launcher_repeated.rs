//! Several tasks of Slurm on a node that each start a launcher for the whole node.

use crate::programs;
use crate::read::sbatch::Batch;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};
use crate::workers;

pub(crate) const RULE: Rule = Rule {
    id: "sbatch-launcher-repeated",
    severity: Severity::Error,
    summary: "srun starts one torchrun on each node",
    explain: include_str!("sbatch_launcher_repeated.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=8 --gres=gpu:8\nsrun torchrun --nnodes=2 \
             --rdzv_endpoint=$HEAD:29500 \
             --nproc_per_node=8 t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=1 --gres=gpu:8\ntorchrun --nnodes=2 \
             --rdzv_endpoint=$HEAD:29500 \
                --nproc_per_node=8 t.py\n",
        ),
    ],
    silent: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=1 --gres=gpu:8\ntorchrun t.py --nnodes=1\n\
             torchrun --nnodes 1 t.py\ntorchrun --nnodes=1:1 t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=8 --gres=gpu:8\nsrun --ntasks-per-node=1 \
                torchrun \
             --nnodes=2 --rdzv_endpoint=$HEAD:29500 --nproc_per_node=8 t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=8 --gres=gpu:8\nsrun python t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2 --gres=gpu:8\nfor n in $NODES; do srun -w $n -N1 -n1 \
                torchrun --nnodes=2 \
             --rdzv_endpoint=$HEAD:29500 \
                t.py & done\n",
        ),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let Some(batch) = Batch::read(script.catalog, &script.text).filter(|batch| !batch.is_heterogeneous())
    else {
        return Vec::new();
    };
    batch
        .commands
        .iter()
        .filter_map(|(line, command)| {
            repeated(&batch, *line, command).or_else(|| alone(&batch, *line, command))
        })
        .collect()
}

fn repeated(batch: &Batch, line: usize, command: &str) -> Option<Found> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let is_step = words.first() == Some(&"srun");
    let own = ["--ntasks-per-node", "--ntasks", "-n", "--nodes"];
    let has_own =
        words.iter().any(|word| own.iter().any(|name| word.starts_with(name)) && *word != "--nnodes");
    let nodes = batch.number("nodes").unwrap_or(1);
    let per_node =
        batch.number("ntasks-per-node").or_else(|| Some(batch.number("ntasks")?.div_ceil(nodes.max(1))))?;
    let tasks = if is_step { &words[1..] } else { return None };
    let program = tasks.iter().find(|word| !word.starts_with('-'))?;
    let launches = programs::launches(command) && !program.starts_with("sbatch");
    let single = workers::needs(command).is_some_and(|needs| needs.gpus == 1);
    let message = format!(
        "srun starts {per_node} tasks on each node, and each of them starts a launcher for all GPUs of \
            the node"
    );
    (launches && !has_own && !single && per_node > 1).then(|| {
        Found::error(
            line,
            message,
            "Set --ntasks-per-node=1, or let srun start the program without the launcher",
        )
    })
}

/// Without srun a launcher runs on the first node only.
fn alone(batch: &Batch, line: usize, command: &str) -> Option<Found> {
    let nodes = batch.number("nodes").filter(|nodes| *nodes > 1)?;
    let program = command.split_whitespace().next()?.rsplit('/').next()?;
    let words: Vec<&str> = command.split_whitespace().collect();
    let several =
        programs::option(&words, &["nnodes"]).is_some_and(|count| !matches!(count.as_str(), "1" | "1:1"));
    let message = format!(
        "{program} runs on the first of {nodes} nodes only, where it waits for the \
        others"
    );
    (program == "torchrun" && several).then(|| Found::error(line, message, "Start it with srun"))
}
