//! Environment variables that a file sets, wherever it sets them: env files, images, services, scripts,
//! launchers' options.

mod interfaces;
mod launches;
mod lines;
mod sources;
mod units;

use catalog::Catalog;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::str::FromStr;

use pep440_rs::Version;

use crate::file::{File, Over};
use crate::kind::Kind;
use crate::location::Location;
use crate::read::script::Script;
use crate::read::unit::{Unit, UnitCommand};
use crate::recognize::{base_name, kind_of_name};
use facts::Facts;
use judge::Checks;

/// What a file sets.
#[derive(Debug)]
pub(crate) struct Settings {
    /// What it is compared with.
    pub catalog: &'static Catalog,
    /// The kind of the file.
    pub kind: Option<Kind>,
    pub name: String,
    /// What holds together: an image, a service, a script.
    pub scopes: Vec<Scope>,
    /// What it writes into files that shells read (`echo 'export A=b' >> ~/.bashrc`).
    pub written: Vec<Written>,
    /// Lines that set nothing, of files of lines: number and text.
    pub others: Vec<(usize, String)>,
    /// Of an env file: a script that passes it to `docker run`.
    pub passed_by: Option<String>,
    /// Of an env file: whether a Compose file has it as `env_file`, and reads quotes, comments, `export` and
    /// `NAME: value`.
    pub read_by_compose: bool,
    /// Of an env file: whether a script next to it reads it into its shell.
    pub sourced: bool,
    /// The unit of systemd that reads an env file.
    pub unit: Option<String>,
    /// Names that the file itself uses: a script's own variables.
    pub uses: BTreeSet<String>,
    /// Of a script: names that are integers to the shell (`declare -i`).
    pub integers: BTreeSet<String>,
    /// The commands that start ranks on other machines.
    pub launches: Vec<Launch>,
    /// Of a script: on how many machines its ranks run, as its launchers' options and its job's show it.
    pub nodes: Option<u64>,
    /// Of a file that login shells read: the first line that ends it for shells without a terminal.
    pub returns: Option<usize>,
    /// Of a Dockerfile: whether it installs torch with pip.
    pub installs_torch: bool,
    /// Of a Dockerfile: whether it names CUDA, Python or what computes with them, and not only tools that ask
    /// the driver about the GPUs.
    pub computes: bool,
    /// Of nccl.conf: the interfaces that the network configuration next to it has.
    pub interfaces: Vec<String>,
    /// What is known of the machine that the file is for.
    pub facts: Option<Rc<Facts>>,
    /// Those of a machine; some judge variables.
    pub checks: Checks,
}

/// Variables that hold together.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    /// What is set, in order.
    pub settings: Vec<Setting>,
    /// The torch that reads them, where it is known.
    pub torch: Option<Version>,
    /// The NCCL that reads them, where it is known.
    pub nccl: Option<Version>,
    /// Where each name is set last, made when it is first asked for.
    last: OnceCell<BTreeMap<String, usize>>,
}

/// A variable that is set.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Setting {
    pub name: String,
    /// Its value; `None` where only somebody else knows it (a variable of the shell, who builds).
    pub value: Option<String>,
    /// The value as written in the file.
    pub written: String,
    pub location: Location,
    /// For how long.
    pub held: Held,
    /// False where it may not be set at all (behind an `if`).
    pub certain: bool,
}

/// For how long a variable is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    /// For everything that runs there.
    Always,
    /// For what a script starts after it.
    Script,
    /// For one command.
    Command,
    /// In a script, without `export`: for no program, unless the name was exported before.
    Unexported,
}

/// A variable that is written into another file.
#[derive(Debug)]
pub(crate) struct Written {
    /// The file: `/etc/profile`, `~/.bashrc`.
    pub file: String,
    pub name: String,
    /// Where the writing stands.
    pub location: Location,
}

impl Written {
    /// A variable that a line writes into a file.
    fn new(file: String, name: String, line: usize) -> Written {
        Written { file, location: Location::from(line).named(&name), name }
    }
}

/// A command that starts ranks on several machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Launch {
    /// `deepspeed` or `mpirun`.
    pub program: String,
    pub line: usize,
    /// Whether it may start ranks on other hosts over ssh: not in a batch job, and not on one host only.
    pub over_ssh: bool,
    /// The names that it hands on by itself or was told to hand on.
    pub forwards: Vec<String>,
}

impl Scope {
    /// What a variable is in the end, where that is certain.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.setting(name)?.value.as_deref()
    }

    /// Where it is set, where that is certain.
    pub(crate) fn setting(&self, name: &str) -> Option<&Setting> {
        let last = self.last.get_or_init(|| {
            let set = self.settings.iter().enumerate().filter(|(_, one)| one.held != Held::Unexported);
            set.map(|(index, one)| (one.name.clone(), index)).collect()
        });
        self.settings.get(*last.get(name)?).filter(|one| one.certain)
    }

    /// Everything that is set to a value that is known and not empty.
    pub(crate) fn known(&self) -> impl Iterator<Item = (&Setting, &str)> {
        let all = self.settings.iter().filter(|one| one.held != Held::Unexported);
        all.filter_map(|one| Some((one, one.value.as_deref().filter(|value| !value.is_empty())?)))
    }

    /// Whether it is set anywhere.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.settings.iter().any(|one| one.name == name)
    }
}

/// A script that passes an env file to `docker run`, which reads it as it stands.
fn passed_by(file: &File) -> Option<String> {
    let base = file.name.rsplit('/').next().unwrap_or_default();
    let passes = |one: &Over| {
        let commands = match one.name.ends_with(".service") {
            true => {
                let unit = Unit::of(&File::new(file.catalog, &one.name, &*one.text, Kind::SystemdUnit));
                unit.commands().iter().map(UnitCommand::as_command).collect()
            }
            false => Script::read(file.catalog, &one.text).commands,
        };
        commands.iter().any(|command| {
            let engine = matches!(command.program(), "docker" | "podman" | "nerdctl");
            let words = &command.words;
            let is_file = |path: &str| path.rsplit('/').next() == Some(base);
            let given = words.iter().enumerate().any(|(at, word)| match word.text.split_once('=') {
                Some(("--env-file", path)) => is_file(path),
                _ => word.text == "--env-file" && words.get(at + 1).is_some_and(|next| is_file(&next.text)),
            });
            engine && matches!(command.word(1), "run" | "create" | "exec") && given
        })
    };
    let scripts = file.over.iter().filter(|other| file.kind == Kind::Environment && !is_compose(other));
    scripts.into_iter().find(|one| passes(one)).map(|one| one.name.clone())
}

/// Whether a script reads an env file into its shell, also one on another machine: `. ./train.env`,
/// `ssh a 'source /srv/train.env; …'`.
fn sourced(file: &File) -> bool {
    let base = file.name.rsplit('/').next().unwrap_or_default();
    let parts = |letter: char| letter.is_whitespace() || "\"'`;&|(){}".contains(letter);
    let reads = |line: &str| {
        let words: Vec<&str> = line.split(parts).filter(|word| !word.is_empty()).collect();
        words.windows(2).any(|two| {
            matches!(two[0], "source" | ".") && two[1].rsplit('/').next() == Some(base) && !base.is_empty()
        })
    };
    let lines = file.over.iter().filter(|one| !is_compose(one)).flat_map(|one| one.text.lines());
    lines.into_iter().any(|line| !line.trim_start().starts_with('#') && reads(line))
}

fn is_compose(other: &Over) -> bool {
    kind_of_name(&other.name) == Some(Kind::Compose)
}

/// Whether it is a Compose file that reads its env files as docker compose does: `format: raw` and
/// `docker stack deploy` take the lines as they stand.
fn reads_as_compose(other: &Over) -> bool {
    is_compose(other) && !base_name(&other.name).contains("stack") && !other.text.contains("format: raw")
}

/// A unit of systemd next to an env file that reads it: `EnvironmentFile=-/etc/vllm/vllm.env`.
fn unit(file: &File) -> Option<String> {
    let base = file.name.rsplit('/').next().unwrap_or_default();
    let reads = |text: &str| {
        let paths = text.lines().filter_map(|line| line.trim().strip_prefix("EnvironmentFile="));
        paths.into_iter().any(|path| path.trim().rsplit('/').next() == Some(base))
    };
    let units = file.over.iter().filter(|one| one.name.ends_with(".service"));
    units.into_iter().find(|one| reads(&one.text)).map(|one| one.name.clone())
}

impl Settings {
    /// A file that sets nothing.
    fn empty(file: &File) -> Settings {
        Settings {
            catalog: file.catalog,
            kind: Some(file.kind),
            name: file.name.clone(),
            scopes: Vec::new(),
            written: Vec::new(),
            others: Vec::new(),
            passed_by: passed_by(file),
            read_by_compose: file.kind == Kind::Environment && file.over.iter().any(reads_as_compose),
            sourced: file.kind == Kind::Environment && sourced(file),
            unit: unit(file),
            uses: BTreeSet::new(),
            integers: BTreeSet::new(),
            launches: Vec::new(),
            nodes: None,
            returns: None,
            installs_torch: false,
            computes: false,
            interfaces: Vec::new(),
            facts: file.facts.clone(),
            checks: &[],
        }
    }

    /// Everything that is set to a value that is known and not empty, with the scope.
    pub(crate) fn known(&self) -> impl Iterator<Item = (&Scope, &Setting, &str)> {
        self.scopes.iter().flat_map(|scope| scope.known().map(move |(one, value)| (scope, one, value)))
    }

    /// The torch and the NCCL of the machine, for files that name none.
    fn versions(facts: Option<&Facts>) -> (Option<Version>, Option<Version>) {
        let Some(facts) = facts else { return (None, None) };
        let environments = facts.python.environments.known().into_iter().flatten();
        let torch = environments.filter_map(|one| Version::from_str(&one.torch.known()?.version).ok());
        let libraries = facts.libraries.nccl.known().into_iter().flatten();
        let nccl = libraries.filter_map(|one| Version::from_str(one.version.known()?).ok());
        (torch.max(), nccl.max())
    }
}
