//! Two starts of ranks at the same time on one machine, with one port.

use std::collections::BTreeMap;

use crate::read::dockerfile::command::Command;
use crate::read::script::{Script, in_functions};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "master-port-taken",
    severity: Severity::Error,
    summary: "launchers that run at the same time on a machine have ports of their own",
    explain: include_str!("master_port_taken.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "run.sh",
            "CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=2 a.py &\nCUDA_VISIBLE_DEVICES=2,3 torchrun \
             --nproc_per_node=2 b.py &\nwait\n",
        ),
        named(
            "run.sh",
            "for i in 0 1 2 3; do\n  CUDA_VISIBLE_DEVICES=$i torchrun --nproc_per_node=1 train.py --seed \
             $i &\ndone\n\
             wait\n",
        ),
        named(
            "run.sh",
            "accelerate launch --gpu_ids 0,1 --num_processes 2 --main_process_port 29501 a.py \
             &\naccelerate launch \
             --gpu_ids 2,3 --num_processes 2 --main_process_port 29501 b.py &\nwait\n",
        ),
    ],
    silent: &[
        named(
            "run.sh",
            "torchrun --master_port 29500 --nproc_per_node=2 a.py &\ntorchrun --master_port=29501 \
             --nproc_per_node=2 \
             b.py &\nwait\n",
        ),
        named(
            "run.sh",
            "torchrun --standalone --nproc_per_node=2 a.py &\ntorchrun --standalone --nproc_per_node=2 \
             b.py &\nwait\n",
        ),
        named(
            "run.sh",
            "for i in 0 1; do\n  CUDA_VISIBLE_DEVICES=$i torchrun --nproc_per_node=1 \
             --master_port=$((29500 + i)) t.py \
             &\ndone\nwait\ntorchrun --nproc_per_node=2 a.py\ntorchrun --nproc_per_node=2 b.py\n",
        ),
        named(
            "run.sh",
            "export MASTER_PORT=$((20000 + RANDOM % 1000))\ntorchrun --nproc_per_node=2 a.py \
             &\nwait\ntorchrun \
             --nproc_per_node=2 b.py &\nwait\n",
        ),
        named("run.sh", "for h in a b; do\n  ssh $h torchrun --nproc_per_node=2 t.py &\ndone\nwait\n"),
        named(
            "run.sh",
            "torchrun --nproc_per_node=2 a.py &\nA=$!\nwait $A\ntorchrun --nproc_per_node=2 b.py &\nwait\n",
        ),
    ],
};

/// The port of torchrun and accelerate where none is given.
const DEFAULT: &str = "29500";

fn judge(script: &Script) -> Vec<Found> {
    // A port in the environment is one for all, or one that this does not see.
    if script.text.contains("MASTER_PORT") || script.text.contains("PET_") {
        return Vec::new();
    }
    let in_function = in_functions(&script.text);
    let mut running: BTreeMap<String, usize> = BTreeMap::new();
    for command in &script.commands {
        if command.program() == "wait" {
            running.clear();
        }
        let Some(port) = port(command) else { continue };
        if in_function(command.line) || command.after != "&" {
            continue;
        }
        // A loop starts the command again before it ends, unless it waits in between.
        let waits = script
            .commands
            .iter()
            .any(|one| matches!(one.program(), "wait" | "sem") && one.loops > 0 && one.line > command.line);
        let again = command.loops > 0 && !waits;
        let before = running.insert(port.clone(), command.line);
        let message = match before {
            Some(line) => format!(
                "the start in line {line} still runs and listens on port {port}, which this one takes, too: \
                 `EADDRINUSE: address already in use`"
            ),
            None if again => format!(
                "each turn of the loop starts a launcher in the background, and all of them listen on port \
                 {port}: \
                 `EADDRINUSE: address already in use`"
            ),
            None => continue,
        };
        let fix = "Add `--standalone`, which takes a free port, or a `--master_port` of its own";
        return vec![Found::error(command.line, message, fix).unless_certain(command.certain || again)];
    }
    Vec::new()
}

/// The port on which the ranks of a command meet on this machine.
fn port(command: &Command) -> Option<String> {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let accelerate = command.program() == "accelerate" && words.get(1) == Some(&"launch");
    let names: &[&str] = match command.program() {
        "torchrun" => &["--master_port", "--master-port"],
        _ if accelerate => &["--main_process_port", "--main-process-port"],
        _ => return None,
    };
    // Of other ways to meet, and of files that may have a port, nothing is known here.
    let elsewhere =
        ["--standalone", "--rdzv", "--nnodes", "--config_file", "--node_rank", "--num_machines", "--cpu"];
    let single = accelerate
        && words.windows(2).any(|two| two[0].replace('-', "_").ends_with("num_processes") && two[1] == "1");
    // A variable before the program may hold options.
    let script = words.iter().position(|word| word.ends_with(".py") || *word == "-m").unwrap_or(words.len());
    let (own, rest) = words.split_at(script);
    let known = |word: &str| elsewhere.iter().any(|name| word.starts_with(name));
    let hidden = own.iter().any(|word| word.starts_with('$') || known(word));
    if single || hidden || rest.is_empty() {
        return None;
    }
    let given = words.iter().enumerate().find_map(|(at, word)| {
        names.iter().find_map(|name| match word.strip_prefix(name)? {
            "" => words.get(at + 1).map(|next| (*next).to_owned()),
            rest => rest.strip_prefix('=').map(str::to_owned),
        })
    });
    let several = accelerate && !words.iter().any(|word| word.contains("num_processes"));
    match given {
        Some(port) => (port.bytes().all(|byte| byte.is_ascii_digit()) && port != "0").then_some(port),
        None => (!several).then(|| DEFAULT.to_owned()),
    }
}
