//! A step that does not get the CPUs of the job's tasks.

use crate::read::quotes::split;
use crate::read::sbatch::Batch;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "sbatch-cpus-not-inherited",
    severity: Severity::Warning,
    summary: "srun gives each task the CPUs that the job requests for it, in every release of Slurm",
    explain: include_str!("sbatch_cpus_not_inherited.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --ntasks-per-node=4 --gpus-per-node=4\n#SBATCH --cpus-per-task=12\n\
             module load slurm/23.02.7\nsrun python train.py\n",
        ),
        named("job.sbatch", "#!/bin/bash\n#SBATCH -n4 -c 12\nsrun python train.py\n"),
    ],
    silent: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH -n4 -c 12\nexport SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK\n\
             srun python train.py\n",
        ),
        named("job.sbatch", "#!/bin/bash\n#SBATCH -n4 -c 12\nsrun -c12 python train.py\n"),
        named("job.sbatch", "#!/bin/bash\n#SBATCH -n4 -c 12\n# Slurm 24.05\nsrun python train.py\n"),
        named("job.sbatch", "#!/bin/bash\n#SBATCH -n4 -c 12\nsrun --cpu-bind=none python train.py\n"),
        named("job.sbatch", "#!/bin/bash\n#SBATCH -n4 -c 1\nsrun python train.py\n"),
    ],
};

/// The releases in which srun reads SRUN_CPUS_PER_TASK alone: from the first, before the second.
const AFFECTED: ((u32, u32), (u32, u32)) = ((22, 5), (23, 11));

fn judge(script: &Script) -> Vec<Found> {
    let Some(batch) = Batch::read(script.catalog, &script.text).filter(|batch| !batch.is_heterogeneous())
    else {
        return Vec::new();
    };
    let release = release(&script.text);
    let (from, before) = AFFECTED;
    let unaffected = release.is_some_and(|release| release < from || release >= before);
    let elsewhere = ["SRUN_CPUS_PER_TASK", "SLURM_CPU_BIND", "SRUN_OPT"];
    let Some(cpus) = batch.number("cpus-per-task").filter(|cpus| *cpus > 1) else { return Vec::new() };
    if unaffected || elsewhere.iter().any(|name| script.text.contains(name)) {
        return Vec::new();
    }
    let Some((line, _)) = batch.commands.iter().find(|(_, command)| lacks_cpus(command)) else {
        return Vec::new();
    };
    let fix = "Add `--cpus-per-task=$SLURM_CPUS_PER_TASK` to srun, or `export \
        SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK` before it";
    vec![match release {
        Some((year, month)) => {
            let message = format!(
                "srun of Slurm {year}.{month:02} does not take --cpus-per-task={cpus} from the job; each \
                 task gets 1 CPU"
            );
            Found::warning(*line, message, fix)
        }
        None => {
            let message = format!(
                "srun of Slurm 22.05 and 23.02 does not take --cpus-per-task={cpus} from the job; each task \
                 gets 1 CPU there"
            );
            Found::note(*line, message, fix)
        }
    }]
}

/// Whether a command is a step that says nothing of its CPUs.
fn lacks_cpus(command: &str) -> bool {
    let words = split(command, true);
    let own = |word: &String| {
        let long = ["--cpus-per-", "--cpu-bind", "--overcommit", "--cpus_per"];
        long.iter().any(|name| word.starts_with(name))
            || word.starts_with("-c") && word[2..].chars().all(|letter| letter.is_ascii_digit())
            // What a variable holds is not known.
            || word.starts_with('$')
    };
    words.first().is_some_and(|word| word == "srun") && !words.iter().any(own)
}

/// The release of Slurm that a script names: `slurm/23.02.7`, `Slurm 24.05`.
fn release(text: &str) -> Option<(u32, u32)> {
    let lower = text.to_ascii_lowercase();
    lower.match_indices("slurm").find_map(|(at, name)| {
        let rest = lower[at + name.len()..].trim_start_matches([' ', '/', '-', '=', 'v', ':']);
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
        let mut parts = rest[..end].split('.');
        let (year, month) = (parts.next()?, parts.next()?);
        let two = |part: &str| part.len() == 2;
        (two(year) && two(month)).then(|| Some((year.parse().ok()?, month.parse().ok()?)))?
    })
}
