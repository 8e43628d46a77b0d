//! The starts of processes with a hostfile, in the scripts next to it.

use std::collections::BTreeSet;

use catalog::Catalog;

use super::dockerfile::command::{Command, Word, option_value};
use super::dockerfile::expand::{Variables, expand};
use super::hostfile::{Start, tail};
use super::launch::{Launch, Launches};
use super::launcher::Launcher;
use super::script::Script;
use crate::file::Over;

/// Options of mpirun and horovodrun that name a hostfile.
const HOSTFILES: &[&str] = &["--hostfile", "-hostfile", "--machinefile", "-machinefile"];

/// The starts with a hostfile of this name.
pub(crate) fn starts(catalog: &'static Catalog, name: &str, scripts: &[Over]) -> Vec<Start> {
    let of = |script: &Over| {
        let tail = tail(name, &script.name);
        let is_this = |path: &str| {
            path.strip_suffix(tail).is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        let all = all(&Script::read(catalog, &script.text), &script.name).into_iter();
        all.filter(|(file, _)| is_this(file)).map(|(_, start)| start).collect::<Vec<_>>()
    };
    scripts.iter().flat_map(of).collect()
}

/// The paths of the hostfiles that a script names, relative to its folder, as far as it shows them.
pub(crate) fn named(script: &Script) -> BTreeSet<String> {
    let paths = all(script, "").into_iter().map(|(path, _)| path);
    // `$HERE/conf/hosts` is most often next to the script.
    let bare = paths.map(|path| match path.rfind('$') {
        Some(at) => path[at..].split_once('/').map_or(String::new(), |(_, rest)| rest.to_owned()),
        None => path,
    });
    bare.filter(|path| !path.is_empty() && !path.starts_with('/')).collect()
}

/// Every start with a hostfile, and the path of the file.
fn all(script: &Script, name: &str) -> Vec<(String, Start)> {
    let launches = Launches::of_script(script);
    let of_launch = |launch: &Launch| start(launch, launches.scheduled, name);
    let certain = launches.launches.iter().filter(|launch| launch.certain);
    let horovod = script.commands.iter().filter(|command| command.program() == "horovodrun");
    certain.filter_map(of_launch).chain(horovod.filter_map(|one| of_horovod(one, script, name))).collect()
}

/// The text of a word with the variables of its script, and whether no default is in it.
fn text(word: &Word, variables: &Variables, written: impl Fn(&str) -> Option<String>) -> (String, bool) {
    // `HOSTS=${HOSTS:-hosts.txt}`: whoever starts the script may give another one.
    let open = word.text.contains(":-")
        || super::script::used(&word.text)
            .iter()
            .any(|name| written(name).is_some_and(|it| it.contains(":-")));
    let read = match word.known {
        true => word.text.clone(),
        false => expand(&word.text, variables).text,
    };
    (read, !open)
}

fn start(launch: &Launch, scheduled: bool, script: &str) -> Option<(String, Start)> {
    let program = launch.words.first()?.text.rsplit('/').next()?;
    let mut start = Start {
        script: script.to_owned(),
        line: launch.line,
        program: program.to_owned(),
        certain: true,
        ranks: None,
        include: Vec::new(),
    };
    let read = |word: &Word| text(word, &launch.variables, |name| launch.written.get(name).cloned());
    if launch.launcher == Launcher::Deepspeed {
        let given = launch.options.get("hostfile")?;
        let path = match &given.value {
            Some(value) => value.clone(),
            None => expand(given.written.as_deref()?, &launch.variables).text,
        };
        start.program = "deepspeed".to_owned();
        start.include = launch.options.value("include").and_then(included).unwrap_or_default();
        return Some((path, start));
    }
    let value = |names: &[&str]| option_value(&launch.words, names).map(|word| read(&word));
    let (path, path_certain) = value(HOSTFILES)?;
    if !matches!(program, "mpirun" | "mpiexec") {
        return None;
    }
    // These start more ranks than slots, or take other hosts; a scheduler gives its own.
    let more = launch.words.iter().any(|word| {
        let text = word.text.to_ascii_lowercase();
        let other = ["-ppn", "-genv", "-hosts", "-perhost", "-n-perhost", "-h", "-host", "--host"];
        text.contains("oversubscribe")
            || text.contains("ppr:")
            || text.contains("npernode")
            || other.contains(&text.as_str())
    });
    if more || scheduled {
        return Some((path, start));
    }
    let ranks = value(&["-np", "-n", "--np", "--n", "-c"]);
    start.certain = path_certain && ranks.as_ref().is_none_or(|(_, certain)| *certain);
    start.ranks = ranks.and_then(|(number, _)| number.parse().ok());
    Some((path, start))
}

/// `horovodrun -np 16 --hostfile hosts python train.py`.
fn of_horovod(command: &Command, script: &Script, name: &str) -> Option<(String, Start)> {
    let mut variables = Variables::default();
    let mut written = Vec::new();
    let assigned = script.commands.iter().filter(|one| one.words.is_empty() && one.certain);
    for (name, word) in assigned.flat_map(|one| &one.sets) {
        let read = expand(&word.text, &variables);
        written.push((name.clone(), word.text.clone()));
        if word.known || read.known {
            let value = super::dockerfile::expand::Value { text: Some(read.text), default: false };
            variables.set(name, value);
        }
    }
    let of = |name: &str| written.iter().find(|(known, _)| known == name).map(|(_, text)| text.clone());
    let value = |names: &[&str]| command.value(names).map(|word| text(&word, &variables, of));
    let (path, path_certain) = value(HOSTFILES)?;
    let ranks = value(&["-np", "--num-proc"]);
    let certain = path_certain && command.certain && ranks.as_ref().is_none_or(|(_, certain)| *certain);
    let ranks = ranks.and_then(|(number, _)| number.parse().ok());
    let program = command.program().to_owned();
    let start =
        Start { script: name.to_owned(), line: command.line, program, certain, ranks, include: Vec::new() };
    Some((path, start))
}

/// `node1:0,1@node2`; nothing where it cannot be read.
fn included(text: &str) -> Option<Vec<(String, Vec<u64>)>> {
    let one = |host: &str| match host.split_once(':') {
        Some((name, gpus)) => {
            let gpus = gpus.split(',').map(|gpu| gpu.trim().parse().ok()).collect::<Option<Vec<u64>>>()?;
            Some((name.to_owned(), gpus))
        }
        None => Some((host.to_owned(), Vec::new())),
    };
    text.split('@').map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::testing::catalog;

    #[test]
    fn files_that_a_script_names() {
        let text = "HOSTS=./hosts.mpi\nmpirun -np 4 --hostfile $HOSTS a\nHERE=$(pwd)\ndeepspeed --hostfile \
            \"$HERE/conf/nodes\" t.py\nmpirun --machinefile /etc/hosts.mpi b\nF=${F:-h.txt}\nhorovodrun -np \
            8 \
            --hostfile \"$F\" c\n";
        let found = named(&Script::read(catalog(), text));
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["./hosts.mpi", "conf/nodes", "h.txt"]);
    }
}
