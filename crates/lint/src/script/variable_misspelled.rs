//! A variable that is never set, one letter away from one that is.

use std::collections::{BTreeMap, BTreeSet};

use crate::read::assigned;
use crate::read::posix::masked;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "variable-misspelled",
    severity: Severity::Error,
    summary: "scripts use the variables that they set by the same names",
    explain: include_str!("variable_misspelled.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "clean.sh",
            "#!/bin/bash\nSCRATCH_ROOT=/nvme/scratch\ndf -h \"$SCRATCH_ROOT\"\nrm -rf \"${SCRATCH_ROT}\"/*\n",
        ),
        named(
            "run.sh",
            "#!/bin/bash\nDATA_DIR=/data\nmkdir -p $DATA_DIR\npython t.py --data \"$DATA_DRI/a\"\n",
        ),
        named(
            "run.sh",
            "#!/bin/bash\n# it isn't set elsewhere\nCHECKPOINT_DIR=$1\nls $CHECKPOINT_DIR\npython t.py --out \
             ${CHECKPONT_DIR}\n",
        ),
    ],
    silent: &[
        named(
            "clean.sh",
            "#!/bin/bash\nset -u\nSCRATCH_ROOT=/nvme/scratch\nls \"$SCRATCH_ROOT\"\nrm \
             -rf \"${SCRATCH_ROT:?}\"/*\n",
        ),
        named(
            "run.sh",
            "#!/bin/bash\nNODES=$(cat hosts)\nfor n in $NODES; do\n  ssh $n $NODE_1 $HOSTS\ndone\n",
        ),
        named(
            "run.sh",
            "#!/bin/bash\nsource env.sh\nDATA_DIR=/data\nls $DATA_DIR\npython t.py --data $DATA_DRI\n",
        ),
        named(
            "run.sh",
            "#!/bin/bash\nNODES=2\necho $NODES\npython t.py --node $NODE --rank $RANK0 --r $RANK1\nRANK2=3\n",
        ),
        named("run.sh", "#!/bin/bash\nawk -v count=3 '{ print $coun }' x\ncounter=1\necho $counter\n"),
    ],
};

/// So many names that stand once are compared with those that are set.
const NAMES_LIMIT: usize = 200;
/// The shortest name that is compared.
const SHORTEST_NAME: usize = 6;

fn judge(script: &Script) -> Vec<Found> {
    // Another file may set it, or a text that is run; `set -u` names it.
    let others = script.commands.iter().any(|one| {
        let set_u = one.program() == "set"
            && one.words.iter().any(|word| word.text == "nounset" || is_letters_with_u(&word.text));
        matches!(one.program(), "source" | "." | "eval" | "module") || set_u
    });
    if others || !script.text.starts_with("#!") {
        return Vec::new();
    }
    let code = code(script);
    let sets = assigned::of_script(script);
    let (places, set_names) = (places(&script.text), sets.iter().map(|one| one.name.as_str()));
    let set_names: BTreeSet<&str> = set_names.collect();
    let times = |name: &str| places.get(name).map_or(0, Vec::len);
    let used = assigned::used(&code);
    let alone = |name: &&String| {
        name.len() >= SHORTEST_NAME && times(name) == 1 && !set_names.contains(name.as_str())
    };
    let found = used.iter().filter(alone).take(NAMES_LIMIT).filter_map(|name| {
        let at = *places.get(name.as_str())?.first()?;
        let before = code.get(..at)?;
        let is_use = before.ends_with('$') || before.ends_with("${");
        let behind = code.get(at + name.len()..)?;
        // `${A:?}` and the like end the script, or have a value of their own.
        let guarded = before.ends_with("${") && !behind.starts_with(['}', '/', '%', '[']);
        let set = sets.iter().find(|one| is_typo(name, &one.name))?;
        // The one that is meant is used, too.
        let known = times(&set.name) > 1;
        if !is_use || guarded || !known {
            return None;
        }
        let line = before.lines().count().max(1);
        let line = if before.ends_with('\n') { line + 1 } else { line };
        // `DATASET_DIR="${DATASETS_DIR}/x"`: the environment has the other one.
        if set.line == line {
            return None;
        }
        let command = script.commands.iter().rev().find(|one| one.line <= line)?;
        let path = behind.trim_start_matches(['}', '"']).starts_with('/');
        let removes = path && destroys(command, name);
        let message = match removes {
            true => format!(
                "{name} is never set ({} is, in line {}): the path becomes `/…`, and `{}` removes it",
                set.name,
                set.line,
                command.program()
            ),
            false => {
                format!("{name} is never set and is empty; {} is, in line {}", set.name, set.line)
            }
        };
        let fix = format!("Write `${}`, and `set -u` at the top of the script", set.name);
        Some(match removes {
            true => Found::error(line, message, fix).about(name),
            false => Found::warning(line, message, fix).about(name),
        })
    });
    found.collect()
}

/// `-u`, `-eu`, `-euo`.
fn is_letters_with_u(word: &str) -> bool {
    word.strip_prefix('-')
        .is_some_and(|rest| rest.contains('u') && rest.chars().all(|letter| letter.is_ascii_alphabetic()))
}

/// The text without comments and here-documents, byte by byte.
fn code(script: &Script) -> String {
    let mut blank: Vec<usize> =
        script.documents.iter().flat_map(|one| one.lines.iter().map(|(line, _)| *line)).collect();
    blank.sort_unstable();
    let mut bare = String::with_capacity(script.text.len());
    for (index, line) in script.text.split_inclusive('\n').enumerate() {
        match blank.binary_search(&(index + 1)) {
            Ok(_) => bare.extend(line.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' })),
            Err(_) => bare.push_str(line),
        }
    }
    let mask = masked(&bare);
    if mask.len() != bare.len() {
        return String::new();
    }
    let bytes = bare.bytes().zip(mask.bytes()).map(|(byte, shown)| match shown {
        b' ' if byte != b'\\' && !byte.is_ascii_whitespace() => b' ',
        _ => byte,
    });
    String::from_utf8(bytes.collect()).unwrap_or_default()
}

/// The places of each name, as a whole word.
fn places(text: &str) -> BTreeMap<&str, Vec<usize>> {
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let other = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_';
    let mut start = 0;
    for (end, letter) in text.match_indices(other).chain([(text.len(), "")]) {
        places.entry(&text[start..end]).or_default().push(start);
        start = end + letter.len();
    }
    places
}

/// Whether one letter is missing, too many, or two are swapped: not a digit, and not at the end, where a
/// plural has one more.
fn is_typo(name: &str, known: &str) -> bool {
    let (short, long) = if name.len() < known.len() { (name, known) } else { (known, name) };
    if !name.is_ascii() || !known.is_ascii() || known.len() < SHORTEST_NAME - 1 {
        return false;
    }
    let same = short.bytes().zip(long.bytes()).take_while(|(one, other)| one == other).count();
    let letter = |byte: u8| byte.is_ascii_alphabetic();
    match long.len() - short.len() {
        1 => {
            same > 0
                && same < short.len()
                && short[same..] == long[same + 1..]
                && letter(long.as_bytes()[same])
        }
        0 if same + 1 < short.len() => {
            let (one, other) = (short.as_bytes(), long.as_bytes());
            let swapped = one[same] == other[same + 1] && one[same + 1] == other[same];
            swapped && short[same + 2..] == long[same + 2..] && letter(one[same]) && letter(one[same + 1])
        }
        _ => false,
    }
}

/// Whether a command removes, moves or overwrites what a path names.
fn destroys(command: &crate::read::dockerfile::command::Command, name: &str) -> bool {
    let names = command.words.iter().any(|word| word.text.contains(name));
    let recursive = || {
        command.words.iter().skip(1).any(|word| {
            let short = word.text.starts_with('-') && !word.text.starts_with("--");
            short && word.text.contains(['r', 'R']) || word.text == "--recursive"
        })
    };
    names
        && match command.program() {
            "rm" | "chown" | "chmod" => recursive(),
            "rsync" => command.words.iter().any(|word| word.text.starts_with("--delete")),
            _ => false,
        }
}
