//! Options of `accelerate launch` that contradict each other.

use crate::read::launch::{Launch, Launches};
use crate::read::launcher::Launcher;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "accelerate-launch-contradicts",
    severity: Severity::Error,
    summary: "options of `accelerate launch` fit each other and the number of machines",
    explain: include_str!("accelerate_launch_contradicts.md"),
    judge: Judge::Launch(judge),
    fires: &[
        named("run.sh", "accelerate launch --multi_gpu --num_processes 1 train.py\n"),
        named("run.sh", "accelerate launch --use_deepspeed --use_fsdp --num_processes 8 train.py\n"),
        named(
            "run.sh",
            "accelerate launch --num_machines 4 --num_processes 2 --machine_rank 0 --main_process_ip a \
             train.py\n",
        ),
        named(
            "run.sh",
            "# 8 x H100 on each node\naccelerate launch --num_machines 2 --num_processes 8 --machine_rank \
             0 --main_process_ip a train.py\n",
        ),
        named(
            "run.sh",
            "# Two machines with eight H100 each\naccelerate launch --num_machines 2 --num_processes 8 \
             --machine_rank $R --main_process_ip a train.py\n",
        ),
        named(
            "run.sh",
            "GPUS_PER_NODE=8\nNODES=2\naccelerate launch \\\n  --num_machines $NODES \\\n  --num_processes \
             $GPUS_PER_NODE \\\n  --machine_rank $1 --main_process_ip a train.py\n",
        ),
        named(
            "run.sh",
            "N=$(nvidia-smi -L | wc -l)\nif [ \"$N\" -ne 4 ]; then\n  echo \"wants 4 GPUs per machine, found \
             $N\"\n  exit 1\nfi\naccelerate launch --num_machines 3 --num_processes 12 --machine_rank $1 \
             --main_process_ip a x.py\naccelerate launch --num_machines 2 --num_processes 4 --machine_rank \
             $1 \
             --main_process_ip a x.py\n",
        ),
        named("run.sh", "accelerate launch --num_machines 2 --num_processes 16 train.py\n"),
        named("run.sh", "accelerate launch --mixed_precision float16 train.py\n"),
    ],
    silent: &[
        named(
            "run.sh",
            "echo \"starting 16 GPUs, 8 per node\"\naccelerate launch --num_machines 2 --num_processes 16 \
             --machine_rank $1 --main_process_ip a x.py\n",
        ),
        named(
            "run.sh",
            "GPUS_PER_NODE=8\nNODES=2\naccelerate launch --num_machines $NODES --num_processes \
             $((GPUS_PER_NODE * NODES)) --machine_rank $1 --main_process_ip a train.py\n",
        ),
        named(
            "run.sh",
            "GPUS_PER_NODE=8\nNODES=1\naccelerate launch --num_machines $NODES --num_processes \
             $GPUS_PER_NODE train.py\n",
        ),
        named(
            "run.sh",
            "GPUS_PER_NODE=8\naccelerate launch --num_machines 2 --num_processes ${GPUS_PER_NODE}0 \
             --machine_rank 0 --main_process_ip a train.py\n",
        ),
        named(
            "run.sh",
            "GPUS_PER_NODE=8\nTOTAL=16\naccelerate launch --num_machines 2 --num_processes $TOTAL \
             --machine_rank $1 --main_process_ip a train.py\n",
        ),
        named(
            "run.sh",
            "python submit.py --num_nodes 8 -- accelerate launch --num_machines 8 --num_processes 64 t.py\n",
        ),
        named(
            "run.sh",
            "accelerate launch --multi_gpu --num_processes 8 --mixed_precision bf16 train.py --use_fsdp\n",
        ),
        named(
            "run.sh",
            "accelerate launch --num_machines 2 --num_processes 16 --machine_rank $R --main_process_ip a \
             --main_process_port 29500 train.py\n",
        ),
        named(
            "run.sh",
            "accelerate launch --config_file c.yaml --num_machines 2 --num_processes 16 train.py\n",
        ),
    ],
};

fn judge(launches: &Launches) -> Vec<Found> {
    let accelerate = launches.launches.iter().filter(|launch| launch.launcher == Launcher::Accelerate);
    let found = accelerate.filter_map(|launch| {
        let found = exclusive(launch).or_else(|| machines(launch, launches)).or_else(|| precision(launch))?;
        Some(found.unless_certain(launch.certain))
    });
    found.collect()
}

fn exclusive(launch: &Launch) -> Option<Found> {
    let kinds = ["multi_gpu", "cpu", "tpu", "use_deepspeed", "use_fsdp"];
    let mut given = kinds.iter().filter_map(|kind| launch.options.get(kind));
    let (first, second) = (given.next(), given.next());
    if let (Some(first), Some(second)) = (first, second) {
        let message =
            format!("--{} and --{} exclude each other; accelerate refuses them", first.name, second.name);
        return Some(Found::error(second.line, message, "Use one of them"));
    }
    let one = launch.options.get("num_processes").filter(|one| one.value.as_deref() == Some("1"))?;
    let message = "--multi_gpu needs at least 2 processes; accelerate refuses it";
    launch.options.has("multi_gpu").then(|| Found::error(one.line, message, "Remove --multi_gpu"))
}

fn machines(launch: &Launch, launches: &Launches) -> Option<Found> {
    let options = &launch.options;
    let machines = options.number("num_machines").filter(|machines| *machines > 1)?;
    if let Some(found) = total(launch, machines, launches) {
        return Some(found);
    }
    // A program that gets the command behind `--` may add options for each machine.
    let own = launch.words.iter().position(|word| word.text.rsplit('/').next() == Some("accelerate"));
    let handed = own.is_some_and(|own| launch.words[..own].iter().any(|word| word.text == "--"));
    let from_file = options.has("config_file") || !options.complete || handed;
    let names = ["machine_rank", "main_process_ip"];
    let missing = names.into_iter().find(|name| !options.has(name)).filter(|_| !from_file)?;
    let line = options.get("num_machines").map_or(launch.line, |one| one.line);
    let message = format!(
        "--num_machines {machines} without --{missing}; the machines do not meet, unless accelerate's \
         default \
         configuration has it"
    );
    Some(Found::warning(line, message, format!("Add --{missing}")))
}

/// A number of processes that does not fit the machines.
fn total(launch: &Launch, machines: u64, launches: &Launches) -> Option<Found> {
    let one = launch.options.get("num_processes")?;
    let processes = launch.options.number("num_processes")?;
    let all = format!("--num_processes is the total of all machines: {processes} over {machines}");
    if processes < machines || processes % machines != 0 {
        let message = format!("{all} is not a whole number for each");
        let found = Found::error(one.line, message, "Multiply the processes of one machine by the machines");
        return Some(found.unless_certain(processes < machines));
    }
    let line = launches.text.lines().nth(one.line.saturating_sub(1)).unwrap_or_default();
    let said = match of_one_machine(line) {
        Some(name) => format!("${name} is the number of one machine"),
        None if launches.comments().any(|comment| counts_each(comment, processes, machines)) => {
            format!("a comment has {processes} GPUs on each")
        }
        None if messages(launches).any(|message| counts_each(message, processes, machines)) => {
            format!("a message of the script has {processes} GPUs on each")
        }
        None => return None,
    };
    let message = format!("{all} starts {} on each, but {said}", processes / machines);
    Some(Found::warning(one.line, message, format!("Set --num_processes {}", processes * machines)))
}

/// The variable for one machine that a line gives as the number of processes: `--num_processes
/// $GPUS_PER_NODE`.
fn of_one_machine(line: &str) -> Option<&str> {
    const NAMES: &[&str] = &["PER_NODE", "PER_MACHINE", "PER_HOST", "ON_NODE"];
    let options = ["--num_processes", "--num-processes"];
    let rest = options.iter().find_map(|option| line.split_once(option))?.1;
    let word = rest.trim_start_matches(['=', ' ', '"']);
    let name = word.strip_prefix("${").or_else(|| word.strip_prefix('$'))?;
    let end =
        name.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(name.len());
    let (name, after) = name.split_at(end);
    let after = after.trim_start_matches(['}', '"']);
    let alone = after.is_empty() || after.starts_with([' ', '\\']);
    let upper = name.to_ascii_uppercase();
    (alone && NAMES.iter().any(|part| upper.contains(part))).then_some(name)
}

/// What the script tells people: the lines with `echo`.
fn messages(launches: &Launches) -> impl Iterator<Item = &str> {
    let lines = launches.text.lines().map(str::trim);
    lines.filter(|line| line.starts_with("echo ") || line.starts_with("printf "))
}

/// Whether a comment says that each of the machines has so many GPUs as all processes together.
pub(crate) fn counts_each(comment: &str, processes: u64, machines: u64) -> bool {
    let text = comment.to_ascii_lowercase();
    let each = (processes / machines.max(1)).to_string();
    let words = text.split(|c: char| !c.is_alphanumeric());
    // `16 GPUs, 8 on each node`
    let share = words.into_iter().any(|word| word.trim_end_matches('x') == each);
    has_gpus(&text, processes)
        && !share
        && ["each", "per node", "per machine", "nodes"].iter().any(|word| text.contains(word))
}

/// Whether a comment has a number of GPUs: `8 x H100`, `eight A100`, `8 GPUs`.
fn has_gpus(text: &str, count: u64) -> bool {
    const NUMBERS: &[&str] = &["zero", "one", "two", "three", "four", "five", "six", "seven", "eight"];
    const CARDS: &[&str] =
        &["gpu", "h100", "h200", "b200", "a100", "v100", "a10", "a40", "l40", "l4", "rtx", "x"];
    let spelled = usize::try_from(count).ok().and_then(|count| NUMBERS.get(count).copied());
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '×').collect();
    words.windows(2).any(|pair| {
        let number = pair[0].trim_end_matches(['x', '×']);
        let is_count = number.parse::<u64>().ok() == Some(count) || Some(number) == spelled;
        is_count && (pair[1] == "×" || CARDS.iter().any(|card| pair[1].starts_with(card)))
    })
}

fn precision(launch: &Launch) -> Option<Found> {
    let one = launch.options.get("mixed_precision")?;
    let value = one.value.as_deref().filter(|value| !["no", "fp16", "bf16", "fp8"].contains(value))?;
    let message =
        format!("--mixed_precision {value} is not one of no, fp16, bf16 and fp8; accelerate refuses it");
    Some(Found::error(one.line, message, "Use bf16 on Ampere and newer GPUs"))
}
