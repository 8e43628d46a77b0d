//! A launcher whose script is `python`, or whose module is a file.

use crate::read::launch::{Launch, Launches};
use crate::read::launcher::Launcher;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile, named};

pub(crate) const RULE: Rule = Rule {
    id: "launcher-given-interpreter",
    severity: Severity::Error,
    summary: "launchers get a script, or with -m a module",
    explain: include_str!("launcher_given_interpreter.md"),
    judge: Judge::Launch(judge),
    fires: &[
        named("run.sh", "torchrun --standalone --nproc_per_node=4 python train.py\n"),
        named("run.sh", "accelerate launch --num_processes 4 /opt/venv/bin/python3 train.py\n"),
        named("run.sh", "srun bash -c 'deepspeed --num_gpus 4 python3.11 train.py'\n"),
        named("run.sh", "torchrun --standalone --nproc_per_node=4 -m train.py --lr 1\n"),
        named("run.sh", "python -m torch.distributed.run --nproc_per_node=4 --module src/train --lr 1\n"),
        dockerfile(
            "FROM python:3.12\nCMD [\"torchrun\", \"--nproc_per_node=4\", \"python\", \"train.py\"]\n",
        ),
    ],
    silent: &[
        named("run.sh", "torchrun --no_python --nproc_per_node=4 python train.py\n"),
        named("run.sh", "accelerate launch --no-python --num_processes 4 python train.py\n"),
        named("run.sh", "torchrun --nproc_per_node=4 -m train --config a.py\n"),
        named("run.sh", "torchrun --nproc_per_node=4 train.py --interpreter python\n"),
        named("run.sh", "torchrun --nproc_per_node=4 $ARGS python train.py\n"),
    ],
};

fn judge(launches: &Launches) -> Vec<Found> {
    launches.launches.iter().filter_map(fault).collect()
}

fn fault(launch: &Launch) -> Option<Found> {
    let options = &launch.options;
    if launch.launcher == Launcher::Mpirun
        || !options.complete
        || options.has("no_python")
        || options.has("run_path")
    {
        return None;
    }
    let at = launch.words.len().checked_sub(options.behind.len() + 1)?;
    let script = launch.words.get(at).filter(|word| word.known && !word.text.starts_with('-'))?;
    let (text, base) = (script.text.as_str(), script.text.rsplit('/').next().unwrap_or_default());
    let name = launch.launcher.name();
    let line = script.line.max(launch.line);
    if options.has("module") {
        let is_file = text.contains('/') || text.ends_with(".py");
        let module = text.trim_end_matches(".py").trim_start_matches("./").replace('/', ".");
        let message = format!(
            "-m takes the name of a module, but {text} is a file; Python finds no module of that name"
        );
        return is_file.then(|| {
            Found::error(line, message, format!("Write `-m {module}`, or leave -m out"))
                .unless_certain(launch.certain)
        });
    }
    let version = base.strip_prefix("python")?;
    let is_python = version.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
    // A launcher with no word behind it starts nothing.
    let followed = !options.behind.is_empty();
    let message = format!("{name} takes {text} for the script to start: `can't open file` … `{base}`");
    (is_python && followed).then(|| {
        let fix = "Leave the interpreter out, or add `--no_python`";
        Found::error(line, message, fix).unless_certain(launch.certain)
    })
}
