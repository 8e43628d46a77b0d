//! A script that a job writes with the variables of one task, and that every task runs.

use crate::read::assigned;
use crate::read::script::{Document, Script};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "here-document-expanded-early",
    severity: Severity::Error,
    summary: "scripts that tasks run read the variables of the tasks themselves",
    explain: include_str!("here_document_expanded_early.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --ntasks=8\ncat > rank.sh <<EOF\nexport RANK=$SLURM_PROCID\npython t.py\n\
             EOF\nsrun bash rank.sh\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --ntasks=8\nRUN=/scratch/a\ncat <<-END > \"$RUN/rank.sh\"\n\tpython t.py \
             --local ${SLURM_LOCALID}\n\tEND\nchmod +x $RUN/rank.sh\nsrun --mpi=pmix $RUN/rank.sh\n",
        ),
        named(
            "run.sh",
            "tee wrap.sh <<EOF\nexport CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_LOCAL_RANK\nexec ./train\nEOF\n\
             chmod +x wrap.sh\nmpirun -np 8 ./wrap.sh\n",
        ),
    ],
    silent: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --ntasks=8\ncat > rank.sh <<'EOF'\nexport RANK=$SLURM_PROCID\npython t.py\n\
             EOF\nsrun bash rank.sh\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --ntasks=8\ncat > rank.sh <<EOF\nexport RANK=\\$SLURM_PROCID\npython t.py \
             --out $OUT\nEOF\nsrun bash rank.sh\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --ntasks=8\ncat > log.txt <<EOF\nfirst task: $SLURM_PROCID\nEOF\nsrun \
             python t.py\n",
        ),
    ],
};

/// Variables that differ from task to task.
const OF_TASK: &[&str] = &[
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "SLURMD_NODENAME",
    "SLURM_STEP_GPUS",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_NODE_RANK",
    "PMI_RANK",
    "PMIX_RANK",
    "MPI_LOCALRANKID",
];

/// Programs that start the tasks.
const STARTERS: &[&str] = &["srun", "mpirun", "mpiexec", "prun"];

fn judge(script: &Script) -> Vec<Found> {
    let plain = script.documents.iter().filter(|document| !document.quoted);
    plain.filter_map(|document| fault(script, document)).collect()
}

fn fault(script: &Script, document: &Document) -> Option<Found> {
    let by = script.commands.iter().rev().find(|one| one.heredoc.is_some() && one.line <= document.by)?;
    let target = match by.program() {
        "tee" => by.words.iter().skip(1).map(|word| &word.text).find(|word| !word.starts_with('-'))?,
        _ => &by.writes.first()?.text,
    };
    let path = target.trim_start_matches("./");
    let end = document.lines.last().map_or(document.by, |(line, _)| *line);
    let run = script.commands.iter().find(|one| {
        let words = || one.words.iter().map(|word| word.text.trim_start_matches("./"));
        one.line > end && STARTERS.contains(&one.program()) && words().any(|word| word == path)
    })?;
    let (line, name) = document.lines.iter().find_map(|(line, text)| {
        // Quotes quote nothing in a here-document.
        let used = assigned::used(&text.replace(['\'', '"'], " "));
        OF_TASK.iter().find(|name| used.contains(**name)).map(|name| (*line, *name))
    })?;
    let value = match name.starts_with("SLURM") {
        true => "the value of the batch script's own shell, the same for every task",
        false => "nothing, because it is set only in the tasks",
    };
    let message = format!(
        "${name} is replaced when the script writes {target}, not when {} runs it: by {value}",
        run.program()
    );
    Some(Found::error(line, message, format!("Write `\\${name}`, or quote the end word: `<<'EOF'`")))
}
