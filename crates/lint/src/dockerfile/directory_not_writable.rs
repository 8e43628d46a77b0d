//! A build step of a user that writes to a directory of root.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::root_needed::needs_root;
use crate::image_owners::{Owners, Place, ancestors, system_above};
use crate::read::dockerfile::command::{Command, Word};
use crate::read::dockerfile::copied::{PATH_LIMIT_BYTES, join};
use crate::read::dockerfile::setup::{Setup, User, setups};
use crate::read::dockerfile::{Dockerfile, From, Run, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "directory-not-writable",
    severity: Severity::Error,
    summary: "build steps after USER write only where that user may",
    explain: include_str!("directory_not_writable.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM python:3.12-slim\nRUN pip install huggingface_hub && useradd -m svc && mkdir -p \
             /models\nUSER svc\nRUN hf download Qwen/Qwen2.5-7B --local-dir /models/qwen\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN useradd -m dev\nWORKDIR /src\nUSER dev\nRUN git \
             clone https://github.com/acme/kernels\n",
        ),
        dockerfile(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\nCOPY app/ /srv/app/\nRUN useradd -m app\nUSER \
             app\nRUN wget -qO /srv/app/vocab.json https://files.example.org/vocab.json\n",
        ),
        dockerfile(
            "FROM python:3.12-slim\nUSER 1000\nRUN python3 -m venv /opt/venv && /opt/venv/bin/pip install \
             torch\n",
        ),
        dockerfile(
            "FROM debian:12\nRUN useradd -m u && mkdir -p /data/raw /data/out && chown u /data/out\nUSER \
             u\nRUN curl -fsSL https://files.example.org/a.tgz | tar xz -C /data/raw\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM python:3.12-slim\nRUN pip install huggingface_hub && useradd -m svc && install -d -o svc \
             /models\nUSER svc\nRUN hf download Qwen/Qwen2.5-7B --local-dir /models/qwen\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN useradd -m dev\nUSER dev\nWORKDIR /home/dev\nRUN \
             git clone https://github.com/acme/kernels && wget -O /tmp/x https://files.example.org/x\n",
        ),
        // BuildKit makes it as the user who is set.
        dockerfile(
            "FROM ubuntu:24.04\nUSER ubuntu\nWORKDIR /src\nRUN git clone https://github.com/acme/kernels\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04\nCOPY --chown=ubuntu app/ /srv/app/\nUSER ubuntu\nRUN wget -qO \
             /srv/app/vocab.json https://files.example.org/vocab.json\n",
        ),
        dockerfile(
            "FROM python:3.12-slim\nRUN useradd -r -m -d /opt/svc svc\nUSER svc\nRUN python3 -m venv \
             /opt/svc/venv\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04\nUSER ubuntu\nRUN --mount=type=cache,target=/models,uid=1000 hf download a/b \
             --local-dir /models/b\nRUN curl -o /dev/null https://files.example.org && sudo cp a /opt/b\n",
        ),
        dockerfile(
            "FROM debian:12\nRUN useradd -m u\nWORKDIR /app\nUSER u\nRUN wget -qO- \
             https://files.example.org/a | tar xz -C /home/u && curl -fsSL https://files.example.org/b | \
             sh\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04\nUSER ubuntu\nWORKDIR /home/ubuntu\nRUN (cd /opt && ls) && git clone \
             https://github.com/acme/kernels && cd ~ && curl -o a https://files.example.org/a\n",
        ),
        dockerfile("FROM example/base:1\nUSER svc\nRUN hf download a/b --local-dir /models/b\n"),
        dockerfile(
            "FROM ubuntu:24.04\nARG DIR\nRUN mkdir -p /models && chmod 1777 ${DIR:-/models}\nUSER \
             ubuntu\nRUN hf download a/b --local-dir /models/b\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let setups = setups(file);
    let shipped: BTreeSet<usize> = file.shipped().iter().map(|stage| stage.line).collect();
    let mut found = Vec::new();
    let mut chain: Vec<(&Stage, &[Rc<Setup>])> = Vec::new();
    for (stage, all) in file.stages.iter().zip(&setups) {
        if shipped.contains(&stage.line) {
            chain.push((stage, all.as_slice()));
        } else if is_known(stage) {
            found.extend(first(&[(stage, all.as_slice())]));
        }
    }
    if chain.first().is_some_and(|(stage, _)| is_known(stage)) {
        found.extend(first(&chain));
    }
    found
}

/// Whether a stage begins with a base whose directories are known.
fn is_known(stage: &Stage) -> bool {
    matches!(&stage.from, From::Image(image) if image.is_official())
}

/// The first command that fails; the build ends there.
fn first(stages: &[(&Stage, &[Rc<Setup>])]) -> Option<Found> {
    let owners = Owners::of(stages);
    let all = stages.iter().enumerate().flat_map(|(number, (stage, setups))| {
        stage.runs.iter().filter_map(move |run| Some((number, *stage, run, setups.get(run.instruction)?)))
    });
    for (number, stage, run, setup) in all {
        let User::Other(user) = &setup.user else { continue };
        if !run.command.certain || run.command.sudo || run.state.opaque {
            continue;
        }
        // Another rule says this, and nothing runs behind it.
        if needs_root(&run.command).is_some() {
            return None;
        }
        let place: Place = (number, run.instruction);
        if let Some(path) = written(stage, run).into_iter().find(|path| !owners.may_write(path, place)) {
            return Some(fault(&owners, run, user, &path));
        }
    }
    None
}

fn fault(owners: &Owners, run: &Run, user: &str, path: &str) -> Found {
    let made = ancestors(path).find_map(|above| Some((above, owners.put(above)?)));
    let (directory, why) = match made {
        Some((above, line)) => (above, format!("created in line {line}")),
        None => (system_above(path), "part of the base image".to_owned()),
    };
    let message = format!(
        "`{}` runs as {user} and writes to {path}, but {directory} belongs to root ({why}); the command \
         fails with `Permission denied`",
        run.command.program()
    );
    let target = if made.is_some() { directory } else { path };
    let fix = format!(
        "Create the directory for {user} before USER: `RUN install -d -o {user} {target}`, or write to the \
         user's home directory"
    );
    Found::error(run.command.line, message, fix).about(path)
}

/// The paths that a command certainly writes to, or makes.
fn written(stage: &Stage, run: &Run) -> Vec<String> {
    let command = &run.command;
    let workdir = &run.state.files.workdir;
    // Behind `cd`, subshells and `popd`, nobody knows where a relative path is.
    let moved =
        stage.commands_of(run.instruction).first().is_some_and(|first| first.state.files.workdir != *workdir);
    let known = |word: &Word| word.known.then(|| word.text.clone());
    let texts = command.writes.iter().filter_map(known).chain(target(command));
    let path = |text: String| {
        let plain = !text.starts_with(['-', '~', '&']) && !text.contains(['$', '*', '?', '[', '{', ':']);
        let path = join(workdir, &text);
        let fits = plain
            && (!moved || text.starts_with('/'))
            && !path.contains(['$', '~'])
            && !text.is_empty()
            && path.len() <= PATH_LIMIT_BYTES;
        (fits && path.starts_with('/') && path != "/").then_some(path)
    };
    texts.filter_map(path).collect()
}

/// The path that a program writes to, as it is written.
fn target(command: &Command) -> Option<String> {
    let all_known = command.words.iter().all(|word| word.known);
    let words: Vec<&str> = command.words.iter().skip(1).map(|word| word.text.as_str()).collect();
    let plain: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
    let bare = plain.len() == words.len();
    let found = match command.program() {
        "hf" | "huggingface-cli" if command.has("download") => {
            value(&words, &["--local-dir", "--cache-dir"], &[])
        }
        "wget" => {
            let standard = words.iter().any(|one| is_short(one, 'O') || is_short(one, 'i'));
            let named = value(&words, &["--output-document", "--directory-prefix"], &['O', 'P']);
            named.or_else(|| remote_name(&plain).filter(|_| !standard && all_known))
        }
        "curl" => {
            let remote = words.iter().any(|one| *one == "--remote-name" || is_short(one, 'O'));
            let named = value(&words, &["--output", "--output-dir"], &['o']);
            named.or_else(|| remote_name(&plain).filter(|_| remote && all_known))
        }
        "tar" if unpacks(&words) => value(&words, &["--directory"], &['C']),
        "unzip" => value(&words, &[], &['d']),
        "git" if words.first() == Some(&"clone") && all_known => clone_target(&words),
        "pip" | "pip3" if command.has("install") => value(&words, &["--target", "--prefix"], &[]),
        program if program.starts_with("python") && words.first() == Some(&"-m") => {
            let venv = matches!(plain.first(), Some(&("venv" | "virtualenv"))) && plain.len() == 2;
            plain.get(1).copied().filter(|_| venv)
        }
        "virtualenv" => plain.first().copied().filter(|_| bare),
        "uv" if words.first() == Some(&"venv") => words.get(1).copied(),
        "cp" | "mv" if plain.len() == 2 && !words.contains(&"-t") => plain.last().copied(),
        "mkdir" | "touch" => plain.first().copied().filter(|_| bare),
        "tee" => plain.first().copied(),
        _ => None,
    };
    // A word of which a part is not known is none that can be judged.
    let known = |text: &str| command.words.iter().any(|word| word.known && word.text.ends_with(text));
    found.filter(|text| all_known || known(text)).map(str::to_owned)
}

/// Whether a word is a group of short options with this one: `-fsSLO`.
fn is_short(word: &str, letter: char) -> bool {
    word.strip_prefix('-').is_some_and(|rest| !rest.starts_with('-') && rest.contains(letter))
}

/// The value of an option: `--output F`, `--output=F`, `-o F`, `-fsSLo F`.
fn value<'w>(words: &[&'w str], long: &[&str], short: &[char]) -> Option<&'w str> {
    words.iter().enumerate().find_map(|(at, word)| {
        if let Some((name, value)) = word.split_once('=').filter(|(name, _)| long.contains(name)) {
            return Some(value).filter(|_| !name.is_empty());
        }
        let last = word.chars().last().filter(|last| short.contains(last));
        let is_it = long.contains(word) || last.is_some_and(|last| is_short(word, last));
        words.get(at + 1).copied().filter(|_| is_it)
    })
}

/// The name of the file that an address gives, where there is one address.
fn remote_name<'w>(plain: &[&'w str]) -> Option<&'w str> {
    let mut addresses = plain.iter().filter(|word| word.contains("://"));
    let address = addresses.next().filter(|_| addresses.next().is_none())?;
    let (_, rest) = address.split_once("://")?;
    rest.rsplit_once('/').map(|(_, name)| name).filter(|name| !name.is_empty())
}

/// Whether tar unpacks: `xf`, `-xzf`, `--extract`.
fn unpacks(words: &[&str]) -> bool {
    let first = words.first().copied().unwrap_or_default();
    !first.starts_with('-') && first.contains('x')
        || words.iter().any(|word| *word == "--extract" || is_short(word, 'x'))
}

/// Where `git clone` puts a repository: its last word, or the name that the address gives.
fn clone_target<'w>(words: &[&'w str]) -> Option<&'w str> {
    let is_address = |word: &str| word.contains("://") || word.starts_with("git@");
    let (last, before) = words.split_last()?;
    if is_address(last) {
        let name = last.trim_end_matches('/').rsplit('/').next()?;
        return Some(name.strip_suffix(".git").unwrap_or(name));
    }
    before.last().copied().filter(|word| is_address(word)).map(|_| *last)
}
