//! A loop that starts the nodes of a job one after the other.

use std::cell::OnceCell;

use crate::programs;
use crate::read::assigned::{self, Assigned};
use crate::read::dockerfile::command::Command;
use crate::read::handed;
use crate::read::posix::masked;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "nodes-started-in-turn",
    severity: Severity::Error,
    summary: "a loop over nodes or ranks starts each in the background",
    explain: include_str!("nodes_started_in_turn.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "run.sh",
            "HOSTS=(a b)\nfor h in \"${HOSTS[@]}\"; do\n  ssh -n \"$h\" \"cd /x && exec torchrun \
             --nnodes=${#HOSTS[@]} --rdzv-backend=c10d --rdzv-endpoint=a:29400 t.py\"\ndone\n",
        ),
        named(
            "run.sh",
            "i=0\nwhile read -r h; do\n  ssh -n $h \"torchrun --nnodes 4 --node_rank $i --master_addr a \
             t.py\"\n  \
             i=$((i+1))\ndone < hosts\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\nfor ((i = 0; i < 2; i++)); do\n  srun -N1 -n1 -w ${nodes[$i]} \
             torchrun \
             --nnodes=2 --node_rank=$i --master_addr=$head t.py\ndone\nwait\n",
        ),
        named("run.sh", "for i in 0 1 2 3; do\n  RANK=$i WORLD_SIZE=4 LOCAL_RANK=$i python train.py\ndone\n"),
        named(
            "run.sh",
            "for i in 0 1; do\n  docker exec node$i torchrun --nnodes=2 --node_rank=$i --master_addr=node0 \
             t.py\ndone\n",
        ),
    ],
    silent: &[
        named(
            "run.sh",
            "for h in a b; do\n  ssh $h \"torchrun --nnodes=2 --rdzv-endpoint=a:29400 t.py\" &\ndone\nwait\n",
        ),
        named(
            "run.sh",
            "for h in a b; do\n  ssh -f $h \"torchrun --nnodes=2 --rdzv-endpoint=a:1 t.py\"\ndone\n",
        ),
        named(
            "run.sh",
            "for h in a b; do\n  ssh $h \"nohup torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=a:1 \
             t.py > log 2>&1 &\"\ndone\n",
        ),
        named(
            "run.sh",
            "for lr in 1 2; do\n  torchrun --standalone --nproc_per_node=8 t.py --lr $lr\ndone\n",
        ),
        named("run.sh", "for h in a b; do\n  ssh $h docker run -d image torchrun --nnodes=2 t.py\ndone\n"),
        named(
            "run.sh",
            "for h in a b; do\n  (ssh $h \"torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=a:1 \
             t.py\") &\ndone\nwait\n",
        ),
        named(
            "run.sh",
            "for try in 1 2 3; do\n  torchrun --nnodes=2 --node_rank=$R --master_addr=$A t.py && \
             break\ndone\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\nfor lr in 1 2; do\n  srun torchrun --nnodes=2 --rdzv_id=$lr \
             t.py\ndone\n",
        ),
    ],
};

/// Commands in loops that are looked at: each is compared with the rest of the script.
const LOOPED_LIMIT: usize = 200;

fn judge(script: &Script) -> Vec<Found> {
    let sets = assigned::of_script(script);
    let mask = masked(&script.text);
    let looped = script.commands.iter().enumerate().filter(|(_, command)| command.loops > 0);
    let looped = looped.take(LOOPED_LIMIT);
    looped.filter_map(|(at, command)| fault(script, at, command, &sets, &mask)).take(1).collect()
}

fn fault(script: &Script, at: usize, command: &Command, sets: &[Assigned], mask: &str) -> Option<Found> {
    if command.after == "&" || command.piped || is_backgrounded(command.line, &script.text, mask) {
        return None;
    }
    let variables = OnceCell::new();
    let names = |text: &str| {
        let variables = variables.get_or_init(|| loop_variables(&script.commands[..at]));
        assigned::used(text).iter().any(|name| variables.contains(name))
    };
    let program = command.program();
    let (start, each) = match program {
        "ssh" => {
            let host = handed::host_of_ssh(command)?;
            let detached = command.words[1..host].iter().any(|word| {
                word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('f')
            });
            let handed = handed::of_command(command).into_iter().next()?;
            let text = handed.text.text.clone();
            // The text returns at once where it starts something in the background.
            let inner = masked(&text);
            let returns =
                ["nohup", "setsid", "tmux", "screen", "systemd-run", "sbatch", "docker run -d", "-itd"]
                    .iter()
                    .any(|word| text.contains(word))
                    || has_background(&inner)
                    || text.contains("detach");
            if detached || returns {
                return None;
            }
            let start = handed.commands().into_iter().find_map(|one| needed(&one, sets))?;
            (start, names(&command.words[host].text))
        }
        "docker" | "podman" | "kubectl" => {
            let detached = ["-d", "--detach", "-itd", "-dit", "-tid"].iter().any(|word| command.has(word));
            if detached || !matches!(command.word(1), "exec" | "run") {
                return None;
            }
            (needed(command, sets)?, names(&command.text()))
        }
        "srun" => {
            let place = command.words.iter().any(|word| {
                ["-w", "--nodelist", "--relative", "-r"].iter().any(|one| word.text.starts_with(one))
            });
            (needed(command, sets)?, place && names(&command.text()))
        }
        _ => {
            let own = command.sets.iter().any(|(name, word)| {
                matches!(name.as_str(), "RANK" | "NODE_RANK" | "PET_NODE_RANK") && names(&word.text)
            });
            let option = command.text();
            let rank = ["--node_rank", "--node-rank", "--machine_rank", "--rank"].iter().any(|name| {
                option.split_once(name).is_some_and(|(_, rest)| {
                    rest.trim_start_matches(['=', ' ']).split_whitespace().next().is_some_and(&names)
                })
            });
            (needed(command, sets)?, own || rank)
        }
    };
    if !each {
        return None;
    }
    let others = match start.count {
        None => "others".to_owned(),
        Some(2) => "other one".to_owned(),
        Some(count) => format!("{} others", count.saturating_sub(1)),
    };
    let message = format!(
        "the loop waits for {program} before it starts the next: the first waits for the {others}, which \
         never start ({})",
        start.option
    );
    let fix = "Put `&` after the command and `wait` after the loop";
    Some(Found::error(command.line, message, fix).unless_certain(start.count.is_some()))
}

/// Why a process waits for others.
struct Start {
    /// How many there are, where the file shows it.
    count: Option<u64>,
    option: String,
}

/// Whether a command starts a process of a job that needs the others.
fn needed(command: &Command, sets: &[Assigned]) -> Option<Start> {
    let text = command.text();
    if !(text.contains("python") || programs::names_launcher(&text))
        || text.contains("--no_ssh") && !text.contains("node_rank")
    {
        return None;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let options = ["--nnodes", "--num_machines", "--num-machines"];
    let given = words.iter().enumerate().find_map(|(at, word)| {
        let (name, attached) =
            word.split_once('=').map_or((*word, None), |(name, value)| (name, Some(value)));
        let value = attached.or_else(|| words.get(at + 1).copied())?;
        options.contains(&name).then(|| (format!("{name} {value}"), value.to_owned()))
    });
    let size = || {
        let (name, word) = command.sets.iter().find(|(name, _)| name == "WORLD_SIZE")?;
        Some((format!("{name}={}", word.text), word.text.clone()))
    };
    let (option, value) = given.or_else(size)?;
    let value = resolved(&value, sets);
    let count = value.rsplit(':').next().and_then(|most| most.parse::<u64>().ok());
    // An elastic job may begin with the fewest.
    let elastic = value.split_once(':').is_some_and(|(least, _)| least == "1");
    let several = count.map_or_else(|| value.contains("{#") || value.contains('$'), |count| count > 1);
    (several && !elastic).then_some(Start { count, option })
}

/// The value of a variable that the script sets once, and how long a list is.
fn resolved(value: &str, sets: &[Assigned]) -> String {
    let value = value.trim_matches(['"', '\'', ';']);
    let name = value.trim_start_matches("${").trim_start_matches('$').trim_end_matches('}');
    let mut all = sets.iter().filter(|one| one.name == name && value.starts_with('$'));
    match (all.next(), all.next()) {
        (Some(one), None) => one.value.clone().filter(|value| value.parse::<u64>().is_ok()),
        _ => None,
    }
    .unwrap_or_else(|| value.to_owned())
}

/// The names that the loops around a command change.
fn loop_variables(before: &[Command]) -> Vec<String> {
    let changed = before.iter().filter(|command| command.loops > 0);
    let mut names: Vec<String> = Vec::new();
    for command in changed {
        let text = command.text();
        names.extend(assigned::of_commands(std::slice::from_ref(command)).into_iter().map(|one| one.name));
        // `for ((i = 0; …`
        if let Some(name) =
            text.split_whitespace().next().filter(|_| text.contains('=') || text.contains("++"))
        {
            names.push(name.trim_end_matches(['+', '=']).to_owned());
        }
    }
    // What is computed from them changes with them; the list itself does too.
    names
}

/// Whether `&` ends a command.
fn has_background(mask: &str) -> bool {
    let bytes = mask.as_bytes();
    bytes.iter().enumerate().any(|(at, byte)| {
        let before = at.checked_sub(1).and_then(|at| bytes.get(at)).copied().unwrap_or(b' ');
        let after = bytes.get(at + 1).copied().unwrap_or(b' ');
        *byte == b'&' && !matches!(before, b'&' | b'>' | b'<' | b'|') && !matches!(after, b'&' | b'>')
    })
}

/// Whether something between a line and the end of its loop goes to the background, or the loop itself does.
fn is_backgrounded(line: usize, text: &str, mask: &str) -> bool {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let rest = mask.get(start..).unwrap_or_default();
    let is_edge =
        |letter: Option<char>| letter.is_none_or(|letter| letter.is_whitespace() || ";&|)".contains(letter));
    let end = rest
        .match_indices("done")
        .map(|(at, word)| (at, at + word.len()))
        .find(|(from, to)| is_edge(rest[..*from].chars().next_back()) && is_edge(rest[*to..].chars().next()));
    let end = end.map_or(rest.len(), |(_, to)| rest[to..].find('\n').map_or(rest.len(), |more| to + more));
    has_background(&rest[..end])
}
