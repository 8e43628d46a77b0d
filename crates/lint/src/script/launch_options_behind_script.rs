//! Options of a launcher behind the script that it starts.

use crate::file::Over;
use crate::read::dockerfile::command::Word;
use crate::read::launch::{Launch, Launches};
use crate::read::launcher::Launcher;
use crate::recognize::base_name;
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "launch-options-behind-script",
    severity: Severity::Warning,
    summary: "options of a launcher come before the script",
    explain: include_str!("launch_options_behind_script.md"),
    judge: Judge::Launch(judge),
    fires: &[
        named_with(
            "run.sh",
            "torchrun t.py --nproc_per_node=8 --lr 1\n",
            &[("t.py", "import torch\nfrom options import parse\nargs = parse()\n")],
        ),
        named_with(
            "scripts/run.sh",
            "torchrun t.py --nproc_per_node=8 --lr 1\n",
            &[(
                "t.py",
                "import argparse\nimport torch\np = argparse.ArgumentParser()\np.add_argument(\"--lr\")\n\
                 args = p.parse_args()\n",
            )],
        ),
        named_with(
            "run.sh",
            "torchrun t.py --nproc_per_node=8 --lr 1\n",
            &[(
                "t.py",
                "import argparse\nimport torch\np = argparse.ArgumentParser()\np.add_argument(\"--lr\")\n\
                 args = p.parse_args()\n",
            )],
        ),
        named_with(
            "run.sh",
            "ssh node2 \"torchrun t.py --nproc_per_node=8 --lr 1\"\n",
            &[(
                "t.py",
                "import argparse\nimport torch\np = argparse.ArgumentParser()\np.add_argument(\"--lr\")\n\
                 args = p.parse_args()\n",
            )],
        ),
        named("run.sh", "torchrun train.py --standalone --nproc_per_node=8 --epochs 2\n"),
        named("run.sh", "torchrun --nnodes=1 train.py --nproc-per-node 8 --lr 1\n"),
        named("run.sh", "deepspeed train.py --hostfile hosts --deepspeed ds.json\n"),
        named("run.sh", "accelerate launch train.py --num_processes 8 --num_machines 2\n"),
        named("run.sh", "accelerate launch --mixed_precision bf16 sft.py --num_processes=4 --lr 1\n"),
        named("Dockerfile", "FROM python:3.12\nCMD [\"torchrun\", \"train.py\", \"--nproc_per_node=8\"]\n"),
    ],
    silent: &[
        named_with(
            "run.sh",
            "accelerate launch --multi_gpu sft.py --num_processes 4\n",
            &[(
                "sft.py",
                "import click\n@click.option(\"--num_processes\")\ndef main(num_processes):\n    \
               pass\n",
            )],
        ),
        named("run.sh", "torchrun --standalone --nproc_per_node=8 train.py --epochs 2\n"),
        named("run.sh", "torchrun --nproc_per_node=8 train.py --nproc_per_node 8\n"),
        named("run.sh", "torchrun --nnodes=2 $ARGS train.py --nproc_per_node 8\n"),
        named("run.sh", "deepspeed --num_gpus 8 train.py --num_gpus 8\n"),
        named("run.sh", "python train.py --nproc_per_node 8\n"),
        named("run.sh", "accelerate launch --config_file a.yaml train.py --num_processes 8\n"),
        named("run.sh", "torchrun run.py -- --standalone\n"),
        named("run.sh", "srun axolotl train a.yaml --launcher torchrun -- --nproc_per_node=8 --rdzv_id a\n"),
        named_with(
            "run.sh",
            "accelerate launch --multi_gpu sft.py --num_processes 4\n",
            &[("sft.py", "import torch\nfrom options import parse\nargs = parse()\n")],
        ),
    ],
};

/// Options that scripts have none of their own of, by their launcher.
fn own(launcher: Launcher) -> &'static [&'static str] {
    match launcher {
        Launcher::Torchrun | Launcher::DistributedLaunch => {
            &["nproc_per_node", "standalone", "rdzv_endpoint", "rdzv_backend", "rdzv_id"]
        }
        Launcher::Deepspeed => &["hostfile", "include", "exclude"],
        Launcher::Accelerate => {
            &["num_machines", "machine_rank", "main_process_ip", "multi_gpu", "num_processes"]
        }
        Launcher::Mpirun => &[],
    }
}

fn judge(launches: &Launches) -> Vec<Found> {
    launches.launches.iter().filter_map(|launch| fault(launch, &launches.programs)).collect()
}

/// Whether the program that is started is known: its parser shows what it takes.
fn is_known(launch: &Launch, programs: &[Over]) -> bool {
    let word = launch.words.iter().find(|word| word.text.ends_with(".py"));
    word.is_some_and(|word| programs.iter().any(|one| base_name(&one.name) == base_name(&word.text)))
}

fn fault(launch: &Launch, programs: &[Over]) -> Option<Found> {
    let options = &launch.options;
    // Whatever a file of settings has, or words that only the shell knows, may be the launcher's part.
    if !options.complete || options.has("config_file") || !launch.certain {
        return None;
    }
    // Other programs have an option of this name, too.
    let own = |name: &str| name == "num_processes" && is_known(launch, programs);
    let words = options.behind.iter().take_while(|word| word.text != "--");
    let words = words.filter_map(|word| Some((word, name(launch.launcher, word)?)));
    let (word, name) = words.into_iter().find(|(_, name)| !own(name))?;
    let launcher = launch.launcher.name();
    let message =
        format!("{} comes after the script, which gets it; {launcher} starts without --{name}", word.text);
    (!options.has(name)).then(|| {
        let fix = format!("Write the options of {launcher} before the script");
        Found::warning(word.line, message, fix).about(format!("--{name}"))
    })
}

/// The launcher's option that a word is.
fn name(launcher: Launcher, word: &Word) -> Option<&'static str> {
    let text = word.text.strip_prefix("--")?.split('=').next()?.replace('-', "_");
    own(launcher).iter().find(|name| **name == text).copied()
}
