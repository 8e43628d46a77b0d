//! Variables of images, services and scripts.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use pep440_rs::Version;

use super::launches::{integers, launch, nodes};
use super::{Held, Scope, Setting, Settings, Written};
use crate::file::File;
use crate::location::Location;
use crate::read::compose::{Compose, Service};
use crate::read::dockerfile::command::{Command, Word};
use crate::read::dockerfile::expand::expand;
use crate::read::dockerfile::stage::{settings, unquoted};
use crate::read::dockerfile::{Dockerfile, From, Stage};
use crate::read::script::Script;

impl Settings {
    /// The variables of the image that a Dockerfile makes.
    pub(crate) fn of_dockerfile(read: &Dockerfile, file: &File) -> Settings {
        let mut scope = Scope::default();
        let shipped = read.shipped();
        for stage in &shipped {
            scope.settings.splice(0..0, stage_settings(stage));
        }
        if let Some(stage) = shipped.first() {
            scope.torch = torch_of(stage);
            let nccl = stage.end.image.and_then(|image| image.nccl.as_deref());
            // An image's NCCL is not the one of torch's wheels.
            scope.nccl = nccl.filter(|_| scope.torch.is_none()).and_then(|text| Version::from_str(text).ok());
        }
        let commands = shipped.iter().flat_map(|stage| stage.runs.iter().map(|run| &run.command));
        Settings {
            scopes: vec![scope],
            written: commands.flat_map(written).collect(),
            computes: shipped.iter().any(|stage| computes(stage)),
            installs_torch: read
                .installs()
                .any(|(_, _, install)| install.requirements.iter().any(|one| one.name == "torch")),
            ..Settings::empty(file)
        }
    }

    /// The variables of the services of a compose file.
    pub(crate) fn of_compose(read: &Compose, file: &File) -> Settings {
        let (torch, nccl) = Settings::versions(file.facts.as_deref());
        let lines: Vec<&str> = file.text.lines().collect();
        let scope = |service: &Service| Scope {
            settings: service_settings(service, &lines),
            torch: torch.clone(),
            nccl: nccl.clone(),
            ..Scope::default()
        };
        Settings { scopes: read.services.iter().map(scope).collect(), ..Settings::empty(file) }
    }

    /// The variables that a script sets for what it starts.
    pub(crate) fn of_script(read: &Script, file: &File) -> Settings {
        let (torch, nccl) = Settings::versions(file.facts.as_deref());
        let all = read
            .commands
            .iter()
            .any(|command| command.program() == "set" && (command.has("-a") || command.has("allexport")));
        let exports: BTreeSet<&String> = read.commands.iter().flat_map(|command| &command.exports).collect();
        let exported = |name: &String| all || exports.contains(name);
        let mut found = Vec::new();
        for command in &read.commands {
            let setting = |name: &str, word: &Word, held| Setting {
                name: name.to_owned(),
                value: word.known.then(|| word.text.clone()),
                written: word.text.clone(),
                location: Location::new(None, word.line.max(command.line)).named(name),
                held,
                certain: command.certain,
            };
            let held = |name: &String| match command.words.is_empty() {
                false => Held::Command,
                true if exported(name) => Held::Script,
                true => Held::Unexported,
            };
            found.extend(command.sets.iter().map(|(name, word)| setting(name, word, held(name))));
            let options = option_pairs(command);
            found.extend(options.into_iter().map(|(name, word)| setting(&name, &word, Held::Command)));
        }
        let in_job = read.text.lines().any(|line| line.starts_with("#SBATCH") || line.starts_with("#PBS"));
        let lines = earliest_from(&read.commands);
        let documents = read.documents.iter().flat_map(|document| {
            let behind = lines.partition_point(|line| *line <= document.by);
            let by = behind.checked_sub(1).and_then(|last| read.commands.get(last));
            let target = by.and_then(shell_file);
            let lines = document
                .lines
                .iter()
                .filter_map(move |(line, text)| Some(Written::new(target.clone()?, assigned(text)?, *line)));
            lines.collect::<Vec<_>>()
        });
        Settings {
            scopes: vec![Scope { settings: found, torch, nccl, ..Scope::default() }],
            written: read.commands.iter().flat_map(written).chain(documents).collect(),
            uses: read.uses.clone(),
            integers: integers(&read.text),
            launches: read.commands.iter().filter_map(|command| launch(command, in_job)).collect(),
            nodes: nodes(read),
            returns: returns(read),
            ..Settings::empty(file)
        }
    }
}

/// The lowest line of each command and those behind it: ascending, whatever the lines are.
fn earliest_from(commands: &[Command]) -> Vec<usize> {
    let mut lines: Vec<usize> = commands.iter().map(|command| command.line).collect();
    for at in (1..lines.len()).rev() {
        lines[at - 1] = lines[at - 1].min(lines[at]);
    }
    lines
}

/// Whether a stage names something that computes on a GPU, or may: in its base image or an instruction.
fn computes(stage: &Stage) -> bool {
    const WORDS: &[&str] = &["cuda", "python", "torch", "tensorflow", "vllm", "pip install", "ollama"];
    let names = |text: &str| WORDS.iter().any(|word| text.contains(word));
    let base = match &stage.from {
        From::Image(image) => names(&image.text),
        _ => false,
    };
    base || stage.instructions.iter().any(|one| names(&one.text.text))
}

/// The pairs of a stage's ENV instructions.
fn stage_settings(stage: &Stage) -> Vec<Setting> {
    let mut found = Vec::new();
    for instruction in stage.instructions.iter().filter(|one| one.keyword == "ENV") {
        let text = &instruction.text;
        let mut from = 0;
        for (name, value) in settings(&text.text) {
            let at = text.text[from..].find(&name).map_or(from, |offset| from + offset);
            from = at + name.len();
            let written = value.clone().unwrap_or_default();
            let expanded = value.map(|value| expand(&unquoted(&value), &stage.end.variables));
            found.push(Setting {
                location: Location::new(None, text.line_at(at).max(instruction.line)).named(&name),
                name,
                value: expanded.filter(|value| value.known && !value.default).map(|value| value.text),
                written: unquoted(&written),
                held: Held::Always,
                certain: true,
            });
        }
    }
    found
}

/// The torch that a stage ends with: the one that is installed, or the image's.
fn torch_of(stage: &Stage) -> Option<Version> {
    if let Some(installed) = stage.end.packages.get("torch") {
        return installed.pin.clone().filter(|_| !installed.default);
    }
    let text = stage.end.image?.torch.as_deref()?;
    Version::from_str(text.split(['a', '+']).next().unwrap_or(text)).ok()
}

fn service_settings(service: &Service, lines: &[&str]) -> Vec<Setting> {
    let environment = service.environment();
    if environment.is_empty() {
        return Vec::new();
    }
    let head = service.line_of("environment");
    let own = match &head.file {
        None => entry_lines(lines, head.line),
        Some(_) => BTreeMap::new(),
    };
    let location = |name: &str| own.get(name).map_or_else(|| head.clone(), |line| (*line).into());
    let setting = |(name, value): (String, Option<String>)| Setting {
        location: location(&name).named(&name),
        written: value.clone().unwrap_or_default(),
        value: value.filter(|value| !value.contains('$')),
        name,
        held: Held::Always,
        certain: true,
    };
    environment.into_iter().map(setting).collect()
}

/// The lines of the entries below the key `environment` in line `head`, by their names; none where they stand
/// in the line of the key.
fn entry_lines<'l>(lines: &[&'l str], head: usize) -> BTreeMap<&'l str, usize> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let key = lines.get(head.saturating_sub(1)).map_or(0, |line| indent(line));
    let below = lines.iter().enumerate().skip(head).take_while(|(_, line)| {
        let text = line.trim_start();
        // Items of a list may stand as far left as their key.
        text.is_empty()
            || text.starts_with('#')
            || indent(line) > key
            || (indent(line) == key && text.starts_with("- "))
    });
    let mut found = BTreeMap::new();
    for (index, line) in below {
        let text = line.trim_start().trim_start_matches("- ").trim_start().trim_start_matches(['"', '\'']);
        if let Some(end) = text.find(['=', ':', '"', '\'']) {
            found.entry(&text[..end]).or_insert(index + 1);
        }
    }
    found
}

/// `-e NAME=value` of docker, `-x NAME=value` of Open MPI, `--export=ALL,NAME=value` of Slurm,
/// `-genv NAME value` of MPICH.
fn option_pairs(command: &Command) -> Vec<(String, Word)> {
    let split = |word: &Word, text: &str| {
        let (name, value) = text.split_once('=')?;
        let fits = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && !name.is_empty();
        // A part of the word may be known where the whole is not.
        let known = word.known || !value.contains(['$', '`']);
        fits.then(|| (name.to_owned(), Word { text: value.to_owned(), known, ..word.clone() }))
    };
    let options: &[&str] = match command.program() {
        "docker" | "podman" | "nerdctl" => &["-e", "--env"],
        "mpirun" | "mpiexec" | "orterun" | "prterun" => &["-x"],
        "srun" | "sbatch" | "salloc" => &["--export"],
        _ => return Vec::new(),
    };
    let mut found = Vec::new();
    for (index, word) in command.words.iter().enumerate() {
        for option in options {
            let joined = word.text.strip_prefix(option).and_then(|rest| rest.strip_prefix('='));
            let value = match joined {
                Some(text) => Some((word, text)),
                None if word.text == *option => {
                    command.words.get(index + 1).map(|next| (next, next.text.as_str()))
                }
                None => None,
            };
            let Some((word, text)) = value else { continue };
            match *option {
                "--export" => found.extend(text.split(',').filter_map(|part| split(word, part))),
                _ => found.extend(split(word, text)),
            }
        }
        if word.text == "-genv"
            && let (Some(name), Some(value)) = (command.words.get(index + 1), command.words.get(index + 2))
        {
            found.push((name.text.clone(), value.clone()));
        }
    }
    found
}

/// The file that a command writes, where shells read it at their start.
fn shell_file(command: &Command) -> Option<String> {
    let teed = command.words.iter().skip(1).filter(|_| command.program() == "tee");
    let mut targets = command.writes.iter().chain(teed).map(|word| word.text.as_str());
    let found = targets.find(|name| {
        let base = name.rsplit('/').next().unwrap_or_default();
        matches!(base, ".bashrc" | ".bash_profile" | ".profile" | "bash.bashrc")
            || *name == "/etc/profile"
            || name.starts_with("/etc/profile.d/")
    });
    found.map(str::to_owned)
}

/// Variables that a command writes into such a file with echo or printf.
fn written(command: &Command) -> Vec<Written> {
    let (true, Some(file)) = (matches!(command.program(), "echo" | "printf"), shell_file(command)) else {
        return Vec::new();
    };
    let text = command.words[1..].iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    let parts = text.split(['\n', ';']).flat_map(|part| part.split("\\n"));
    let names = parts.filter_map(assigned);
    names.map(|name| Written::new(file.clone(), name, command.line)).collect()
}

/// The name that a line of a shell's file sets.
fn assigned(line: &str) -> Option<String> {
    let line = line.trim().trim_start_matches("-e ").trim_start_matches("export ").trim_start();
    let (name, _) = line.split_once('=')?;
    let fits = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    fits.then(|| name.to_owned())
}

/// The line of the first `return` behind a look at whether there is a terminal (`$-`, `$PS1`).
fn returns(read: &Script) -> Option<usize> {
    let looks = read.uses.contains("PS1") || read.text.contains("$-");
    read.commands.iter().find(|command| command.program() == "return").map(|one| one.line).filter(|_| looks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Kind;
    use catalog::testing::catalog;

    fn script(text: &str) -> Settings {
        Settings::of_script(&Script::read(catalog(), text), &File::new(catalog(), "a.sh", text, Kind::Shell))
    }

    fn shown(settings: &Settings) -> Vec<(String, Option<&str>, usize, Held)> {
        let all = settings.scopes.iter().flat_map(|scope| &scope.settings);
        all.map(|one| (one.name.clone(), one.value.as_deref(), one.location.line, one.held)).collect()
    }

    #[test]
    fn of_scripts() {
        let text = "export A=1\nB=2\nC=3 run\nD=$X\nexport D\nmpirun -np 2 -x E=4 -x F run\n\
            srun --export=ALL,G=5 x\ndocker run -e H=6 --env=I=7 y\n";
        let settings = script(text);
        let of = |name: &str, value, line, held| (name.to_owned(), value, line, held);
        assert_eq!(
            shown(&settings),
            [
                of("A", Some("1"), 1, Held::Script),
                of("B", Some("2"), 2, Held::Unexported),
                of("C", Some("3"), 3, Held::Command),
                of("D", None, 4, Held::Script),
                of("E", Some("4"), 6, Held::Command),
                of("G", Some("5"), 7, Held::Command),
                of("H", Some("6"), 8, Held::Command),
                of("I", Some("7"), 8, Held::Command),
            ]
        );
    }

    #[test]
    fn of_images_and_services() {
        let text = "FROM pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime\nENV A=1 \\\n    B=\"2 3\"\nENV C 4\n\
            RUN echo 'export D=5' >> ~/.bashrc\n";
        let file = File::new(catalog(), "Dockerfile", text, Kind::Dockerfile);
        let settings = Settings::of_dockerfile(&Dockerfile::read(catalog(), text, &file.context), &file);
        let of = |name: &str, value, line| (name.to_owned(), Some(value), line, Held::Always);
        assert_eq!(shown(&settings), [of("A", "1", 2), of("B", "2 3", 3), of("C", "4", 4)]);
        assert_eq!(settings.scopes[0].torch.as_ref().unwrap().to_string(), "2.6.0");
        assert_eq!((settings.written[0].name.as_str(), settings.written[0].location.line), ("D", 5));
        let text = "services:\n  a:\n    image: b\n    environment:\n      - A=1\n      - B=$X\n";
        let file = File::new(catalog(), "compose.yaml", text, Kind::Compose);
        let settings = Settings::of_compose(&Compose::read(file.catalog, text, &[], file.stack), &file);
        assert_eq!(shown(&settings), [of("A", "1", 5), ("B".to_owned(), None, 6, Held::Always)]);
    }

    #[test]
    fn launches() {
        let of = |text: &str| {
            script(text).launches.into_iter().map(|one| (one.program, one.forwards)).collect::<Vec<_>>()
        };
        assert_eq!(of("deepspeed --hostfile=h train.py\n"), [("deepspeed".to_owned(), vec![])]);
        assert_eq!(of("deepspeed train.py\ndeepspeed --num_nodes 1 x\n"), []);
        assert_eq!(
            of("mpirun -H a,b -x N=1 -x M run\n"),
            [("mpirun".to_owned(), vec!["N".to_owned(), "M".to_owned()])]
        );
    }
}
