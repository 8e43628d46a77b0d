//! The number of a job as a port.

use crate::read::sbatch::Batch;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "job-id-as-port",
    severity: Severity::Warning,
    summary: "ports that are made from the ID of a job stay below 65536",
    explain: include_str!("job_id_as_port.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("job.sbatch", "#!/bin/bash\n#SBATCH -N2\nexport MASTER_PORT=$SLURM_JOB_ID\nsrun python t.py\n"),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH -N2\nMASTER_PORT=$((10000 + SLURM_JOB_ID))\nsrun python t.py\n",
        ),
        named("job.sbatch", "#!/bin/bash\n#SBATCH -N2\nsrun torchrun --master-port=${SLURM_JOBID} t.py\n"),
    ],
    silent: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH -N2\nexport MASTER_PORT=$((10000 + SLURM_JOB_ID % 20000))\nsrun python \
             t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH -N2\nMASTER_PORT=$(expr 10000 + $(echo -n $SLURM_JOBID | tail -c 4))\nsrun \
             python t.py\nMASTER_PORT=1${SLURM_JOB_ID: -4}\n",
        ),
        named("job.sbatch", "#!/bin/bash\n#SBATCH -N2\nsrun torchrun --rdzv-id=$SLURM_JOB_ID t.py\n"),
    ],
};

/// What stands before a port.
const PORTS: &[&str] = &[
    "MASTER_PORT=",
    "--master_port=",
    "--master-port=",
    "--master_port ",
    "--master-port ",
    "--main_process_port ",
    "--main_process_port=",
];
const IDS: &[&str] = &["SLURM_JOB_ID", "SLURM_JOBID", "SLURM_ARRAY_JOB_ID"];

fn judge(script: &Script) -> Vec<Found> {
    let Some(batch) = Batch::read(script.catalog, &script.text) else { return Vec::new() };
    batch.commands.iter().filter_map(|(line, command)| fault(*line, command)).collect()
}

fn fault(line: usize, command: &str) -> Option<Found> {
    let id = PORTS.iter().find_map(|before| {
        let at = command.find(before)? + before.len();
        whole(value(&command[at..]))
    })?;
    let message = format!("the port is ${id} itself; the IDs of jobs exceed 65535, the highest port");
    let fix = format!("Use a remainder: `MASTER_PORT=$((20000 + {id} % 20000))`");
    Some(Found::warning(line, message, fix))
}

/// The text up to the end of a word; blanks in brackets and quotes belong to it.
fn value(text: &str) -> &str {
    let mut depth = 0_i32;
    let mut quoted = false;
    let end = text.find(|letter: char| {
        match letter {
            '(' | '{' => depth += 1,
            ')' | '}' => depth -= 1,
            '"' => quoted = !quoted,
            _ => {}
        }
        depth < 0 || (depth == 0 && !quoted && (letter.is_whitespace() || letter == ';'))
    });
    &text[..end.unwrap_or(text.len())]
}

/// The ID that a port is, if it is nothing else, or its sum with a number.
fn whole(value: &str) -> Option<&'static str> {
    let bare: String = value.chars().filter(|letter| !"${}()\"' +".contains(*letter)).collect();
    IDS.iter().copied().find(|id| {
        let rest = bare.replacen(id, "", 1);
        bare.contains(id) && rest.chars().all(|letter| letter.is_ascii_digit())
            // `1$SLURM_JOB_ID` is longer still, and `$SLURM_JOB_ID-1` is none of these.
            && !rest.contains('-')
    })
}
