//! What scripts say of the ranks that they start, and of their own variables.

use std::collections::BTreeSet;

use super::Launch;
use crate::read::dockerfile::command::Command;

/// A command that starts ranks over ssh.
pub(super) fn launch(command: &Command, in_job: bool) -> Option<Launch> {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let has = |names: &[&str]| {
        words
            .iter()
            .any(|word| names.iter().any(|name| word == name || word.starts_with(&format!("{name}="))))
    };
    let program = command.program();
    let several = match program {
        // With another launcher than pdsh, or none, variables travel otherwise.
        "deepspeed" => {
            has(&["--hostfile", "-H", "--num_nodes", "-i", "--include"]) && !has(&["--launcher", "--no_ssh"])
        }
        "mpirun" | "mpiexec" => {
            has(&["--hostfile", "-hostfile", "--machinefile", "-machinefile", "-H", "--host", "-host"])
                && has(&[
                    "-x",
                    "--mca",
                    "-mca",
                    "--allow-run-as-root",
                    "-bind-to",
                    "--bind-to",
                    "-map-by",
                    "--map-by",
                ])
        }
        _ => false,
    };
    if !several || words.windows(2).any(|pair| pair == ["--num_nodes", "1"]) {
        return None;
    }
    let given = words.windows(2).filter(|pair| pair[0] == "-x").map(|pair| pair[1]);
    let given = given.map(|word| word.split('=').next().unwrap_or(word).to_owned());
    let hosts = words.iter().enumerate().find_map(|(at, word)| match word.split_once('=') {
        Some(("--host" | "-host", list)) => Some(list),
        _ => matches!(*word, "-H" | "--host" | "-host").then(|| words.get(at + 1).copied())?,
    });
    let over_ssh = !in_job && hosts.is_none_or(|list| list.contains([',', '$']));
    Some(Launch { program: program.to_owned(), line: command.line, over_ssh, forwards: given.collect() })
}

/// The names that a script declares as integers: `declare -i A B=2`, `local -ri N=1`.
pub(super) fn integers(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for part in text.lines().flat_map(|line| line.split(';')) {
        let mut words = part.split_whitespace();
        if !matches!(words.next(), Some("declare" | "typeset" | "local" | "readonly" | "export")) {
            continue;
        }
        let (flags, names): (Vec<&str>, Vec<&str>) = words.partition(|word| word.starts_with('-'));
        if flags.iter().any(|flag| flag.contains('i')) {
            found.extend(names.iter().map(|one| one.split('=').next().unwrap_or(one).to_owned()));
        }
    }
    found
}
