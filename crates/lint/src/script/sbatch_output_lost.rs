//! Output files of a job that Slurm cannot create, or that jobs share.

use diagnostic::Fix;

use crate::read::sbatch::{Batch, BatchOption};
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "sbatch-output-lost",
    severity: Severity::Warning,
    summary: "the output of a job goes to a file of its own in a directory that exists",
    explain: include_str!("sbatch_output_lost.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("job.sbatch", "#!/bin/bash\n#SBATCH --output=logs/%j.out\nmkdir -p logs\nsrun python t.py\n"),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --array=0-9 --output=train.out\nsrun python t.py\n"),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --output=logs/%j.out\nsrun python t.py\n"),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --array=0-3\n#SBATCH --output=logs/%A/%a.out\nmkdir -p \
             \"logs/${SLURM_ARRAY_JOB_ID}\"\nsrun python t.py\n",
        ),
        named("job.sbatch", "#!/bin/bash\n#SBATCH -o /scratch/out/%j/log.txt\nsrun python t.py\n"),
    ],
    silent: &[
        // A directory for each node or each task can exist before submission.
        named("job.sbatch", "#!/bin/bash\n#SBATCH -o /scratch/out/%N/log.txt\nsrun python t.py\n"),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --array=0-3\n#SBATCH -o /scratch/out/%a/log.txt\nsrun python t.py\n",
        ),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --array=0-9 --output=%A_%a.out\nsrun python t.py\n"),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --array=0-9 --output=/dev/null\nsrun python t.py\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let Some(batch) = Batch::read(script.catalog, &script.text) else { return Vec::new() };
    let named = ["output", "error"].into_iter().filter_map(|name| batch.option(name));
    let mut found: Vec<Found> =
        named.flat_map(|option| [shared(&batch, option), missing(&batch, option)]).flatten().collect();
    found.dedup_by(|one, other| one.line == other.line && one.message == other.message);
    found
}

/// One file for all tasks of an array.
fn shared(batch: &Batch, option: &BatchOption) -> Option<Found> {
    let value = option.value.as_deref()?;
    let has = |part: &str| value.contains(part);
    let own = has("%a") || has("%j") || has("%J");
    let append = batch.value("open-mode") == Some("append");
    let message =
        format!("every task of the array writes to {value}, and overwrites the output of the others");
    (batch.option("array").is_some() && !own && value != "/dev/null" && !append)
        .then(|| Found::warning(option.line, message, "Add %a, the index of the task"))
}

/// A directory that the job may not find.
fn missing(batch: &Batch, option: &BatchOption) -> Option<Found> {
    let value = option.value.as_deref()?;
    let (folder, _) = value.rsplit_once('/')?;
    if folder.is_empty() || folder.starts_with("/dev") || value.contains('$') {
        return None;
    }
    let expanded = in_script(folder);
    let makes = |command: &str| {
        let own = |word: &str| {
            let word = word.trim_matches(['"', '\'']).trim_end_matches('/').replace(['{', '}'], "");
            word == folder || word == expanded
        };
        command.starts_with("mkdir") && command.split_whitespace().any(own)
    };
    let late = batch.commands.iter().find(|(_, command)| makes(command));
    let message = format!(
        "Slurm before 23.02 does not create {folder} for the output file, and the job fails if it is missing"
    );
    let too_late = format!(
        "mkdir runs too late: Slurm opens the output file before the script starts and, before 23.02, does \
         not create {folder}; the job fails"
    );
    // Nobody knows the id of the job before sbatch.
    if ["%A", "%j", "%J"].iter().any(|part| folder.contains(part)) {
        let line = late.map_or(option.line, |(line, _)| *line);
        let message = match late {
            Some(_) => too_late,
            None => format!(
                "{folder} contains the job id, so it cannot exist before submission; Slurm before 23.02 does \
                 not create it, and the job fails"
            ),
        };
        let fix = format!("Put the job id into the file name: {}", named_by_id(value));
        return Some(Found::warning(line, message, fix));
    }
    // Slurm replaces %x, %u, %a and %N in the path.
    let fix = match folder.contains('%') {
        true => Fix::manual(format!("Create {folder} before sbatch")),
        false => {
            let command = format!("mkdir -p {}", diagnostic::shell::word(folder));
            Fix::run("Create the directory before sbatch:", command)
        }
    };
    match late {
        Some((line, _)) => Some(Found::warning(*line, too_late, fix)),
        None => (!folder.starts_with('/')).then(|| Found::note(option.line, message, fix)),
    }
}

/// A directory with the variables that hold in the job for what Slurm replaces.
fn in_script(folder: &str) -> String {
    let pairs = [
        ("%A", "$SLURM_ARRAY_JOB_ID"),
        ("%a", "$SLURM_ARRAY_TASK_ID"),
        ("%j", "$SLURM_JOB_ID"),
        ("%J", "$SLURM_JOB_ID"),
        ("%x", "$SLURM_JOB_NAME"),
        ("%u", "$USER"),
    ];
    pairs.iter().fold(folder.to_owned(), |text, (sign, name)| text.replace(sign, name))
}

/// The path with what names the job in the file alone: `logs/%A_%a.out` for `logs/%A/%a.out`.
fn named_by_id(value: &str) -> String {
    let mut parts: Vec<&str> = value.split('/').collect();
    let at = parts.iter().position(|part| part.contains('%')).unwrap_or_default();
    let name = parts.split_off(at).join("_");
    parts.push(&name);
    parts.join("/")
}
