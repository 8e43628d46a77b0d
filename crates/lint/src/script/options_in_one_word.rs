//! Options that a script keeps in one text and hands on as one word.

use crate::programs;
use crate::read::assigned::{self, Assigned};
use crate::read::dockerfile::command::Command;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "options-in-one-word",
    severity: Severity::Error,
    summary: "programs get each option as a word of its own",
    explain: include_str!("options_in_one_word.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "run.sh",
            "ARGS=\"--lr 1e-4 --batch-size 8 --epochs 3\"\ntorchrun --standalone --nproc_per_node=4 \
             train.py \"$ARGS\"\n",
        ),
        named("run.sh", "OPTS='--gpus all --ipc=host'\ndocker run \"${OPTS}\" image python t.py\n"),
        named("run.sh", "D=\"--nnodes=2 --nproc_per_node=8\"\ntorchrun \"$D\" t.py\n"),
        named("run.sh", "A=\"--model m --port 8000\"\nA=\"$A --seed 1\"\nexec vllm serve \"$A\"\n"),
    ],
    silent: &[
        named("run.sh", "ARGS=\"--lr 1e-4 --epochs 3\"\npython train.py $ARGS\n"),
        named("run.sh", "ARGS=(--lr 1e-4 --epochs 3)\npython train.py \"${ARGS[@]}\"\n"),
        named(
            "run.sh",
            "ARGS=\"--lr 1e-4 --epochs 3\"\npython train.py --extra-args \"$ARGS\"\nssh h \"$ARGS\"\n",
        ),
        named("run.sh", "ARGS=\"--lr 1e-4 --epochs 3\"\necho \"$ARGS\"\nbash -c \"python t.py $ARGS\"\n"),
        named("run.sh", "NAME=\"a -- b\"\npython train.py --name x \"$NAME\"\n"),
        named("run.sh", "ARGS=\"--lr=1\"\npython train.py \"$ARGS\"\n"),
    ],
};

/// Programs that take options, besides those that many rules know.
const PROGRAMS: &[&str] = &["vllm", "sbatch", "llamafactory-cli", "axolotl", "trtllm-serve"];

fn judge(script: &Script) -> Vec<Found> {
    let sets = assigned::of_script(script);
    script.commands.iter().filter_map(|command| fault(command, &sets)).collect()
}

fn fault(command: &Command, sets: &[Assigned]) -> Option<Found> {
    let program = command.program();
    let known =
        programs::is_python(program) || programs::starts_tasks(program) || programs::is_engine(program);
    if !known && !PROGRAMS.contains(&program) {
        return None;
    }
    command.words.iter().enumerate().skip(1).find_map(|(at, word)| {
        let inner = word.text.strip_prefix('$').filter(|_| word.quoted)?;
        let name = inner.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(inner);
        let plain = !name.is_empty() && name.chars().all(|one| one.is_ascii_alphanumeric() || one == '_');
        // The value of an option may be a text of options.
        let before = &command.words[at - 1].text;
        let of_option = before.starts_with('-') && !before.contains('=') && !is_flag(before);
        if !plain || of_option {
            return None;
        }
        let values: Vec<&Assigned> =
            sets.iter().filter(|one| one.name == name && one.line <= command.line).collect();
        let fits = |one: &&Assigned| one.value.as_deref().is_some_and(|value| is_several(value, name));
        if values.is_empty() || !values.iter().all(fits) {
            return None;
        }
        let message = format!(
            "\"${name}\" in quotes is one word with spaces: {program} gets all options of it as one \
             argument, and \
             refuses it"
        );
        let fix = format!(
            "Make it an array: `{name}=(--a 1 --b 2)` and `\"${{{name}[@]}}\"`, or leave the \
         quotes out"
        );
        Some(
            Found::error(word.line.max(command.line), message, fix)
                .unless_certain(command.certain || command.loops > 0),
        )
    })
}

/// Options of launchers without a value.
fn is_flag(word: &str) -> bool {
    [
        "--standalone",
        "--rm",
        "-it",
        "-d",
        "--multi_gpu",
        "--no_python",
        "-i",
        "-t",
        "--init",
        "--use_deepspeed",
    ]
    .contains(&word)
}

/// Whether a text is several options: `--lr 1e-4 --epochs 3`.
fn is_several(value: &str, name: &str) -> bool {
    let value = value.trim();
    let own =
        [format!("${name}"), format!("${{{name}}}")].iter().any(|start| value.starts_with(start.as_str()));
    let is_option = |word: &&str| {
        word.starts_with("--") && word.len() > 3
            || word.len() > 1 && word.starts_with('-') && !word[1..].starts_with(['-', '0', '1'])
    };
    let options = value.split_whitespace().filter(is_option).count();
    (value.starts_with('-') && options > 1) || (own && options > 0)
}
