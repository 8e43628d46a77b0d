//! A Trainer of Lightning that counts other tasks than its Slurm job.

use crate::lightning::{Given, is_trainer};
use crate::programs;
use crate::read::one_gpu::starts;
use crate::read::python::Program;
use crate::read::quotes::split;
use crate::read::sbatch::Batch;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "lightning-tasks-differ",
    severity: Severity::Error,
    summary: "Lightning's Trainer has the nodes and devices of its Slurm job",
    explain: include_str!("lightning_tasks_differ.md"),
    judge: Judge::Script(judge),
    fires: &[
        named_with(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks=8\n#SBATCH --gpus-per-node=4\nsrun python -u \
             fit.py\n",
            &[(
                "fit.py",
                "import lightning as L\nif __name__ == \"__main__\":\n    trainer = L.Trainer(devices=4, \
                 num_nodes=2, strategy=\"ddp\")\n",
            )],
        ),
        named_with(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH -N 2\n#SBATCH --ntasks-per-node=1\n#SBATCH --gres=gpu:4\nsrun python3 \
             src/fit.py --x 1\n",
            &[(
                "src/fit.py",
                "from pytorch_lightning import Trainer\nGPUS = 4\ntrainer = Trainer(accelerator=\"gpu\", \
                 devices=GPUS, num_nodes=2)\n",
            )],
        ),
        named_with(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=8\n#SBATCH --gpus-per-node=8\nsrun \
             python fit.py\n",
            &[(
                "fit.py",
                "import pytorch_lightning as pl\ntrainer = pl.Trainer(devices=8, strategy=\"fsdp\")\n",
            )],
        ),
        named_with(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=8\nsrun \
             python fit.py conf/fit.yaml\n",
            &[
                (
                    "fit.py",
                    "import sys\nimport yaml\nimport lightning as L\nif __name__ == \"__main__\":\n    with \
                     open(sys.argv[1]) as file:\n        trainer = L.Trainer(**yaml.safe_load(file))\n",
                ),
                ("conf/fit.yaml", "devices: 8\nnum_nodes: 2\nstrategy: ddp\n"),
            ],
        ),
        named_with(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=2\n#SBATCH --gpus-per-node=2\nsrun \
             python fit.py --cfg a.yaml\n",
            &[
                (
                    "fit.py",
                    "import argparse\nimport pytorch_lightning as pl\nfrom omegaconf import OmegaConf\np = \
                     argparse.ArgumentParser()\np.add_argument(\"--cfg\")\nargs = p.parse_args()\ncfg = \
                     OmegaConf.load(args.cfg)\ntrainer = pl.Trainer(**cfg.trainer, logger=False)\n",
                ),
                ("a.yaml", "trainer:\n  devices: 2\n  num_nodes: 2\n"),
            ],
        ),
        named_with(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=2\nsrun \
             python fit.py\n",
            &[(
                "fit.py",
                "import lightning as L\nSETTINGS = {\"devices\": 2, \"strategy\": \"ddp\"}\ntrainer = \
                 L.Trainer(**SETTINGS)\n",
            )],
        ),
    ],
    silent: &[
        named_with(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n#SBATCH --gpus-per-node=4\nsrun \
             python fit.py a.yaml\n",
            &[
                (
                    "fit.py",
                    "import sys\nimport yaml\nimport lightning as L\nwith open(sys.argv[1]) as \
                    file:\n    cfg = \
                     yaml.safe_load(file)\ntrainer = L.Trainer(**cfg[\"trainer\"])\n",
                ),
                ("a.yaml", "devices: 1\ntrainer:\n  devices: 4\n  num_nodes: 2\n"),
            ],
        ),
        named_with(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n#SBATCH --gpus-per-node=4\nsrun \
             python fit.py\n",
            &[(
                "fit.py",
                "import lightning as L\nfrom settings import SETTINGS\ntrainer = L.Trainer(devices=4, \
                 **SETTINGS)\n",
            )],
        ),
        named_with(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n#SBATCH --gpus-per-node=4\nsrun \
             python fit.py\n",
            &[(
                "fit.py",
                "import lightning as L\ntrainer = L.Trainer(devices=4, num_nodes=2, strategy=\"ddp\")\n",
            )],
        ),
        named_with(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=4\nsrun \
             torchrun \
             --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 --rdzv_id=1 \
             fit.py\n",
            &[(
                "fit.py",
                "import lightning as L\ntrainer = L.Trainer(devices=4, num_nodes=2, strategy=\"ddp\")\n",
            )],
        ),
        named_with(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --ntasks=1\n#SBATCH --gpus-per-node=4\nsrun python \
             fit.py\n",
            &[(
                "fit.py",
                "import lightning as L\ntrainer = L.Trainer(devices=args.devices, strategy=\"ddp\")\n",
            )],
        ),
        named_with(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --job-name=interactive\n#SBATCH --nodes=1\n#SBATCH \
             --ntasks-per-node=1\nsrun python fit.py\n",
            &[("fit.py", "import lightning as L\ntrainer = L.Trainer(devices=4, strategy=\"ddp\")\n")],
        ),
        named_with(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --ntasks=4\nsrun --ntasks-per-node=4 python fit.py\n",
            &[("fit.py", "import lightning as L\ntrainer = L.Trainer(devices=4, strategy=\"ddp\")\n")],
        ),
    ],
};

/// Words of a program or a script that choose another environment, or change what Lightning reads.
const OTHER: &[&str] = &[
    "SLURMEnvironment",
    "LightningEnvironment",
    "TorchElasticEnvironment",
    "MPIEnvironment",
    "plugins=",
    "SLURM_NTASKS",
    "SLURM_NNODES",
    "SLURM_JOB_NAME",
];

fn judge(script: &Script) -> Vec<Found> {
    let Some(batch) = Batch::read(script.catalog, &script.text).filter(|batch| !batch.is_heterogeneous())
    else {
        return Vec::new();
    };
    let interactive = batch.value("job-name").is_some_and(|name| matches!(name, "bash" | "interactive"));
    let changed = script.text.contains("unset SLURM") || OTHER.iter().any(|word| script.text.contains(word));
    if interactive || changed {
        return Vec::new();
    }
    let found = script.programs.iter().filter_map(|over| {
        let base = over.name.rsplit('/').next()?;
        let (_, command) = batch.commands.iter().find(|(_, command)| {
            starts(command, base) && !programs::launches(command) && !counts_itself(command)
        })?;
        if !over.text.contains("lightning") || OTHER.iter().any(|word| over.text.contains(word)) {
            return None;
        }
        let program = Program::read(script.catalog, &over.text);
        let mut trainers = program.calls.iter().filter(|call| is_trainer(call));
        let trainer =
            trainers.next().filter(|call| program.always_runs(call) && trainers.next().is_none())?;
        let given = Given::read(script, &program, trainer, command, base);
        command.contains("srun").then(|| differs(&batch, &given, trainer.line, &over.name))?
    });
    found.take(1).collect()
}

/// Whether a step has counts of its own.
fn counts_itself(command: &str) -> bool {
    split(command, true).iter().any(|word| {
        let short = word.starts_with('-') && !word.starts_with("--");
        let of_short = short && (word.starts_with("-n") || word.starts_with("-N"));
        of_short || word.starts_with("--ntasks") || word.starts_with("--nodes") || word.starts_with("--tasks")
    })
}

fn differs(batch: &Batch, given: &Given, line: usize, name: &str) -> Option<Found> {
    let Given { devices, nodes, hidden, ref from } = *given;
    let each = batch.option("ntasks-per-node");
    let many = batch.option("ntasks").filter(|_| batch.number("ntasks").is_some_and(|count| count > 1));
    if let (None, Some(option)) = (each, many) {
        let message = format!(
            "{} {} without --ntasks-per-node: Lightning (line {line} of {name}{from}) raises RuntimeError, \
             because it reads the tasks of a node from SLURM_NTASKS_PER_NODE",
            option.written,
            option.value.as_deref().unwrap_or_default()
        );
        let count = devices.map_or_else(|| "N".to_owned(), |count| count.to_string());
        return Some(Found::error(
            option.line,
            message,
            format!("Write `--ntasks-per-node={count}` in its place"),
        ));
    }
    let tasks = batch.number("ntasks-per-node");
    let several = devices.is_some_and(|count| count > 1) || nodes.is_some_and(|count| count > 1);
    if let (Some(option), Some(tasks), Some(devices)) = (each, tasks, devices.filter(|_| several)) {
        let message = format!(
            "the job has {tasks} tasks per node, but Lightning's Trainer (line {line} of {name}{from}) has \
             devices={devices}; it raises ValueError, because srun starts one process for each device"
        );
        if tasks != devices {
            return Some(Found::error(option.line, message, format!("Set `--ntasks-per-node={devices}`")));
        }
    }
    // If num_nodes is hidden, its value is unknown.
    let (option, of_job) = (batch.option("nodes")?, batch.number("nodes")?);
    let own = nodes.unwrap_or(1);
    let message = format!(
        "the job has {of_job} nodes, but Lightning's Trainer (line {line} of {name}{from}) has \
         num_nodes={own}{}; it raises ValueError",
        if nodes.is_none() { ", the default" } else { "" }
    );
    let wrong = own != of_job && !hidden && (several || of_job > 1) && devices.is_some();
    wrong.then(|| {
        Found::error(option.line, message, format!("Set `num_nodes={of_job}` on the Trainer in {name}"))
    })
}
