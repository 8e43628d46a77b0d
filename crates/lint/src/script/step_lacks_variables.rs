//! Tasks of a step that do not get the variables which the batch script exports.

use std::collections::BTreeSet;

use crate::programs;
use crate::read::assigned;
use crate::read::dockerfile::command::Command;
use crate::read::handed;
use crate::read::sbatch::Batch;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};
use catalog::Catalog;
use catalog::variables::Owner;

pub(crate) const RULE: Rule = Rule {
    id: "step-lacks-variables",
    severity: Severity::Error,
    summary: "srun hands the variables on that its tasks use",
    explain: include_str!("step_lacks_variables.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\nexport MASTER_ADDR=a\nexport MASTER_PORT=29544\nsrun \
             --export=NCCL_DEBUG=INFO,MASTER_ADDR=$MASTER_ADDR bash -c 'python train.py \
             --rdzv tcp://$MASTER_ADDR:$MASTER_PORT'\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\nexport MASTER_ADDR=a\nsrun --export NCCL_DEBUG=INFO python \
             train.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --export=NONE\nexport MASTER_ADDR=a\nexport \
             MASTER_PORT=1\nsrun \
             python train.py\n",
        ),
        named(
            "run.sh",
            "export NCCL_SOCKET_IFNAME=ib0\nsrun -N2 --export=NONE /opt/venv/bin/python train.py\n",
        ),
    ],
    silent: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\nexport MASTER_ADDR=a\nsrun --export=ALL,NCCL_DEBUG=INFO python \
             t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --export=NONE\nexport SLURM_EXPORT_ENV=ALL\nexport \
             MASTER_ADDR=a\nsrun python t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --export=NONE\nunset SLURM_EXPORT_ENV\nexport \
             MASTER_ADDR=a\nsrun python t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\nexport MASTER_ADDR=a\nsrun --export=MASTER_ADDR bash -c 'export \
             RANK=$SLURM_PROCID; python t.py'\n",
        ),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --export=NONE\nexport MASTER_ADDR=a\npython t.py\n"),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\nexport MASTER_ADDR=a\nsrun --export=NONE hostname\n",
        ),
    ],
};

/// What torch reads in each rank.
const OF_RANKS: &[&str] = &["MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE"];

fn judge(script: &Script) -> Vec<Found> {
    let batch = Batch::read(script.catalog, &script.text);
    let own = ["SLURM_EXPORT_ENV", "SRUN_EXPORT_ENV"].iter().any(|name| script.text.contains(name));
    let of_job = batch.as_ref().and_then(|batch| {
        let option = batch.option("export").filter(|_| !own && !batch.is_heterogeneous())?;
        Some((option.line, option.value.clone()?))
    });
    let exported = assigned::of_script(script).into_iter().filter(|one| one.exported);
    let exported: Vec<(String, usize)> = exported.map(|one| (one.name, one.line)).collect();
    let steps = script.commands.iter().filter(|command| command.program() == "srun");
    let found = steps.filter_map(|command| {
        let (line, list, from_job) = match option_of(command) {
            Some(list) if !own => (command.line, list, false),
            Some(_) => return None,
            None => {
                let (line, list) = of_job.clone()?;
                (line, list, true)
            }
        };
        fault(script.catalog, command, line, &list, from_job, &exported)
    });
    found.take(1).collect()
}

/// The value of `--export` of a step.
fn option_of(command: &Command) -> Option<String> {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    words.iter().enumerate().find_map(|(at, word)| match word.strip_prefix("--export") {
        Some("") => words.get(at + 1).map(|value| (*value).to_owned()),
        Some(rest) => rest.strip_prefix('=').map(str::to_owned),
        None => None,
    })
}

fn fault(
    catalog: &Catalog,
    command: &Command,
    line: usize,
    list: &str,
    from_job: bool,
    exported: &[(String, usize)],
) -> Option<Found> {
    let parts: Vec<&str> = list.split(',').map(|part| part.split('=').next().unwrap_or_default()).collect();
    let unknown = parts.iter().any(|part| part.starts_with('$'));
    if unknown || parts.iter().any(|part| part.eq_ignore_ascii_case("ALL")) {
        return None;
    }
    let above = exported.iter().filter(|(_, at)| *at < command.line).map(|(name, _)| name.as_str());
    let lacks: Vec<&str> = above.filter(|name| !parts.contains(name)).collect();
    let texts = handed::of_command(command);
    let mut used = BTreeSet::new();
    for text in texts.iter().filter(|text| text.literal) {
        let sets = assigned::of_commands(&text.commands());
        let mut names = assigned::used(&text.text.text);
        names.retain(|name| !sets.iter().any(|one| one.name == *name));
        used.append(&mut names);
    }
    let asked = lacks.iter().copied().find(|name| used.contains(*name));
    let owner =
        |name: &str| catalog.variable(name).is_some_and(|row| matches!(row.owner, Owner::Nccl | Owner::Gloo));
    let trains = command.text().contains("python") || programs::names_launcher(&command.text());
    let read =
        || lacks.iter().copied().find(|name| OF_RANKS.contains(name) || owner(name)).filter(|_| trains);
    let name = asked.or_else(read)?;
    let option = if from_job { "#SBATCH --export" } else { "--export" };
    let steps = if from_job { ", also in the steps that srun starts" } else { "" };
    let message = format!(
        "{option}={list} without ALL passes only SLURM_* and this list on{steps}: the tasks do not get {name}"
    );
    let fix = match from_job {
        true => "Add `export SLURM_EXPORT_ENV=ALL` to the script, before srun".to_owned(),
        false if parts.iter().all(|part| part.eq_ignore_ascii_case("NONE")) => {
            "Write `--export=ALL`".to_owned()
        }
        false => format!("Write `--export=ALL,{list}`"),
    };
    Some(Found::error(line, message, fix).unless_certain(asked.is_some() && command.certain))
}
