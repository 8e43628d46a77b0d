//! Tasks that see one GPU and select it by their number.

use crate::programs;
use crate::read::one_gpu::starts;
use crate::read::python::Program;
use crate::read::sbatch::Batch;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "task-device-missing",
    severity: Severity::Error,
    summary: "tasks that see one GPU use their first GPU",
    explain: include_str!("task_device_missing.md"),
    judge: Judge::Script(judge),
    fires: &[
        named_with(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --ntasks-per-node=4\n#SBATCH --gpus-per-task=1\nsrun python train.py\n",
            &[(
                "train.py",
                "import os\nimport torch\nlocal = int(os.environ[\"SLURM_LOCALID\"])\n\
                 torch.cuda.set_device(local)\n",
            )],
        ),
        named_with(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --ntasks=4\n#SBATCH --gpus-per-task=1\nsrun python \
             train.py\n",
            &[(
                "train.py",
                "import os\nimport torch\nlocal = int(os.environ[\"SLURM_LOCALID\"])\n\
                 torch.cuda.set_device(local)\n",
            )],
        ),
        named_with(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --ntasks-per-node=8 --gpus-per-node=8\n\
             srun --gpu-bind=single:1 python train.py\n",
            &[(
                "train.py",
                "import os\nimport torch\ndevice = torch.device(f\"cuda:{os.environ['SLURM_LOCALID']}\")\n",
            )],
        ),
    ],
    silent: &[
        named_with(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --ntasks-per-node=4 --gpus-per-node=4\nsrun python train.py\n",
            &[(
                "train.py",
                "import os\nimport torch\ntorch.cuda.set_device(int(os.environ[\"SLURM_LOCALID\"]))\n",
            )],
        ),
        named_with(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --ntasks-per-node=4 --gpus-per-task=1\nsrun python train.py\n",
            &[("train.py", "import torch\ntorch.cuda.set_device(0)\n")],
        ),
        named_with(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --ntasks-per-node=4 --gpus-per-task=1\nsrun --gpu-bind=none python \
             train.py\n",
            &[(
                "train.py",
                "import os\nimport torch\ntorch.cuda.set_device(int(os.environ[\"SLURM_LOCALID\"]))\n",
            )],
        ),
        named_with(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH -N4 --ntasks-per-node=1 --gpus-per-task=1\nsrun python train.py\n",
            &[(
                "train.py",
                "import os\nimport torch\ntorch.cuda.set_device(int(os.environ[\"SLURM_LOCALID\"]))\n",
            )],
        ),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let Some(batch) = Batch::read(script.catalog, &script.text).filter(|batch| !batch.is_heterogeneous())
    else {
        return Vec::new();
    };
    // One task on each node has the number 0.
    let nodes = batch.number("nodes").unwrap_or(1);
    let tasks = batch.number("ntasks").filter(|_| nodes > 0).map(|tasks| tasks / nodes);
    let several = batch.number("ntasks-per-node").or(tasks).is_some_and(|tasks| tasks > 1);
    if !several || script.text.contains("CUDA_VISIBLE_DEVICES") {
        return Vec::new();
    }
    script.programs.iter().filter_map(|over| {
        let base = over.name.rsplit('/').next()?;
        let (line, command) =
            batch.commands.iter().find(|(_, command)| starts(command, base) && !programs::launches(command))?;
        let option = batch.one_gpu_a_task(script.catalog, command)?;
        let (at, device) = by_local_rank(&Program::read(script.catalog, &over.text))?;
        let message = format!(
            "{} shows each task one GPU, as cuda:0, but line {at} of {} selects {device} by the number of \
             the \
             task on its node; all tasks but the first fail with `invalid device ordinal`",
            option.written, over.name
        );
        let fix = "Use `torch.cuda.set_device(0)` there, or request `--gpus-per-node` in place of \
            `--gpus-per-task`";
        let line = if option.line > 0 { option.line } else { *line };
        Some(Found::error(line, message, fix))
    }).take(1).collect()
}

/// The line on which a program selects its device by SLURM_LOCALID, and how.
fn by_local_rank(program: &Program) -> Option<(usize, String)> {
    program.calls.iter().filter(|call| !call.conditional).find_map(|call| {
        let device = match call.name.as_str() {
            "torch.cuda.set_device" => call.argument(0, "device")?,
            "torch.device" => call.arguments.first()?,
            _ => return None,
        };
        let inner = device.text.strip_prefix("f\"cuda:{").or_else(|| device.text.strip_prefix("f'cuda:{"));
        let name = match inner {
            Some(rest) => rest.trim_end_matches(['"', '\'']).trim_end_matches('}'),
            None if call.name == "torch.device" => return None,
            None => device.text.as_str(),
        };
        let through = program.value(name, &call.function, call.at.start).map(|one| one.text.as_str());
        let text = through.unwrap_or(name);
        let local = text.contains("SLURM_LOCALID") && !text.contains(['%', '/', '*', '-']);
        local.then(|| (call.line, format!("device {}", device.text)))
    })
}
