//! Two starts of ranks at the same time on one machine, with one port.

use std::collections::{BTreeMap, BTreeSet};

use crate::programs::option;
use crate::read::dockerfile::command::{Command, assignment};
use crate::read::dockerfile::expand::{Value, Variables, expand};
use crate::read::script::{Script, ShellFunction, function_at, functions};
use crate::read::script_values::{self, behind_builtin, name_of};
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
        named(
            "sweep.sh",
            "run() {\n  local gpus=$1 seed=$2\n  CUDA_VISIBLE_DEVICES=$gpus torchrun --nnodes=1 \
             --nproc_per_node=4 train.py --seed \"$seed\"\n}\nrun 0,1,2,3 1 &\nrun 4,5,6,7 2 &\nwait\n",
        ),
        named(
            "sweep.sh",
            "start() {\n  torchrun --nproc_per_node \"$1\" --master_port=\"$2\" t.py > \"$3\" 2>&1 &\n}\n\
             start 2 29511 a.log\nstart 2 29511 b.log\nwait\n",
        ),
    ],
    silent: &[
        named(
            "sweep.sh",
            "run() {\n  local gpus=\"$1\" port=\"$2\"\n  CUDA_VISIBLE_DEVICES=\"$gpus\" torchrun \
             --nnodes=1 --nproc_per_node=4 --master-port=\"$port\" t.py\n}\nrun 0,1,2,3 29501 &\n\
             run 4,5,6,7 29502 &\nwait\n",
        ),
        named(
            "sweep.sh",
            "run() {\n  torchrun --nproc_per_node=8 t.py --lr $1\n}\nrun 1 &\nwait\nrun 2 &\nwait\n\
             run 3\nrun 4\n",
        ),
        named(
            "run.sh",
            "torchrun --master_port 29500 --nproc_per_node=2 a.py &\ntorchrun --master_port=29501 \
             --nproc_per_node=2 \
             b.py &\nwait\n",
        ),
        named(
            "sweep.sh",
            "run() {\n  local name=$1\n  shift\n  torchrun --nproc_per_node=2 --master_port=$1 t.py > \
             $name.log\n}\nrun 29500 29511 &\nrun 29500 29512 &\nwait\n",
        ),
        named(
            "sweep.sh",
            "run() {\n  set -- $(ports $1)\n  torchrun --nproc_per_node=2 --master_port=$1 t.py\n}\n\
             run 29511 &\nrun 29511 &\nwait\n",
        ),
        named(
            "sweep.sh",
            "run() {\n  local port=29500\n  if [ \"$1\" = b ]; then port=29501; fi\n  torchrun \
             --nproc_per_node=2 --master_port=$port t.py\n}\nrun a &\nrun b &\nwait\n",
        ),
        named(
            "sweep.sh",
            "run() {\n  local port=29500\n  while lsof -i :$port; do port=29501; done\n  torchrun \
             --nproc_per_node=2 --master_port=$port t.py\n}\nrun &\nsleep 60\nrun &\nwait\n",
        ),
        named(
            "sweep.sh",
            "run() {\n  local port=29500\n  case $1 in b) port=29501;; esac\n  torchrun --nproc_per_node=2 \
             --master_port=$port t.py\n}\nrun a &\nrun b &\nwait\n",
        ),
        named(
            "sweep.sh",
            "run() {\n  local port=29500\n  ((port += $1))\n  torchrun --nproc_per_node=2 \
             --master_port=$port t.py\n}\nrun 1 &\nrun 2 &\nwait\n",
        ),
        named(
            "sweep.sh",
            "run() {\n  local port=29500\n  let port+=$1\n  torchrun --nproc_per_node=2 \
             --master_port=$port t.py\n}\nrun 1 &\nrun 2 &\nwait\n",
        ),
        named(
            "sweep.sh",
            "run() {\n  local port=29500\n  read -r port < port.$1\n  torchrun --nproc_per_node=2 \
             --master_port=$port t.py\n}\nrun 1 &\nrun 2 &\nwait\n",
        ),
        named(
            "sweep.sh",
            "run() {\n  local port=29500\n  source ports.$1\n  torchrun --nproc_per_node=2 \
             --master_port=$port t.py\n}\nrun 1 &\nrun 2 &\nwait\n",
        ),
        named(
            "sweep.sh",
            "run() {\n  set $(hostname) $(ports)\n  torchrun --nproc_per_node=2 --master_port=$2 t.py\n}\n\
             run a 29511 &\nrun b 29511 &\nwait\n",
        ),
        // `$10` is `${1}0`.
        named(
            "sweep.sh",
            "run() {\n  torchrun --nproc_per_node=2 --master_port=$10 t.py\n}\nrun 2951 a b c d e f g h \
             29500 &\nrun 2952 a b c d e f g h 29500 &\nwait\n",
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
    let commands = script_values::commands(script);
    let functions = Functions::of(script, &commands);
    let waits: Vec<usize> = commands
        .iter()
        .filter(|one| matches!(one.program(), "wait" | "sem") && one.loops > 0)
        .map(|one| one.line)
        .collect();
    let last_wait = waits.iter().copied().max().unwrap_or_default();
    let mut running: BTreeMap<String, usize> = BTreeMap::new();
    let mut calls = 0;
    for command in commands.iter().filter(|one| !functions.contain(one.line)) {
        if command.program() == "wait" || functions.waiting.contains(command.program()) {
            running.clear();
        }
        calls += usize::from(functions.commands.contains_key(command.program()));
        if calls > CALLS_LIMIT {
            break;
        }
        for start in functions.starts(command) {
            if !start.behind {
                continue;
            }
            // A loop starts the command again before it ends, unless it waits in between.
            let again = command.loops > 0 && last_wait <= command.line;
            let before = running.insert(start.port.clone(), command.line);
            let port = &start.port;
            let message = match before {
                Some(line) => format!(
                    "the launcher started in line {line} is still running on port {port}, which this one \
                     uses too (`EADDRINUSE: address already in use`)"
                ),
                None if again => format!(
                    "each iteration starts a launcher in the background on the same port {port} \
                     (`EADDRINUSE: address already in use`)"
                ),
                None => continue,
            };
            let fix = "Add `--standalone`, which takes a free port, or a `--master_port` of its own";
            let certain = start.certain && (command.certain || again);
            return vec![Found::error(command.line, message, fix).unless_certain(certain)];
        }
    }
    Vec::new()
}

/// A start of ranks with a known port.
struct Start {
    port: String,
    /// Whether the script goes on while it runs.
    behind: bool,
    certain: bool,
}

/// The functions of a script that start ranks.
struct Functions<'c> {
    all: Vec<ShellFunction>,
    /// Their commands, by name.
    commands: BTreeMap<String, Vec<&'c Command>>,
    /// Those that wait.
    waiting: BTreeSet<String>,
}

impl<'c> Functions<'c> {
    fn of(script: &Script, commands: &'c [Command]) -> Functions<'c> {
        let all = functions(&script.text);
        let mut by_name: BTreeMap<String, Vec<&Command>> = BTreeMap::new();
        for command in commands {
            if let Some(one) = function_at(&all, command.line) {
                by_name.entry(one.name.clone()).or_default().push(command);
            }
        }
        let waiting =
            by_name.iter().filter(|(_, commands)| commands.iter().any(|one| one.program() == "wait"));
        let waiting = waiting.map(|(name, _)| name.clone()).collect();
        // Other arguments than those of the call.
        let shifts = |one: &&Command| one.program() == "shift" || sets_arguments(one);
        by_name.retain(|_, commands| {
            commands.len() <= FUNCTION_LIMIT
                && commands.iter().any(|one| raw_port(one).is_some())
                && !commands.iter().any(shifts)
        });
        Functions { all, commands: by_name, waiting }
    }

    fn contain(&self, line: usize) -> bool {
        function_at(&self.all, line).is_some()
    }

    /// The starts that a command is, or makes by a function of the script.
    fn starts(&self, command: &Command) -> Vec<Start> {
        let behind = command.after == "&";
        if let Some(port) = raw_port(command) {
            let known = is_port(&port).then_some(port);
            return known.into_iter().map(|port| Start { port, behind, certain: true }).collect();
        }
        let Some(inner) = self.commands.get(command.program()) else { return Vec::new() };
        let waits = inner.iter().any(|one| one.program() == "wait");
        let mut variables = Variables::default();
        let mut found = Vec::new();
        for one in inner {
            set_locals(one, command, &mut variables);
            let Some(port) = raw_port(one) else {
                forget(one, &mut variables);
                continue;
            };
            let port = with_arguments(&port, command, &variables).filter(|port| is_port(port));
            let behind = behind || one.after == "&" && !waits;
            found.extend(port.map(|port| Start { port, behind, certain: one.certain }));
        }
        found
    }
}

/// The longest function that is read, in commands, and how many calls of such functions.
const FUNCTION_LIMIT: usize = 100;
const CALLS_LIMIT: usize = 200;

/// Whether a command gives a function other arguments: `set a b`, `set -- $(ports)`.
fn sets_arguments(command: &Command) -> bool {
    let mut words = command.words.iter().skip(1).map(|word| word.text.as_str());
    while let Some(word) = words.next() {
        match word {
            "-o" | "+o" => {
                words.next();
            }
            _ if word != "--" && word.starts_with(['-', '+']) => {}
            _ => return command.program() == "set",
        }
    }
    false
}

/// Forgets what a command may set: all that `eval` and `source` reach, a variable whose name it is given
/// (`read -r port`, `((port += 1))`, `let port+=1`).
fn forget(one: &Command, variables: &mut Variables) {
    match behind_builtin(one).0 {
        "eval" | "source" | "." => *variables = Variables::default(),
        "local" | "declare" | "readonly" | "echo" => {}
        _ => {
            let names: Vec<&str> = one.words.iter().map(|word| name_of(&word.text)).collect();
            names.into_iter().filter(|name| !name.is_empty()).for_each(|name| variables.remove(name));
        }
    }
}

/// `local port=$3 log=x`, `port=$3`: what a function calls the words that it is called with.
fn set_locals(one: &Command, call: &Command, variables: &mut Variables) {
    let named = match one.program() {
        "local" | "declare" | "readonly" => one.words[1..].iter().filter_map(assignment).collect(),
        _ if one.words.is_empty() => one.sets.clone(),
        _ => Vec::new(),
    };
    // What runs under a condition, or several times, may leave another value.
    let sure = one.certain && one.loops == 0;
    for (name, word) in named {
        let text = with_arguments(&word.text, call, variables).filter(|_| sure);
        variables.set(&name, Value { text, default: false });
    }
}

/// A text of a function with the words of the call for `$1` and `${2}`; nothing where it is not known.
fn with_arguments(text: &str, call: &Command, variables: &Variables) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('$') {
        out.push_str(before);
        let bare = behind.trim_start_matches('{');
        let closed = behind.starts_with('{');
        // `$10` is `${1}0`.
        let most = if closed { bare.len() } else { 1 };
        let digits = bare.bytes().take(most).take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            out.push('$');
            rest = behind;
            continue;
        }
        let word = call.words.get(bare[..digits].parse::<usize>().ok()?).filter(|word| word.known)?;
        out.push_str(&word.text);
        rest = if closed { bare[digits..].strip_prefix('}')? } else { &bare[digits..] };
    }
    out.push_str(rest);
    let whole = expand(&out, variables);
    whole.known.then_some(whole.text)
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() && text != "0"
}

/// The port on which the ranks of a command meet on this machine, as it is written.
fn raw_port(command: &Command) -> Option<String> {
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
    let single = accelerate && option(&words, &["num_processes"]).as_deref() == Some("1");
    // A variable before the program may hold options.
    let script = words.iter().position(|word| word.ends_with(".py") || *word == "-m").unwrap_or(words.len());
    let (own, rest) = words.split_at(script);
    // One node is this one.
    let one_node = |at: usize| {
        let value = own[at].split_once('=').map(|(_, value)| value).or(own.get(at + 1).copied());
        own[at].starts_with("--nnodes") && matches!(value, Some("1" | "1:1"))
    };
    let known = |at: usize| elsewhere.iter().any(|name| own[at].starts_with(name)) && !one_node(at);
    let valued = ["per_node", "num_processes", "port", "gpu_ids"];
    let value_of = |at: usize| {
        let before = if at > 0 { own[at - 1].replace('-', "_") } else { String::new() };
        before.starts_with("__") && valued.iter().any(|end| before.ends_with(end))
    };
    let list = |at: usize| own[at].starts_with('$') && !value_of(at);
    if single || (0..own.len()).any(|at| list(at) || known(at)) || rest.is_empty() {
        return None;
    }
    let given = words.iter().enumerate().find_map(|(at, word)| {
        names.iter().find_map(|name| match word.strip_prefix(name)? {
            "" => words.get(at + 1).map(|next| (*next).to_owned()),
            rest => rest.strip_prefix('=').map(str::to_owned),
        })
    });
    let several = accelerate && !words.iter().any(|word| word.contains("num_processes"));
    given.or_else(|| (!several).then(|| DEFAULT.to_owned()))
}
