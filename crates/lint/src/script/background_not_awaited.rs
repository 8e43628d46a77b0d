//! A batch job that ends while its steps still run.

use crate::programs;
use crate::read::dockerfile::command::Command;
use crate::read::sbatch::Batch;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "background-not-awaited",
    severity: Severity::Error,
    summary: "a batch script waits for the processes that it starts in the background",
    explain: include_str!("background_not_awaited.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2 --gres=gpu:8\nfor i in 0 1; do\n  srun -N1 -n1 python \
             train.py $i &\n\
             done\necho started\n",
        ),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:2\npython a.py &\npython b.py &\n"),
    ],
    silent: &[
        named("job.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:2\npython a.py &\npython b.py &\nwait\n"),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:2\nnvidia-smi dmon > log &\nsrun python a.py\n"),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:2\npython a.py &\ntail -f --pid=$! log\n"),
        named("run.sh", "python a.py &\n"),
    ],
};

/// Commands that end at once.
const QUICK: &[&str] =
    &["echo", "date", "printf", "true", ":", "exit", "done", "fi", "hostname", "set", "export", "unset"];

fn judge(script: &Script) -> Vec<Found> {
    let waits = script.text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    if Batch::read(script.catalog, &script.text).is_none() || waits.into_iter().any(|word| word == "wait") {
        return Vec::new();
    }
    let last = script.commands.iter().rposition(|command| !is_quick(command));
    let Some(command) = last.and_then(|at| script.commands.get(at)) else { return Vec::new() };
    let program = command.program();
    let long = programs::is_python(program) || programs::starts_tasks(program) || program == "bash";
    if command.after != "&" || !long {
        return Vec::new();
    }
    let message = format!(
        "the script ends while {} runs in the background; Slurm then ends the job and kills it",
        command.program()
    );
    vec![
        Found::error(command.line, message, "Add `wait` as the last command").unless_certain(command.certain),
    ]
}

/// Whether a command is over at once; assignments are.
fn is_quick(command: &Command) -> bool {
    command.words.is_empty() || QUICK.contains(&command.program())
}
