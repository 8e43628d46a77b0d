//! A port of the rendezvous that each task draws for itself.

use crate::programs;
use crate::read::assigned;
use crate::read::sbatch::Batch;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "master-port-differs",
    severity: Severity::Error,
    summary: "all tasks of a job have the same MASTER_PORT",
    explain: include_str!("master_port_differs.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "run_rank.sh",
            "#!/bin/bash\nexport RANK=$SLURM_PROCID\nexport WORLD_SIZE=$SLURM_NTASKS\nexport \
             MASTER_PORT=$((20000 + RANDOM % 20000))\nexec python -m lab.train\n",
        ),
        named(
            "wrap.sh",
            "#!/bin/bash\nexport RANK=${OMPI_COMM_WORLD_RANK}\nMASTER_PORT=$(shuf -i 20000-30000 -n \
             1)\nexport \
             MASTER_PORT\npython t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\nsrun bash -c 'export \
             MASTER_PORT=$((10000 + RANDOM % 999)); RANK=$SLURM_PROCID python t.py'\n",
        ),
    ],
    silent: &[
        named(
            "run_rank.sh",
            "#!/bin/bash\nexport RANK=$SLURM_PROCID\nexport MASTER_PORT=$((20000 + SLURM_JOB_ID % \
             20000))\nexec \
             python -m lab.train\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\nexport MASTER_PORT=$((10000 + \
             RANDOM % \
             999))\nsrun bash -c 'RANK=$SLURM_PROCID python t.py'\n",
        ),
        named(
            "run_rank.sh",
            "#!/bin/bash\nexport RANK=$SLURM_PROCID\nRANDOM=$SLURM_JOB_ID\nexport MASTER_PORT=$((20000 + \
             RANDOM % \
             20000))\nexec python t.py\n",
        ),
        named(
            "run.sh",
            "#!/bin/bash\nMASTER_PORT=$((20000 + RANDOM % 20000))\ntorchrun --master_port=$MASTER_PORT \
             t.py\n",
        ),
    ],
};

/// What gives each task another number.
const RANDOM: &[&str] = &["RANDOM", "shuf ", "$$", ".bind((", "free_port", "get_open_port"];

fn is_random(value: &str) -> bool {
    RANDOM.iter().any(|mark| value.contains(mark)) && !value.contains("SLURM_JOB")
}

fn judge(script: &Script) -> Vec<Found> {
    // `RANDOM=$SLURM_JOB_ID` begins the same sequence everywhere.
    if script.text.contains("RANDOM=") {
        return Vec::new();
    }
    match Batch::read(script.catalog, &script.text) {
        Some(batch) => in_steps(&batch),
        None => of_task(script).into_iter().collect(),
    }
}

const FIX: &str =
    "Set it once, before srun or mpirun: `export MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000))`";

/// Of a script that every task runs, as its rank shows.
fn of_task(script: &Script) -> Option<Found> {
    let sets = assigned::of_script(script);
    let of_task = ["SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"];
    let rank = sets.iter().find(|one| {
        let value = one.value.as_deref().unwrap_or_default();
        one.name == "RANK" && of_task.iter().any(|name| value.trim_matches(['$', '{', '}']) == *name)
    })?;
    let starts = script.commands.iter().any(|one| programs::starts_tasks(one.program()));
    let mut ports = sets.iter().filter(|one| one.name == "MASTER_PORT");
    let port = ports.next().filter(|_| ports.next().is_none() && !starts)?;
    let value = port.value.as_deref()?;
    let certain = script.commands.iter().any(|one| one.line == port.line && one.certain);
    let message = format!(
        "every task runs this script (RANK in line {}) and chooses a MASTER_PORT of its own; the ranks wait \
         at different ports",
        rank.line
    );
    is_random(value).then(|| Found::error(port.line, message, FIX).unless_certain(certain))
}

/// Of the text of a step, which each task's shell reads.
fn in_steps(batch: &Batch) -> Vec<Found> {
    let nodes = batch.number("nodes").unwrap_or(1);
    let tasks = batch.number("ntasks").or_else(|| batch.number("ntasks-per-node")?.checked_mul(nodes));
    if tasks.is_none_or(|tasks| tasks < 2) {
        return Vec::new();
    }
    let found = batch.commands.iter().filter_map(|(line, command)| {
        let start = command.trim_start();
        let inner = start.split_once("-c '").filter(|_| start.starts_with("srun "))?.1;
        let inner = inner.split('\'').next()?;
        let (_, rest) = inner.split_once("MASTER_PORT=")?;
        let value = rest.split([';', '&', '\n']).next()?;
        let alone = inner.contains("--standalone") || inner.contains("torchrun");
        let message =
            "each task of the step chooses a MASTER_PORT of its own; the ranks wait at different ports";
        (is_random(value) && !alone).then(|| Found::error(*line, message, FIX))
    });
    found.collect()
}
