//! A command for a container or another machine that the script's own shell cuts at `&&`.

use catalog::Catalog;

use crate::programs;
use crate::read::docker_run::DockerRun;
use crate::read::dockerfile::command::{Command, Word};
use crate::read::handed;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "command-cut-at-operator",
    severity: Severity::Error,
    summary: "commands with `&&` for containers and other machines are in quotes",
    explain: include_str!("command_cut_at_operator.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "run.sh",
            "docker run --rm --gpus all -v $PWD:/work pytorch/pytorch cd /work && python train.py\n",
        ),
        named("run.sh", "apptainer exec --nv torch.sif source /opt/venv/bin/activate && python train.py\n"),
        named("run.sh", "docker exec -it trainer export NCCL_DEBUG=INFO\n"),
        named("run.sh", "ssh node2 cd /workspace && python train.py\n"),
        named(
            "run.sh",
            "for h in a b; do ssh -n $h source /x/env.sh; torchrun --nnodes=2 t.py & done\nwait\n",
        ),
        named("run.sh", "srun -N2 cd /x && python train.py\n"),
        named("run.sh", "kubectl exec trainer-0 -- cd /workspace && ls\n"),
    ],
    silent: &[
        named("run.sh", "docker run --rm image bash -c \"cd /work && python train.py\"\n"),
        named("run.sh", "docker run --rm -w /work image python train.py && echo done\n"),
        named(
            "run.sh",
            "ssh node2 'cd /workspace && python train.py'\nssh node2 \"source env.sh; python t.py\"\n",
        ),
        named("run.sh", "ssh node2 mkdir -p /x && rsync -a . node2:/x\nssh node2 true && echo up\n"),
        named("run.sh", "docker run --entrypoint bash image -c 'cd /x'\ncd /x && docker compose up\n"),
        named("run.sh", "ssh node2 cd /x \\&\\& python train.py\n"),
    ],
};

/// Commands that a shell has inside and no file system.
const BUILTINS: &[&str] =
    &["cd", "source", ".", "export", "unset", "ulimit", "alias", "set", "eval", "shopt"];
/// Programs that were meant to run on the other side.
fn was_meant(program: &str) -> bool {
    programs::is_launcher(program)
        || programs::is_shell(program)
        || matches!(program, "docker" | "vllm" | "pip" | "conda")
}

fn judge(script: &Script) -> Vec<Found> {
    let commands = &script.commands;
    let found = commands.iter().enumerate().filter_map(|(at, command)| {
        if command.program() == "ssh" {
            return over_ssh(command, commands.get(at + 1));
        }
        let (first, whose) = started(script.catalog, command)?;
        if !BUILTINS.contains(&first.text.as_str()) || first.quoted {
            return None;
        }
        let rest = match command.after {
            "&&" => "; what comes after `&&` would run outside of it",
            _ => "",
        };
        let message =
            format!("{} is a shell builtin, not a program: {whose} cannot start it{rest}", first.text);
        let fix = "Write `bash -c 'cd … && …'` with the whole command in quotes";
        Some(Found::error(first.line.max(command.line), message, fix))
    });
    found.collect()
}

/// The program that a container or a step starts, and who starts it.
fn started<'c>(catalog: &Catalog, command: &'c Command) -> Option<(&'c Word, &'static str)> {
    let words = &command.words;
    let behind = |at: usize| words.get(at);
    match command.program() {
        "docker" | "podman" | "nerdctl" => {
            if let Some(run) = DockerRun::read(catalog, command) {
                return run
                    .behind
                    .first()
                    .filter(|_| !run.has("entrypoint"))
                    .map(|word| (word, "the container"));
            }
            let verb = 1 + usize::from(command.word(1) == "container");
            (command.word(verb) == "exec").then_some(())?;
            let valued = ["-e", "--env", "-u", "--user", "-w", "--workdir", "--env-file", "--detach-keys"];
            let mut at = verb + 1;
            while let Some(word) = words.get(at).filter(|word| word.text.starts_with('-')) {
                at += 1 + usize::from(valued.contains(&word.text.as_str()));
            }
            behind(at + 1).map(|word| (word, "the container"))
        }
        "apptainer" | "singularity" if command.word(1) == "exec" => {
            let image = words.iter().position(|word| {
                let text = &word.text;
                text.ends_with(".sif") || text.starts_with("docker://") || text.starts_with("library://")
            })?;
            behind(image + 1).map(|word| (word, "the container"))
        }
        "kubectl" | "oc" if command.has("exec") => {
            let dashes = words.iter().position(|word| word.text == "--")?;
            behind(dashes + 1).map(|word| (word, "the container"))
        }
        "srun" => {
            // Without its table of options: all words before the program are options in one word.
            let first = words.iter().skip(1).position(|word| !word.text.starts_with('-'))?;
            behind(first + 1).map(|word| (word, "srun"))
        }
        _ => None,
    }
}

/// `ssh HOST cd X && python …`
fn over_ssh(command: &Command, next: Option<&Command>) -> Option<Found> {
    let host = handed::host_of_ssh(command)?;
    let first = command.words.get(host + 1)?;
    let next = next?;
    let cut = matches!(command.after, "&&" | ";") && next.line == command.line;
    let builtin = ["cd", "source", ".", "export"].contains(&first.text.as_str()) && !first.quoted;
    let rest =
        command.words[host + 1..].iter().any(|word| word.text.contains("&&") || word.text.contains(';'));
    let program = next.program();
    let meant = was_meant(program) || programs::is_python(program);
    let message = format!(
        "the shell of this machine ends the command of ssh at `{}`: {program} runs here, not on the other \
         machine",
        command.after
    );
    (cut && builtin && !rest && meant).then(|| {
        let fix = "Put the whole command in quotes: `ssh HOST 'cd … && …'`";
        Found::error(first.line.max(command.line), message, fix)
    })
}
