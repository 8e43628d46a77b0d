//! A container that does not get the GPUs of its job.

use crate::read::quotes::split;
use crate::read::sbatch::Batch;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "apptainer-without-gpu",
    severity: Severity::Warning,
    summary: "apptainer and singularity get --nv in jobs that request GPUs",
    explain: include_str!("apptainer_without_gpu.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --gres=gpu:1\napptainer exec --bind /data image.sif python train.py \
             --device cuda\n",
        ),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --gpus-per-node=4\nsrun singularity run image.sif train\n"),
    ],
    silent: &[
        named("job.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:1\napptainer exec --nv image.sif python t.py\n"),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --gres=gpu:1\nexport APPTAINER_NV=1\napptainer exec image.sif python \
             t.py\n",
        ),
        named("job.sbatch", "#!/bin/bash\n#SBATCH -n1\napptainer exec image.sif python t.py\n"),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --gres=gpu:1\napptainer exec prepare.sif prepare\napptainer exec --nv \
             a.sif t\n",
        ),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:1\napptainer exec $GPU_FLAGS a.sif t\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let Some(batch) = Batch::read(script.catalog, &script.text).filter(asks) else { return Vec::new() };
    // By an option, a variable, or an option in a variable.
    let given = [
        "--nv",
        "--rocm",
        "APPTAINER_NV",
        "SINGULARITY_NV",
        "nvidia-container-cli",
        "--device nvidia.com",
        "--device=nvidia.com",
    ];
    if given.iter().any(|word| script.text.contains(word)) {
        return Vec::new();
    }
    let found = batch.commands.iter().find_map(|(line, command)| {
        let words = split(command, true);
        let at = words
            .iter()
            .position(|word| matches!(word.rsplit('/').next(), Some("apptainer" | "singularity")))?;
        let action = words[at + 1..].iter().find(|word| !word.starts_with('-'))?;
        // An image in a variable is usual; options in one have names such as these.
        let hidden = words[at + 1..].iter().filter(|word| word.starts_with('$')).any(|word| {
            let upper = word.to_ascii_uppercase();
            ["OPT", "ARG", "FLAG", "GPU", "NV", "EXTRA"].iter().any(|part| upper.contains(part))
        });
        let program = words[at].rsplit('/').next()?.to_owned();
        (matches!(action.as_str(), "exec" | "run" | "shell") && !hidden).then_some((*line, program))
    });
    let Some((line, program)) = found else { return Vec::new() };
    let message = format!(
        "the job requests GPUs, but {program} has no --nv: the container gets neither the driver's libraries \
         nor its devices"
    );
    vec![Found::warning(line, message, format!("Write `{program} exec --nv …`"))]
}

/// Whether a job asks for GPUs themselves, not only for whole nodes.
fn asks(batch: &Batch) -> bool {
    let own = ["gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket"];
    let gres = batch.value("gres").is_some_and(|gres| gres.contains("gpu"));
    gres || own.iter().any(|name| batch.option(name).is_some())
}
