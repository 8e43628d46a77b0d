//! CUDA_VISIBLE_DEVICES by hand in a job to which Slurm gives GPUs.

use crate::read::quotes::split;
use crate::read::sbatch::Batch;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "sbatch-visible-devices-set",
    severity: Severity::Warning,
    summary: "CUDA_VISIBLE_DEVICES names only GPUs that the job has, counted from 0",
    explain: include_str!("sbatch_visible_devices_set.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --array=0-7 --gres=gpu:1\n\
             export CUDA_VISIBLE_DEVICES=$SLURM_ARRAY_TASK_ID\npython train.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --gres=gpu:a100:2\nCUDA_VISIBLE_DEVICES=2,3 python train.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --ntasks-per-node=4 --gpus-per-task=1\n\
             srun bash -c 'CUDA_VISIBLE_DEVICES=$SLURM_LOCALID python train.py'\n",
        ),
    ],
    silent: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --array=0-7 --exclusive\n\
             export CUDA_VISIBLE_DEVICES=$((SLURM_ARRAY_TASK_ID % 8))\npython train.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --gres=gpu:2\nexport CUDA_VISIBLE_DEVICES=0,1\npython t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --ntasks-per-node=4 --gpus-per-node=4\n\
             srun bash -c 'CUDA_VISIBLE_DEVICES=$SLURM_LOCALID python train.py'\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --array=0-1 --gres=gpu:2\n\
             export CUDA_VISIBLE_DEVICES=$SLURM_ARRAY_TASK_ID\npython t.py\n",
        ),
    ],
};

const NAME: &str = "CUDA_VISIBLE_DEVICES=";
const FIX: &str = "Remove it: Slurm sets CUDA_VISIBLE_DEVICES to the GPUs of the job or the task";

fn judge(script: &Script) -> Vec<Found> {
    let Some(batch) = Batch::read(script.catalog, &script.text).filter(|batch| !batch.is_heterogeneous())
    else {
        return Vec::new();
    };
    // Of a whole node every number is right.
    if batch.option("exclusive").is_some() || !batch.has_gpus() {
        return Vec::new();
    }
    batch.commands.iter().filter_map(|(line, command)| fault(script, &batch, *line, command)).collect()
}

fn fault(script: &Script, batch: &Batch, line: usize, command: &str) -> Option<Found> {
    // Also inside of `bash -c '…'`.
    let words = split(command, true);
    let mut values = words
        .iter()
        .flat_map(|word| word.split(|letter: char| letter.is_whitespace() || letter == ';'))
        .filter_map(|word| word.strip_prefix(NAME));
    let value = values.next()?.trim_matches(['"', '\'']);
    let gpus = batch.gpus_per_node();
    let is = |name: &str| value == format!("${name}") || value == format!("${{{name}}}");
    if is("SLURM_ARRAY_TASK_ID") {
        let highest = batch.value("array").and_then(highest);
        if gpus.zip(highest).is_some_and(|(gpus, highest)| highest < gpus) {
            return None;
        }
        let has = gpus.map_or("its own GPUs".to_owned(), |gpus| match gpus {
            1 => "1 GPU, number 0".to_owned(),
            _ => format!("{gpus} GPUs, numbered from 0"),
        });
        let message = format!(
            "each task of the array has {has}; the index of the task names a GPU that it does not have or \
             that belongs to another job"
        );
        return Some(Found::warning(line, message, FIX));
    }
    if is("SLURM_LOCALID") || is("LOCAL_RANK") {
        let option = batch.one_gpu_a_task(script.catalog, command)?;
        let message = format!(
            "{} gives each task one GPU, which it sees as number 0; {value} names one that it does not have",
            option.written
        );
        return Some(Found::warning(line, message, FIX));
    }
    let list = value.split(',').map(|one| one.trim().parse::<u64>().ok()).collect::<Option<Vec<u64>>>()?;
    let (gpus, most) = (gpus?, list.into_iter().max()?);
    let message = format!(
        "the GPUs of the job are 0 to {} on each node; {NAME}{value} names GPU {most}, which \
         is \
         missing or belongs to another job",
        gpus.saturating_sub(1)
    );
    (most >= gpus && gpus > 0).then(|| Found::warning(line, message, FIX))
}

/// The highest index of an array: `0-7%2`, `1,3,5`.
fn highest(array: &str) -> Option<u64> {
    let list = array.split('%').next()?;
    let one = |part: &str| part.split(':').next()?.rsplit('-').next()?.trim().parse::<u64>().ok();
    list.split(',').map(one).collect::<Option<Vec<u64>>>()?.into_iter().max()
}
