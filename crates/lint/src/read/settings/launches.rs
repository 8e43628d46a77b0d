//! What scripts say of the ranks that they start, and of their own variables.

use std::collections::BTreeSet;

use super::Launch;
use crate::read::dockerfile::command::Command;
use crate::read::launch::{Launch as Start, Launches};
use crate::read::launcher::Launcher;
use crate::read::script::Script;

/// A command that starts ranks over ssh.
pub(super) fn launch(command: &Command, in_job: bool) -> Option<Launch> {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let program = command.program();
    let several = several(program, &words);
    let one = words.contains(&"--num_nodes=1") || words.windows(2).any(|pair| pair == ["--num_nodes", "1"]);
    if !several || one {
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

/// Whether a launcher starts ranks on other machines.
fn several(program: &str, words: &[&str]) -> bool {
    let has = |names: &[&str]| {
        words
            .iter()
            .any(|word| names.iter().any(|name| word == name || word.starts_with(&format!("{name}="))))
    };
    match program {
        // With another launcher than pdsh, or none, variables travel otherwise.
        "deepspeed" => {
            has(&["--hostfile", "-H", "--num_nodes", "-i", "--include"])
                && !has(&["--launcher", "--no_ssh"])
                && !includes_this_machine(words)
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
    }
}

/// Whether `--include localhost:0,1` leaves no other machine to start ranks on.
fn includes_this_machine(words: &[&str]) -> bool {
    let list = words.iter().enumerate().find_map(|(at, word)| match word.split_once('=') {
        Some(("--include" | "-i", list)) => Some(list),
        _ => matches!(*word, "--include" | "-i").then(|| words.get(at + 1).copied())?,
    });
    const OWN: &[&str] =
        &["localhost", "127.0.0.1", "$(hostname)", "$HOSTNAME", "${HOSTNAME}", "$(hostname -s)"];
    list.is_some_and(|list| {
        let host = |part: &str| part.split(':').next().unwrap_or_default().to_owned();
        !list.is_empty() && list.split('@').all(|part| OWN.contains(&host(part).as_str()))
    })
}

/// On how many machines the ranks of a script run: `--nnodes=2`, `--num_machines 2`, `mpirun -H a:8,b:8`, or
/// `#SBATCH --nodes=2` where a launcher says nothing else. `None` where that is not known, or starts differ.
pub(super) fn nodes(script: &Script) -> Option<u64> {
    let launches = Launches::of_script(script).launches;
    let of_launch = |launch: &Start| {
        let options = &launch.options;
        if options.has("standalone") {
            return Some(1);
        }
        let given = ["nnodes", "num_nodes", "num_machines"].iter().find_map(|name| options.get(name));
        match given {
            // `1:4` starts with one.
            Some(given) => given.value.as_deref()?.split(':').next()?.parse().ok(),
            None => hosts(launch),
        }
    };
    let job = || {
        let line = script.text.lines().filter_map(|line| line.strip_prefix("#SBATCH"));
        let value = line.map(str::trim).find_map(|option| {
            let rest = option.strip_prefix("--nodes").or_else(|| option.strip_prefix("-N"))?;
            rest.trim_start_matches(['=', ' ']).split(['-', ' ']).next()?.parse().ok()
        });
        value.filter(|_| script.commands.iter().any(|command| command.program() == "srun"))
    };
    let mut counts: Vec<Option<u64>> = launches.iter().map(of_launch).collect();
    counts.dedup();
    match counts.as_slice() {
        [] | [None] => job(),
        [one] => *one,
        _ => None,
    }
}

/// How many hosts `mpirun -H a:8,b:8` names.
fn hosts(launch: &Start) -> Option<u64> {
    let words: Vec<&str> = launch.words.iter().map(|word| word.text.as_str()).collect();
    let list = words.iter().enumerate().find_map(|(at, word)| match word.split_once('=') {
        Some(("--host" | "-host", list)) => Some(list),
        _ => matches!(*word, "-H" | "--host" | "-host").then(|| words.get(at + 1).copied())?,
    })?;
    let mpi = launch.launcher == Launcher::Mpirun || launch.by == "mpirun" || launch.by == "mpiexec";
    let names: BTreeSet<&str> = list.split(',').filter_map(|host| host.split(':').next()).collect();
    (mpi && !list.contains('$')).then_some(names.len() as u64)
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
