//! A loop over hosts that gives each of them the same rank.

use crate::programs::option;
use crate::read::assigned;
use crate::read::dockerfile::command::Command;
use crate::read::handed;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "node-rank-fixed",
    severity: Severity::Error,
    summary: "a loop that starts torchrun on several hosts gives each its own node rank",
    explain: include_str!("node_rank_fixed.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "launch.sh",
            "HOSTS=(gpu-a gpu-b)\nNODE_RANK=0\nfor host in \"${HOSTS[@]}\"; do\n  ssh \"$host\" \"\n    cd \
             /p &&\n    \
             torchrun --nnodes=${#HOSTS[@]} --nproc_per_node=8 --node_rank=$NODE_RANK --master_addr=gpu-a \
             t.py\n  \
             \" > log.$host 2>&1 &\ndone\nwait\n",
        ),
        named(
            "launch.sh",
            "for h in a b c; do\n  ssh $h 'torchrun --nnodes 3 --node_rank 0 --master_addr a t.py' \
             &\ndone\nwait\n",
        ),
        named(
            "launch.sh",
            "for h in a b; do\n  ssh $h \"accelerate launch --num_machines 2 --machine_rank 0 \
             --num_processes 16 \
             --main_process_ip a t.py\" &\ndone\nwait\n",
        ),
    ],
    silent: &[
        named(
            "launch.sh",
            "NODE_RANK=0\nfor h in a b; do\n  ssh $h \"torchrun --nnodes=2 --node_rank=$NODE_RANK \
             --master_addr=a \
             t.py\" &\n  NODE_RANK=$((NODE_RANK + 1))\ndone\nwait\n",
        ),
        named(
            "launch.sh",
            "NODE_RANK=0\nfor h in a b; do\n  ssh $h \"torchrun --nnodes=2 --node_rank=$NODE_RANK \
             --master_addr=a \
             t.py\" &\n  ((NODE_RANK++)) || true\ndone\nwait\n",
        ),
        // Each machine has its own.
        named(
            "launch.sh",
            "for h in a b; do\n  ssh $h 'source /etc/job.env; torchrun --nnodes=2 --node_rank=$NODE_RANK \
             --master_addr=a t.py' &\ndone\nwait\n",
        ),
        named(
            "launch.sh",
            "for h in a b; do\n  ssh $h 'torchrun --nnodes=1 --node_rank=0 t.py' &\ndone\nwait\n",
        ),
        named(
            "launch.sh",
            "for h in a b; do\n  ssh $h \"torchrun --nnodes=2 --node_rank=0 --rdzv_backend=c10d \
             --rdzv_endpoint=a:29400 t.py\" &\ndone\nwait\n",
        ),
        // Another try on the same machine.
        named(
            "launch.sh",
            "for try in 1 2 3; do\n  ssh $HEAD \"torchrun --nnodes=2 --node_rank=0 --master_addr=a t.py\" && \
             break\ndone\n",
        ),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let looped = script.commands.iter().enumerate();
    let looped = looped.filter(|(_, one)| one.loops > 0 && one.program() == "ssh");
    looped.filter_map(|(at, command)| fault(script, at, command)).take(1).collect()
}

fn fault(script: &Script, at: usize, command: &Command) -> Option<Found> {
    let host = handed::host_of_ssh(command)?;
    // The host is what the loop goes through.
    let through: Vec<String> = script.commands[..at]
        .iter()
        .filter(|one| one.loops > 0)
        .flat_map(|one| assigned::of_commands(std::slice::from_ref(one)))
        .map(|one| one.name)
        .collect();
    let hosts = assigned::used(&command.words[host].text);
    let handed =
        handed::of_command(command).into_iter().find(|text| text.reader == handed::Reader::Remote)?;
    let variable = hosts.iter().find(|name| through.contains(name))?;
    handed.commands().iter().find_map(|one| {
        let words: Vec<&str> = one.words.iter().map(|word| word.text.as_str()).collect();
        let ranks = ["node_rank", "machine_rank"];
        let (own, rank) = ranks.iter().find_map(|name| Some((*name, option(&words, &[name])?)))?;
        let nodes = option(&words, &["nnodes", "num_machines"])?;
        let several = nodes.parse::<u64>().map_or(nodes.contains('#'), |count| count > 1);
        let other = option(&words, &["rdzv_backend"]).is_some_and(|backend| backend != "static");
        if !several || other {
            return None;
        }
        let name = rank.strip_prefix('$').map(|name| name.trim_matches(['{', '}']));
        let number = match name {
            None => rank.parse::<u64>().ok()?,
            Some(name) if !handed.literal => constant(script, name)?,
            Some(_) => return None,
        };
        let message = format!(
            "the loop starts every host of ${variable} with --{own} {number}; nodes with the same rank \
             cannot form a process group"
        );
        let fix = match name {
            Some(name) => format!("Add `{name}=$(({name} + 1))` at the end of the loop"),
            None => "Count the hosts in the loop and pass the counter as the node rank".to_owned(),
        };
        Some(Found::error(command.line, message, fix))
    })
}

/// The number that a variable has in every round: the script sets it once, outside of loops.
fn constant(script: &Script, name: &str) -> Option<u64> {
    let sets = assigned::of_script(script);
    let mut own = sets.iter().filter(|one| one.name == name);
    let (one, None) = (own.next()?, own.next()) else { return None };
    // `((NODE_RANK++))`, `let NODE_RANK+=1`, `read NODE_RANK`
    let changes = script.text.lines().enumerate().any(|(index, line)| {
        let arithmetic =
            line.contains("((") && !line.contains("$((") || line.trim_start().starts_with("let ");
        let grows = [format!("{name}+="), format!("{name}++"), format!("++{name}")];
        index + 1 != one.line
            && line.contains(name)
            && (arithmetic || grows.iter().any(|it| line.contains(it)))
    });
    let looped = script.commands.iter().any(|command| command.line == one.line && command.loops > 0);
    (!changes && !looped).then(|| one.value.as_deref()?.parse().ok())?
}
