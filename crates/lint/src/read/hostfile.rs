//! A hostfile: `host slots=8` a line, as DeepSpeed's launcher reads it, and what mpirun takes besides.

use crate::file::{Names, Over};

/// A line that is neither empty nor a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its number, from 1.
    pub line: usize,
    pub text: String,
    /// The host and its slots, where DeepSpeed can read it.
    pub host: Option<(String, u64)>,
    /// Whether Open MPI or MPICH can read it.
    pub mpi: bool,
}

/// The hosts and slots of a DeepSpeed hostfile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hostfile {
    /// Its lines, without comments and empty ones.
    pub lines: Vec<Line>,
    /// What this machine knows of the names, as far as it was asked.
    pub names: Names,
    /// The launchers that scripts next to it give it to.
    pub readers: Readers,
    /// The starts of processes with it in those scripts.
    pub starts: Vec<Start>,
    /// Containers of Compose files next to it.
    pub containers: Vec<Container>,
}

/// A container and the GPUs that a Compose file gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// Its name on the network, and its host name.
    pub names: Vec<String>,
    pub gpus: u64,
    /// The Compose file.
    pub file: String,
}

/// A start of processes with a hostfile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// The script and the line, from 1.
    pub script: String,
    /// The line in it, from 1.
    pub line: usize,
    /// `mpirun`, `horovodrun`, `deepspeed`.
    pub program: String,
    /// Whether it certainly starts as the script shows it: no default of a variable is in it.
    pub certain: bool,
    /// The ranks that it is to start, unless it may start more than there are slots.
    pub ranks: Option<u64>,
    /// Hosts that DeepSpeed is to use, with their GPUs; no GPUs are all.
    pub include: Vec<(String, Vec<u64>)>,
}

/// Who reads a hostfile, as far as scripts show it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Readers {
    /// DeepSpeed's launcher.
    pub deepspeed: bool,
    /// A launcher of MPI.
    pub mpi: bool,
}

impl Readers {
    /// Looks for the name of a hostfile in the commands of scripts.
    pub(crate) fn of(name: &str, scripts: &[Over]) -> Readers {
        let mut readers = Readers::default();
        for script in scripts {
            let tail = tail(name, &script.name);
            let joined = script.text.replace("\\\n", " ");
            for line in
                joined.lines().filter(|line| line.contains(tail) && !line.trim_start().starts_with('#'))
            {
                let programs = line.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
                for program in programs {
                    readers.deepspeed |= matches!(program, "deepspeed" | "ds");
                    readers.mpi |=
                        matches!(program, "mpirun" | "mpiexec" | "mpiexec.hydra" | "orterun" | "prterun");
                }
            }
        }
        readers
    }
}

/// How a script names a hostfile: by its base name from the same folder, else with the folder that it is in.
pub(crate) fn tail<'n>(name: &'n str, script: &str) -> &'n str {
    let folder = |path: &str| path.rfind('/').unwrap_or_default();
    let at = folder(name);
    let from = match name[..at] == script[..folder(script)] {
        true => at,
        false => folder(&name[..at]),
    };
    name[from..].trim_start_matches('/')
}

impl Hostfile {
    /// Reads a hostfile; DeepSpeed's own pattern is `^(\S+)\s+slots=(\d+)`.
    pub fn read(text: &str) -> Hostfile {
        let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        Hostfile { lines: lines.map(|(number, line)| one(number, line)).collect(), ..Hostfile::default() }
    }

    /// The names of the hosts that a launcher of any kind reads.
    pub fn hosts(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines.iter().filter(|line| line.host.is_some() || line.mpi).filter_map(|line| {
            let name = match &line.host {
                Some((name, _)) => name,
                // MPICH's `node1:8`.
                None => line.text.split([':', ' ', '\t']).next()?,
            };
            Some((line.line, name.rsplit_once('@').map_or(name, |(_, host)| host)))
        })
    }

    /// The slots of all hosts, where every line can be read.
    pub fn slots(&self) -> Option<u64> {
        self.lines
            .iter()
            .map(|line| line.host.as_ref().map(|(_, slots)| *slots))
            .try_fold(0_u64, |sum, slots| sum.checked_add(slots?))
            .filter(|sum| *sum > 0)
    }
}

fn one(line: usize, text: &str) -> Line {
    let (name, rest) = text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()));
    let slots = rest.trim_start().strip_prefix("slots=");
    let digits =
        slots.map(|slots| slots.split(|letter: char| !letter.is_ascii_digit()).next().unwrap_or_default());
    let host = digits.and_then(|digits| Some((name.to_owned(), digits.parse().ok()?)));
    // `node1`, `node1:8`, `node1 max_slots=8`, `node1 slots = 8 # why`.
    let words = rest.split('#').next().unwrap_or_default().replace(" =", "=").replace("= ", "=");
    let options = words.split_whitespace().all(|word| {
        word.split_once('=').is_some_and(|(key, value)| {
            matches!(key, "slots" | "max_slots" | "max-slots" | "cpu" | "count" | "user" | "port" | "binding")
                && !value.is_empty()
        })
    });
    Line { line, text: text.to_owned(), host, mpi: options && !name.contains('=') }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_whose_sum_is_too_large_are_unknown() {
        let all = |slots: &str| Hostfile::read(&format!("a slots={slots}\nb slots=8\n")).slots();
        assert_eq!(
            (all("8"), all("18446744073709551615"), all("99999999999999999999")),
            (Some(16), None, None)
        );
    }

    #[test]
    fn lines() {
        let file = Hostfile::read(
            "# nodes\nnode1 slots=8\n\nnode2   slots=4 max_slots=8\nnode3\nnode4 slots = 8\nnode5: gpus \
                8\n",
        );
        let hosts: Vec<_> = file.lines.iter().map(|one| (one.line, one.host.clone(), one.mpi)).collect();
        let host = |name: &str, slots| Some((name.to_owned(), slots));
        assert_eq!(
            hosts,
            [
                (2, host("node1", 8), true),
                (4, host("node2", 4), true),
                (5, None, true),
                (6, None, true),
                (7, None, false)
            ]
        );
        assert_eq!((file.slots(), Hostfile::read("a slots=2\nb slots=2").slots()), (None, Some(4)));
    }
}
