//! Options of argparse that cannot be switched off, and starts with options that the script does not take.

use crate::location::OtherFile;
use crate::programs;
use crate::read::dockerfile::command::{Command, Word};
use crate::read::launch_options;
use crate::read::launcher::Launcher;
use crate::read::python::{Call, Program, string};
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};
use std::rc::Rc;

pub(crate) const RULE: Rule = Rule {
    id: "script-option-mismatch",
    severity: Severity::Error,
    summary: "scripts take the options with which they are started",
    explain: include_str!("script_option_mismatch.md"),
    judge: Judge::Training(judge),
    fires: &[
        named_with(
            "train.py",
            "import argparse\nimport torch\np = argparse.ArgumentParser()\np.add_argument(\"--lr\", \
             type=float)\n\
             p.add_argument(\"--amp\", choices=[\"fp16\", \"bf16\"])\nargs = p.parse_args()\n",
            &[("run.sh", "torchrun --standalone --nproc_per_node=4 train.py --learning-rate 1e-4\n")],
        ),
        named_with(
            "train.py",
            "import argparse\nimport torch\np = argparse.ArgumentParser()\n\
             p.add_argument(\"--amp\", choices=(\"fp16\", \"bf16\"))\nargs = p.parse_args()\n",
            &[("run.sh", "python train.py --amp=fp32\n")],
        ),
        named_with(
            "train.py",
            "import argparse\nimport torch\np = argparse.ArgumentParser()\np.add_argument(\"--data\", \
             required=True)\n\
             p.add_argument(\"-e\", \"--epochs\", type=int)\nargs = p.parse_args()\n",
            &[("run.sbatch", "#!/bin/bash\nsrun python3 train.py -e 3\n")],
        ),
        named_with(
            "sft.py",
            "import argparse\nfrom accelerate import Accelerator\n\ndef parse():\n    p = \
             argparse.ArgumentParser()\n    p.add_argument(\"--out\", required=True)\n    return \
             p.parse_args()\n",
            &[("run.sh", "accelerate launch --multi_gpu sft.py --num_processes 4 --out \"$OUT\"\n")],
        ),
        named_with(
            "t.py",
            "import argparse\nimport torch\np = argparse.ArgumentParser()\np.add_argument(\"--lr\")\n\
             args = p.parse_args()\n",
            &[("run.sh", "torchrun t.py --nproc_per_node=8 --lr 1\n")],
        ),
        named_with(
            "t.py",
            "import argparse\nimport torch\np = argparse.ArgumentParser()\np.add_argument(\"--lr\", \
             type=float)\nargs = p.parse_args()\n",
            &[("run.sh", "torchrun --standalone t.py --nproc-per-node=8 $EXTRA\n")],
        ),
        named(
            "train.py",
            "import argparse\nimport torch\np = argparse.ArgumentParser()\n\
             p.add_argument(\"--bf16\", type=bool, default=True)\nargs = p.parse_args()\n",
        ),
    ],
    silent: &[
        named_with(
            "sft.py",
            "import argparse\nfrom accelerate import Accelerator\np = argparse.ArgumentParser()\n\
             p.add_argument(\"--num-processes\", dest=\"n\", type=int)\np.add_argument(\"--num_processes\", \
             type=int)\np.add_argument(\"--out\")\nargs = p.parse_args()\n",
            &[("run.sh", "accelerate launch --multi_gpu sft.py --num_processes 4 --out \"$OUT\" \"$@\"\n")],
        ),
        named_with(
            "train.py",
            "import argparse\nimport torch\np = argparse.ArgumentParser()\ng = p.add_argument_group(\"a\")\n\
             g.add_argument(\"--learning-rate\", type=float)\np.add_argument(\"--compile\", \
             action=\"store_true\")\n\
             p.add_argument(\"--ids\", nargs=\"+\")\nargs = p.parse_args()\n",
            &[(
                "run.sh",
                "torchrun --standalone --nproc_per_node=4 train.py --learning 1e-4 --compile --ids -1 2 -3\n\
                 python train.py $ARGS\npython train.py \"$@\"\n# python train.py --old\n",
            )],
        ),
        named_with(
            "train.py",
            "import argparse\nimport deepspeed\np = argparse.ArgumentParser()\np.add_argument(\"--lr\", \
             type=float)\n\
             p = deepspeed.add_config_arguments(p)\nargs = p.parse_args()\n",
            &[("run.sh", "deepspeed train.py --deepspeed --deepspeed_config ds.json\n")],
        ),
        named_with(
            "train.py",
            "import argparse\nimport torch\np = argparse.ArgumentParser()\np.add_argument(\"--lr\", \
             type=float)\n\
             args, rest = p.parse_known_args()\n",
            &[("run.sh", "python train.py --other 1\n")],
        ),
        named("train.py", "import click\n@click.option(\"--bf16\", type=bool)\ndef main(bf16):\n    pass\n"),
    ],
};

/// An option of the parser.
struct Known {
    names: Vec<String>,
    choices: Option<Vec<String>>,
    required: bool,
    /// Whether it takes no value.
    flag: bool,
}

fn judge(program: &Program) -> Vec<Found> {
    let Some(parser) = parser(program) else { return Vec::new() };
    let adds = adds(program);
    let mut found: Vec<Found> = adds.iter().filter_map(|call| of_type_bool(call)).collect();
    if let Some(options) = options(program, parser, &adds) {
        found.extend(program.scripts.iter().flat_map(|script| {
            let read = script.script(program.catalog);
            let base = program.name.rsplit('/').next().unwrap_or_default().to_owned();
            let faults = read.commands.iter().filter_map(|command| start(command, &base, &options));
            let file = Some(Rc::new(OtherFile { path: script.name.clone(), by: None }));
            faults.map(|one| Found { file: file.clone(), ..one }).collect::<Vec<_>>()
        }));
    }
    found
}

/// The parser of a program, if it has only one.
fn parser(program: &Program) -> Option<&Call> {
    let mut parsers = program.calls.iter().filter(|call| call.name == "argparse.ArgumentParser");
    parsers.next().filter(|_| parsers.next().is_none())
}

fn adds(program: &Program) -> Vec<&Call> {
    program.calls.iter().filter(|call| call.name.ends_with("add_argument")).collect()
}

/// `type=bool`: every text but the empty one is True.
fn of_type_bool(call: &Call) -> Option<Found> {
    // Other actions do not convert a text.
    if call.keyword("action").is_some_and(|one| !one.text.contains("\"store\"")) {
        return None;
    }
    let given = call.keyword("type").filter(|one| one.text == "bool")?;
    let name = string(&call.arguments.first()?.text)?;
    let message = format!(
        "type=bool takes every text for True but the empty one: `{name} False` and `{name} 0` switch it on"
    );
    Some(Found::warning(
        given.line,
        message,
        "Use action=argparse.BooleanOptionalAction, or action=\"store_true\"",
    ))
}

/// The options of a parser, where the file shows all of them.
fn options(program: &Program, parser: &Call, adds: &[&Call]) -> Option<Vec<Known>> {
    let words = [
        "parse_known",
        "add_subparsers",
        "parents=",
        "HfArgumentParser",
        "set_defaults",
        "fromfile_prefix_chars",
    ];
    let other = words.iter().any(|word| program.text.contains(word)) || program.text.contains("allow_abbrev");
    let name = program.assignments.iter().find(|one| one.at == parser.at)?.name.as_str();
    let parses =
        program.calls.iter().filter(|call| call.name == format!("{name}.parse_args")).collect::<Vec<_>>();
    let given = parses.iter().any(|call| !call.arguments.is_empty());
    // Another function may add some.
    let handed = program.calls.iter().any(|call| {
        let own = call.arguments.iter().any(|one| one.text == name);
        own && !call.name.starts_with("print")
    });
    if other || parses.len() != 1 || given || handed {
        return None;
    }
    let mut found = Vec::new();
    for call in adds {
        if call.conditional || program.loop_at(&call.at).is_some() {
            return None;
        }
        let names: Option<Vec<String>> = call
            .arguments
            .iter()
            .filter(|one| one.name.is_none())
            .map(|one| string(&one.text).map(str::to_owned))
            .collect();
        let names = names.filter(|names| !names.is_empty() && call.keyword("*").is_none())?;
        let literal = call.keyword("choices").map(|one| {
            let inner = one.text.strip_prefix(['[', '('])?.strip_suffix([']', ')'])?;
            let items = inner.split(',').map(str::trim).filter(|item| !item.is_empty());
            items.map(|item| string(item).map(str::to_owned)).collect::<Option<Vec<String>>>()
        });
        let action = call.keyword("action").map(|one| one.text.as_str());
        found.push(Known {
            required: call.keyword("required").is_some_and(|one| one.text == "True"),
            choices: literal.flatten(),
            flag: action.is_some_and(|action| {
                action.contains("store_") || action.contains("count") || action.contains("Boolean")
            }),
            names,
        });
    }
    Some(found)
}

/// What is wrong with a start of the script.
fn start(command: &Command, base: &str, options: &[Known]) -> Option<Found> {
    // `./train.py:/app/train.py` mounts it.
    let is_script = |text: &str| text.rsplit('/').next() == Some(base) && !text.contains(':');
    let at = command.words.iter().position(|word| word.known && is_script(&word.text))?;
    let wrappers = ["uv", "torchpippy", "numactl", "nsys", "poetry", "apptainer", "singularity"];
    let program = command.program();
    if !programs::is_python(program) && !programs::starts_tasks(program) && !wrappers.contains(&program) {
        return None;
    }
    let rest: &[Word] = &command.words[at + 1..];
    // A word that only the shell knows may be any option; in quotes behind an option it is its value.
    let is_list = |at: usize| {
        let word = &rest[at];
        let alone = word.quoted && !["[@]", "$@", "[*]", "$*"].iter().any(|list| word.text.contains(list));
        let value = at > 0 && rest[at - 1].text.starts_with('-') && !rest[at - 1].text.contains('=');
        !word.known && (word.text.starts_with('$') || word.text.starts_with('"')) && !(alone && value)
    };
    let hidden = (0..rest.len()).any(is_list);
    let launcher_adds = matches!(program, "deepspeed") || command.text().contains("torch.distributed.launch");
    let mut seen: Vec<usize> = Vec::new();
    for word in rest {
        let text = word.text.as_str();
        if text == "--" {
            return None;
        }
        let option = text.starts_with("--")
            || text.len() == 2 && text.starts_with('-') && text.as_bytes()[1].is_ascii_alphabetic();
        if !option {
            continue;
        }
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        if matches!(name, "--help" | "-h") {
            return None;
        }
        let exact = options.iter().position(|one| one.names.iter().any(|known| known == name));
        let prefix = || {
            let mut all = (0..options.len()).filter(|index| {
                options[*index].names.iter().any(|known| known.starts_with("--") && known.starts_with(name))
            });
            all.next()
        };
        let negated = name.strip_prefix("--no-").map(|rest| format!("--{rest}"));
        let negated =
            negated.and_then(|name| options.iter().position(|one| one.flag && one.names.contains(&name)));
        let Some(index) = exact.or(negated).or_else(|| name.starts_with("--").then(prefix).flatten()) else {
            if launcher_adds && name.replace('_', "-") == "--local-rank" {
                continue;
            }
            let near = options.iter().flat_map(|one| &one.names).min_by_key(|known| {
                let bare = |text: &str| text.replace('_', "-");
                diagnostic::suggest::edits(&bare(known), &bare(name))
            });
            if let Some(launcher) = launcher_of(command, at).filter(|one| is_option_of(*one, name)) {
                let launcher = launcher.name();
                let message = format!(
                    "{name} is an option of {launcher}, but comes after {base}, which does not take it; \
                     argparse ends with `unrecognized arguments`"
                );
                let about = format!("--{}", name.trim_start_matches('-').replace('-', "_"));
                let fix = format!("Write {name} before {base}");
                return Some(Found::error(word.line, message, fix).about(about));
            }
            if hidden {
                return None;
            }
            let message = format!("{base} takes no {name}; argparse ends with `unrecognized arguments`");
            let fix = near.map_or_else(
                || format!("Remove {name}"),
                |near| format!("Use an option that {base} has, such as {near}"),
            );
            return Some(Found::error(word.line, message, fix));
        };
        seen.push(index);
        let known = &options[index];
        let next = rest.iter().skip_while(|other| !std::ptr::eq(*other, word)).nth(1);
        let value = value.or(next.filter(|next| next.known && !known.flag).map(|next| next.text.as_str()));
        if let (Some(choices), Some(value)) = (&known.choices, value)
            && !choices.iter().any(|choice| choice == value)
            && !value.starts_with('-')
            && !hidden
        {
            let message = format!(
                "{name} of {base} takes {}, not {value}; argparse ends with `invalid choice`",
                choices.join(", ")
            );
            let fix = format!("Use one of {}", choices.join(", "));
            return Some(Found::error(word.line, message, fix));
        }
    }
    let missing = options.iter().enumerate().find(|(index, one)| one.required && !seen.contains(index));
    let (_, missing) = missing.filter(|_| !hidden)?;
    let name = missing.names.last()?;
    let message =
        format!("{base} requires {name}, which this start does not have; argparse ends with exit status 2");
    Some(Found::error(command.line, message, format!("Add `{name} VALUE`")))
}

/// The launcher that starts the script in this place of a command.
fn launcher_of(command: &Command, script: usize) -> Option<Launcher> {
    let before: Vec<&str> = command.words[..script].iter().map(|word| word.text.as_str()).collect();
    let has = |name: &str| before.iter().any(|word| word.rsplit('/').next() == Some(name));
    match () {
        () if has("torchrun") || has("torch.distributed.run") => Some(Launcher::Torchrun),
        () if has("torch.distributed.launch") => Some(Launcher::DistributedLaunch),
        () if has("deepspeed") => Some(Launcher::Deepspeed),
        () if has("accelerate") && has("launch") => Some(Launcher::Accelerate),
        () => None,
    }
}

/// Options of `accelerate launch` that people put behind the script.
const OF_ACCELERATE: &[&str] = &[
    "num_processes",
    "num_machines",
    "machine_rank",
    "main_process_ip",
    "main_process_port",
    "multi_gpu",
    "gpu_ids",
    "config_file",
    "use_deepspeed",
    "use_fsdp",
    "deepspeed_config_file",
    "mixed_precision",
    "dynamo_backend",
];

/// Whether a launcher takes an option that its script does not take.
fn is_option_of(launcher: Launcher, option: &str) -> bool {
    let Some(name) = option.strip_prefix("--").map(|name| name.replace('-', "_")) else { return false };
    launch_options::names(launcher).contains(&name.as_str())
        || launcher == Launcher::Accelerate && OF_ACCELERATE.contains(&name.as_str())
}
