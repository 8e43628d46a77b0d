//! A text for another shell that uses a variable which only the script has.

use std::collections::BTreeSet;

use crate::read::assigned::{self, Assigned};
use crate::read::handed::{self, Handed, Reader};
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "variable-not-handed-on",
    severity: Severity::Error,
    summary: "texts in single quotes for ssh, containers and steps use variables that these have",
    explain: include_str!("variable_not_handed_on.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "run.sh",
            "nodes=(a b)\nfor i in \"${!nodes[@]}\"; do\n  ssh -n \"${nodes[$i]}\" 'cd /x && torchrun \
             --nnodes=2 \
             --master-addr=a --node-rank=$i train.py' &\ndone\nwait\n",
        ),
        named("run.sh", "for h in a b; do ssh $h bash -s <<'EOF'\necho $h\ndocker pull $image\nEOF\ndone\n"),
        named(
            "run.sh",
            "port=29500\ndocker run --rm image bash -c 'torchrun --master_port=$port train.py'\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\nhead_node=$(scontrol show hostnames | head -n1)\nsrun bash -c \
             'python \
             train.py --address ${head_node}'\n",
        ),
        named("run.sh", "RANKS=4\npdsh -w a,b 'cd /x; mpirun -np $RANKS python train.py'\n"),
    ],
    silent: &[
        named("run.sh", "for i in 0 1; do ssh a \"torchrun --node-rank=$i train.py\" & done\n"),
        named("run.sh", "for i in 0 1; do ssh a 'i=$(cat /rank); torchrun --node-rank=$i train.py' & done\n"),
        named("run.sh", "export port=1\nsrun bash -c 'train --port $port'\n"),
        named("run.sh", "port=1\ndocker run -e port=$port image bash -c 'train --port $port'\n"),
        named(
            "run.sh",
            "h=1\nssh a 'for h in 1 2; do echo $h; done; awk \"{print \\$1}\" f; echo ${h:-1}'\n",
        ),
        named("run.sh", "PATH=/x:$PATH\nssh a 'export PATH=/y:$PATH; train'\n"),
        named("run.sh", "for h in a b; do ssh $h bash -s -- \"$h\" <<'EOF'\necho \"$1\"\nEOF\ndone\n"),
        named("run.sh", "i=1\nsrun --export=ALL,i=$i bash -c 'train --index $i'\n"),
    ],
};

/// Names that the shell on the other side has of its own.
const EVERYWHERE: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "PWD",
    "OLDPWD",
    "HOSTNAME",
    "SHELL",
    "LANG",
    "TMPDIR",
    "TERM",
    "UID",
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
    "CUDA_HOME",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "RANDOM",
    "SECONDS",
    "HOST",
    "CUDA_VISIBLE_DEVICES",
    "PS1",
    "IFS",
    "OPTARG",
    "REPLY",
    "LINENO",
];

fn judge(script: &Script) -> Vec<Found> {
    let sets = assigned::of_script(script);
    let texts = handed::of_script(script);
    texts.iter().filter(|one| one.literal).filter_map(|one| fault(one, &sets)).collect()
}

fn fault(text: &Handed, sets: &[Assigned]) -> Option<Found> {
    let commands = text.commands();
    let own: BTreeSet<String> = assigned::of_commands(&commands).into_iter().map(|one| one.name).collect();
    let given = given(text);
    let known = |name: &String| {
        own.contains(name) || given.iter().any(|one| one == name) || EVERYWHERE.contains(&name.as_str())
    };
    // A file that the other shell reads may set more.
    let known_file = |name: &str| name.ends_with("activate") || name.ends_with("conda.sh");
    let reads =
        commands.iter().any(|one| matches!(one.word(0), "source" | "." | "eval") && !known_file(one.word(1)));
    let mut places = line_uses(text).into_iter();
    let (line, set) = places.find_map(|(line, name)| {
        let set = sets.iter().rev().find(|one| one.name == name && one.line <= line)?;
        let exported = sets.iter().any(|one| one.name == name && one.exported);
        let inherited = text.reader == Reader::Child && exported;
        let hidden = reads && name.chars().any(|letter| letter.is_ascii_uppercase());
        (!known(&name) && !inherited && !hidden).then_some((line, set))
    })?;
    let name = &set.name;
    let (reader, fix) = match text.reader {
        Reader::Remote => (
            "the shell on the other machine",
            "Put the text in double quotes, or pass the value on".to_owned(),
        ),
        Reader::Container => {
            ("the shell in the container", format!("Put the text in double quotes, or add `-e {name}`"))
        }
        Reader::Child => {
            ("the shell that it starts", "Export the variable, or put the text in double quotes".to_owned())
        }
    };
    let message = format!(
        "${name} is in single quotes: {reader} replaces it and does not have it; it is empty there (set in \
         line {})",
        set.line
    );
    // Names in capitals may be in the environment of the other side.
    let certain = !reads && !name.chars().any(|letter| letter.is_ascii_uppercase());
    Some(Found::error(line, message, fix).about(name).unless_certain(certain))
}

/// The names that each line of a text uses.
fn line_uses(text: &Handed) -> Vec<(usize, String)> {
    let names = assigned::used(&text.text.text);
    let place = |name: &String| {
        let text_of = &text.text.text;
        let at = [format!("${name}"), format!("${{{name}")].iter().filter_map(|one| text_of.find(one)).min();
        text.text.line_at(at.unwrap_or(0))
    };
    let mut found: Vec<(usize, String)> = names.into_iter().map(|name| (place(&name), name)).collect();
    found.sort();
    found
}

/// The names that the command hands on by itself: `-e NAME=value`, `--export=ALL,NAME=value`, `NAME=value`
/// before it, `env NAME=value` in it.
fn given(text: &Handed) -> Vec<String> {
    let command = text.by;
    let before = command.sets.iter().map(|(name, _)| name.clone());
    let words = command.words.iter().flat_map(|word| {
        let list = word.text.strip_prefix("--export=").unwrap_or(&word.text);
        let list = list.strip_prefix("--env=").or_else(|| list.strip_prefix("-e")).unwrap_or(list);
        list.split(',').map(|part| part.split('=').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    });
    let all_of_file = command.words.iter().any(|word| word.text.starts_with("--env-file"));
    let more = all_of_file.then(|| assigned::used(&text.text.text)).into_iter().flatten();
    before.filter(|_| text.reader == Reader::Child).chain(words).chain(more).collect()
}
