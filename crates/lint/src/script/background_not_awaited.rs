//! A batch job that ends while its steps still run.

use crate::programs;
use crate::read::dockerfile::command::Command;
use crate::read::sbatch::Batch;
use crate::read::script::{Script, in_functions};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "background-not-awaited",
    severity: Severity::Error,
    summary: "scripts wait for the processes that they start in the background",
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
        named(
            "all.sh",
            "D=/scratch/$USER\nfor g in 0 1; do\n  CUDA_VISIBLE_DEVICES=$g python embed.py --to \
             \"$D/emb/$g.npy\" > \"$D/$g.log\" 2>&1 &\ndone\nmv \"$D\"/emb/*.npy /data/\n",
        ),
        named(
            "all.sh",
            "T=$(mktemp -d)\npython a.py --work \"$T/a\" &\npython b.py --work \"$T/b\" &\necho done\nrm -rf \
             \"$T\"\n",
        ),
    ],
    silent: &[
        named("job.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:2\npython a.py &\npython b.py &\nwait\n"),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:2\nnvidia-smi dmon > log &\nsrun python a.py\n"),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:2\npython a.py &\ntail -f --pid=$! log\n"),
        named("run.sh", "python a.py &\n"),
        named("all.sh", "python a.py --to $D/a.npy &\nwait\ncat $D/*.npy > all\n"),
        named("all.sh", "python a.py --to $D/a.npy &\npython b.py --to $D/b.npy\nrm -rf $D\n"),
        named("all.sh", "python a.py --to $D/a.npy > $D/log &\ncat $D/in/*.npy > all\n"),
        named("all.sh", "python a.py --to $D/a.npy &\nPID=$!\ntail --pid=$PID -f /dev/null\ncat $D/*.npy\n"),
    ],
};

/// Commands that end at once.
const QUICK: &[&str] =
    &["echo", "date", "printf", "true", ":", "exit", "done", "fi", "hostname", "set", "export", "unset"];

fn judge(script: &Script) -> Vec<Found> {
    let mut words = script.text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    if words.any(|word| word == "wait") {
        return Vec::new();
    }
    if let Some(found) = taken_too_early(script) {
        return vec![found];
    }
    if Batch::read(script.catalog, &script.text).is_none() {
        return Vec::new();
    }
    let last = script.commands.iter().rposition(|command| !is_quick(command));
    let Some(command) = last.and_then(|at| script.commands.get(at)) else { return Vec::new() };
    if !runs_on(command) {
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

/// Whether a command goes on in the background for a while.
fn runs_on(command: &Command) -> bool {
    let program = command.program();
    let long = programs::is_python(program) || programs::starts_tasks(program) || program == "bash";
    command.after == "&" && long
}

/// Commands that take files as they are at that moment.
const TAKES: &[&str] = &["cat", "mv", "cp", "tar", "rm", "wc", "sort", "gzip", "zip", "rsync"];
/// What waits in another way than `wait`, or ends what it has started.
const WAITS: &[&str] =
    &["kill", "jobs", "fg", "--pid", "sleep", "while", "until", "pgrep", "flock", "inotifywait"];

/// A command that takes or removes what processes in the background are still writing.
fn taken_too_early(script: &Script) -> Option<Found> {
    if WAITS.iter().any(|word| script.text.contains(word)) {
        return None;
    }
    let in_function = in_functions(&script.text);
    let commands = &script.commands;
    let last = commands.iter().rposition(|one| runs_on(one) && !in_function(one.line))?;
    let behind = commands[last + 1..].iter();
    let quick = |one: &&Command| is_quick(one) || TAKES.contains(&one.program()) || one.program() == "mkdir";
    let mut quick = behind.take_while(quick);
    let taking = quick.find_map(|one| {
        let certain = one.certain && one.loops == 0 && TAKES.contains(&one.program());
        let word = one.words.iter().skip(1).filter(|_| certain).find(|word| {
            let paths = commands[..=last]
                .iter()
                .filter(|one| runs_on(one))
                .flat_map(|one| one.words.iter().skip(1).chain(&one.writes));
            let mut paths = paths.map(|path| path.text.rsplit('=').next().unwrap_or_default());
            paths.any(|path| takes(one, &word.text, path))
        })?;
        Some((one, word))
    });
    let (one, word) = taking?;
    let program = commands[last].program();
    let message = format!(
        "`{} {}` runs at once, while {program} of line {} still writes there in the background",
        one.program(),
        word.text,
        commands[last].line
    );
    Some(Found::error(one.line, message, "Put `wait` before this command"))
}

/// Whether a command takes a path by a word: `rm -rf DIR`, `cat DIR/part-*.json`.
fn takes(command: &Command, word: &str, path: &str) -> bool {
    let removes = command.program() == "rm"
        && command.words.iter().any(|word| word.text.starts_with('-') && word.text.contains(['r', 'R']));
    if removes && !word.contains('*') && !word.starts_with('-') {
        let folder = word.trim_end_matches('/');
        return !folder.is_empty() && path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    }
    let Some((start, end)) = word.split_once('*') else { return false };
    let end = end.rsplit('*').next().unwrap_or_default();
    let inner = path.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
    start.contains('/')
        && end.len() > 1
        && inner.is_some_and(|inner| !inner.is_empty() && !inner.contains('/'))
}
