//! A job that needs GPUs and requests none.

use crate::programs;
use crate::read::sbatch::Batch;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};
use crate::workers;

pub(crate) const RULE: Rule = Rule {
    id: "sbatch-gpu-missing",
    severity: Severity::Warning,
    summary: "jobs that need GPUs request them",
    explain: include_str!("sbatch_gpu_missing.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("job.sbatch", "#!/bin/bash\n#SBATCH --nodes=1\nsrun torchrun --nproc_per_node=8 train.py\n"),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --nodes=1\nnvidia-smi\npython train.py\n"),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=1 --cpus-per-task=8\nsrun python train.py --device cuda\n",
        ),
    ],
    silent: &[
        // Processes for processors: no node has so many GPUs.
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=8\nsrun torchrun --nproc_per_node=75 tokenize.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --gres=gpu:8\nsrun torchrun --nproc_per_node=8 \
            train.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH -N1 --exclusive\nsrun torchrun --nproc_per_node=8 train.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH -N1\nsrun --gpus=8 torchrun --nproc_per_node=8 \
            train.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH -N1\nsrun torchrun --nproc_per_node=8 train.py --backend gloo\n",
        ),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let Some(batch) = Batch::read(script.catalog, &script.text).filter(|batch| !batch.has_gpus()) else {
        return Vec::new();
    };
    // Directives that sbatch does not read are a fault of their own.
    let meant = batch.ignored.iter().any(|(_, text)| text.contains("gpu"));
    let elsewhere = batch.commands.iter().any(|(_, command)| {
        ["--gpus", "--gres", "-G ", "sbatch ", "salloc "].iter().any(|part| command.contains(part))
    });
    if meant || elsewhere {
        return Vec::new();
    }
    // What runs on processors on purpose.
    let on_cpu =
        |word: &str| matches!(word.trim_matches(['"', '\'']), "gloo" | "--cpu" | "--use-cpu" | "cpu");
    let mut words = script.text.split(|letter: char| letter.is_whitespace() || letter == '=');
    if words.any(on_cpu) || script.text.contains("CUDA_VISIBLE_DEVICES=\"\"") {
        return Vec::new();
    }
    let needs = batch.commands.iter().find_map(|(line, command)| Some((*line, why(command)?)));
    needs
        .map(|(line, why)| {
            let message = format!("the job requests no GPU, but {why}");
            Found::warning(line, message, "Add `#SBATCH --gres=gpu:N` or `#SBATCH --gpus-per-node=N`")
        })
        .into_iter()
        .collect()
}

/// GPUs of one node, at most: a DGX-2 has 16.
const GPUS_MAX: u64 = 16;

fn why(command: &str) -> Option<String> {
    // More processes than any node has GPUs are for its processors.
    let needs = workers::needs(command).filter(|needs| needs.gpus <= GPUS_MAX);
    if let Some(needs) = needs.filter(|_| programs::launches(command)) {
        return Some(format!("its command has {}", needs.option));
    }
    let words: Vec<&str> = command.split(|letter: char| letter.is_whitespace() || letter == '=').collect();
    if words.first() == Some(&"nvidia-smi") || words.starts_with(&["srun", "nvidia-smi"]) {
        return Some("it runs nvidia-smi".to_owned());
    }
    let starts = matches!(words.first(), Some(&"deepspeed" | &"srun"));
    if starts && words.windows(2).any(|two| two[0] == "deepspeed" && two[1] != "--help") {
        return Some("it runs deepspeed".to_owned());
    }
    let device = words.windows(2).any(|two| two[0] == "--device" && two[1].starts_with("cuda"));
    device.then(|| "its program runs on cuda".to_owned())
}
