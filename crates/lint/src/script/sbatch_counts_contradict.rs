//! Numbers of nodes, tasks and GPUs that contradict each other or the commands.

use crate::programs;
use crate::read::sbatch::Batch;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};
use crate::workers;

pub(crate) const RULE: Rule = Rule {
    id: "sbatch-counts-contradict",
    severity: Severity::Error,
    summary: "numbers of nodes, tasks and GPUs of a job agree with each other and its commands",
    explain: include_str!("sbatch_counts_contradict.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=8 --ntasks=8\nsrun python t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2 --gpus=4 --gpus-per-node=4\nsrun python \
            t.py\n",
        ),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --mem=64G --mem-per-cpu=4G\nsrun python t.py\n"),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2 --gres=gpu:8\nsrun torchrun --nnodes=4 \
             --rdzv_endpoint=$HEAD:29500 --nproc_per_node=8 t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=1 --gres=gpu:4\nsrun torchrun --nproc_per_node=8 t.py\n",
        ),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --nodes=2 --ntasks=2\nsrun --ntasks=16 python t.py\n"),
    ],
    silent: &[
        named(
            "nccl.sh",
            "#!/bin/bash\n#SBATCH --nodes=2\nsrun --nodes=2 bash -c \"all_reduce_perf -b 8M -n 10\"\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=1 --ntasks=2 --gpus-per-node=8\nsrun \
                torchrun --nnodes=2 \
             --rdzv_endpoint=$HEAD:29500 \
             --nproc_per_node=8 t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH -N1 -n1\n#SBATCH hetjob\n#SBATCH -N2 -n8\nsrun python t.py\n",
        ),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let Some(batch) = Batch::read(script.catalog, &script.text).filter(|batch| !batch.is_heterogeneous())
    else {
        return Vec::new();
    };
    let mut found: Vec<Found> =
        [tasks, gpus, memory, nodes_twice].iter().filter_map(|check| check(&batch)).collect();
    for (line, command) in &batch.commands {
        found.extend(of_command(&batch, *line, command));
    }
    found
}

fn at(batch: &Batch, name: &str) -> usize {
    batch.option(name).map_or(1, |option| option.line)
}

fn tasks(batch: &Batch) -> Option<Found> {
    let (nodes, tasks, each) =
        (batch.number("nodes")?, batch.number("ntasks")?, batch.number("ntasks-per-node")?);
    let product = nodes.checked_mul(each)?;
    let message =
        format!("--ntasks={tasks}, but --nodes={nodes} times --ntasks-per-node={each} is {product}");
    let found = Found::warning(at(batch, "ntasks"), message, "Remove --ntasks, or make the numbers agree");
    (tasks != product).then_some(found)
}

/// The number in `4`, `a100:4`.
fn count(value: &str) -> Option<u64> {
    value.rsplit(':').next()?.parse().ok()
}

fn gpus(batch: &Batch) -> Option<Found> {
    if batch.option("gpus-per-node").is_some() && batch.value("gres").is_some_and(|gres| gres.contains("gpu"))
    {
        let message =
            "--gpus-per-node and --gres=gpu exclude each other; recent releases of sbatch refuse both";
        return Some(Found::warning(at(batch, "gres"), message, "Keep one of the two"));
    }
    let all = batch.value("gpus").and_then(count)?;
    let of = |name: &str, times: &str| {
        Some((name.to_owned(), batch.value(name).and_then(count)?, batch.number(times)?))
    };
    let (name, each, times) = of("gpus-per-node", "nodes").or_else(|| of("gpus-per-task", "ntasks"))?;
    let product = each.checked_mul(times)?;
    let message = format!(
        "--gpus={all} for the whole job, but --{name}={each} for {times} makes \
        {product}"
    );
    (all != product)
        .then(|| Found::error(at(batch, "gpus"), message, format!("Remove --gpus, or set it to {product}")))
}

fn memory(batch: &Batch) -> Option<Found> {
    let set = ["mem", "mem-per-cpu", "mem-per-gpu"].into_iter().filter(|name| batch.option(name).is_some());
    let set: Vec<String> = set.map(|name| format!("--{name}")).collect();
    let message = format!("{} exclude each other; sbatch refuses the script", set.join(" and "));
    let line = batch.options.iter().rev().find(|one| one.name.starts_with("mem")).map_or(1, |one| one.line);
    (set.len() > 1).then(|| Found::error(line, message, "Keep one of them"))
}

/// One option with two values: the last one counts.
fn nodes_twice(batch: &Batch) -> Option<Found> {
    let names = ["nodes", "ntasks", "ntasks-per-node", "gres", "time", "mem", "partition", "gpus-per-node"];
    names.into_iter().find_map(|name| {
        let all: Vec<_> = batch.options.iter().filter(|one| one.name == name).collect();
        let (first, last) = (all.first()?, all.last()?);
        let differ = first.line != last.line && first.value != last.value;
        let message = format!(
            "--{name} is {} here, and was {} in line {}; the last value counts",
            last.value.as_deref().unwrap_or_default(),
            first.value.as_deref().unwrap_or_default(),
            first.line
        );
        differ.then(|| Found::warning(last.line, message, "Remove one of them"))
    })
}

/// The number behind an option of a command.
fn option(words: &[&str], names: &[&str]) -> Option<u64> {
    let at = words.iter().position(|word| names.contains(word))?;
    words.get(at + 1)?.trim_matches(['"', '\'']).parse().ok()
}

fn of_command(batch: &Batch, line: usize, command: &str) -> Vec<Found> {
    let words: Vec<&str> = command
        .split(|letter: char| letter.is_whitespace() || letter == '=')
        .filter(|word| !word.is_empty())
        .collect();
    let nodes = batch.number("nodes").or_else(|| batch.option("nodes").is_none().then_some(1));
    let launched = launcher(batch, line, command, option(&words, &["--nnodes", "--num_machines"]), nodes);
    let step = step(batch, line, &words, command, nodes);
    launched.into_iter().chain(step).collect()
}

/// A launcher for more nodes or processes than the job has.
fn launcher(
    batch: &Batch,
    line: usize,
    command: &str,
    wanted: Option<u64>,
    nodes: Option<u64>,
) -> Vec<Found> {
    let mut found = Vec::new();
    if !programs::launches(command) {
        return found;
    }
    if let (Some(nodes), Some(wanted)) = (nodes, wanted)
        && wanted != nodes
        && batch.option("ntasks").is_none()
    {
        let message = format!("the command is for {wanted} nodes, but the job has {nodes}");
        found.push(Found::error(line, message, "Use $SLURM_NNODES, or change --nodes"));
    }
    if let (Some(gpus), Some(needs)) = (batch.gpus_per_node(), workers::needs(command))
        && needs.gpus > gpus
        && gpus > 0
    {
        let message = format!("the command has {}, but each node of the job has {gpus} GPUs", needs.option);
        found.push(Found::error(line, message, "Request as many GPUs as processes"));
    }
    found
}

/// A step with more tasks than the job.
fn step(batch: &Batch, line: usize, words: &[&str], command: &str, nodes: Option<u64>) -> Option<Found> {
    let is_step = words.first() == Some(&"srun") && !command.contains("het-group");
    if !is_step || command.contains("overcommit") || batch.option("exclusive").is_some() {
        return None;
    }
    let of_nodes = || nodes?.checked_mul(batch.number("ntasks-per-node").unwrap_or(1));
    let tasks = batch.number("ntasks").or_else(of_nodes)?;
    // Options of a script in quotes are not those of srun.
    let inner = words.windows(2).position(|two| matches!(two[0], "bash" | "sh") && two[1].ends_with('c'));
    let own = &words[..inner.unwrap_or(words.len())];
    let more = option(own, &["--ntasks", "-n"]).filter(|more| *more > tasks)?;
    let message = format!("srun starts {more} tasks, but the job has {tasks}");
    Some(Found::warning(line, message, "Raise --ntasks of the job"))
}
