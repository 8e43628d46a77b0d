//! A program that the image does not contain.

use crate::base::Base;
use crate::read::dockerfile::command::{Command, Word};
use crate::read::dockerfile::instructions::Instruction;
use crate::read::dockerfile::shell;
use crate::read::dockerfile::start::{entrypoint, started};
use crate::read::dockerfile::text::Text;
use crate::read::dockerfile::{Dockerfile, From, Stage, apt};
use crate::read::entry_scripts::{EntryScript, entry_scripts};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile, with};

pub(crate) const RULE: Rule = Rule {
    id: "program-missing",
    severity: Severity::Error,
    summary: "programs that RUN, HEALTHCHECK and CMD use are in the image",
    explain: include_str!("program_missing.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM python:3.12-slim\nHEALTHCHECK CMD curl -f http://localhost:8000/health || exit 1\n"),
        dockerfile("FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN wget https://example.com/x\n"),
        dockerfile("FROM ubuntu:24.04\nRUN git clone https://example.com/x\n"),
        dockerfile("FROM python:3.12-slim\nENTRYPOINT [\"tini\", \"--\"]\nCMD [\"python\", \"-V\"]\n"),
        dockerfile(
            "FROM python:3.12-slim\nRUN pip install vllm==0.8.5\nENTRYPOINT [\"vllm\", \"serve\", \"m/n\"]\n",
        ),
        dockerfile(
            "FROM debian:12\nRUN apt-get update && apt-get install -y --no-install-recommends git\nRUN \
             curl -fsSLO https://example.com/x\n",
        ),
        with(
            "FROM python:3.12-slim\nCOPY entrypoint.sh /srv/\nENTRYPOINT [\"/srv/entrypoint.sh\"]\n",
            &[("entrypoint.sh", "#!/bin/sh\nset -e\ncurl -fsS http://registry/ready\nexec \"$@\"\n")],
        ),
    ],
    silent: &[
        // The build is usually given another image, which has it.
        dockerfile(
            "ARG BASE=ubuntu:24.04\nARG BUILDER=${BASE}\nFROM ${BUILDER} AS build\nRUN make\nFROM ${BASE}\n",
        ),
        with(
            "FROM python:3.12-slim\nCOPY entrypoint.sh /srv/\nENTRYPOINT [\"/srv/entrypoint.sh\"]\n",
            &[("entrypoint.sh", "#!/bin/sh\nif command -v curl; then curl http://x; fi\nexec \"$@\"\n")],
        ),
        dockerfile(
            "FROM python:3.12-slim\nRUN apt-get update && apt-get install -y curl\nHEALTHCHECK CMD curl -f \
             http://localhost/ || exit 1\n",
        ),
        dockerfile(
            "FROM python:3.12\nRUN curl -O https://example.com/x && git clone https://example.com/y\n",
        ),
        dockerfile("FROM ubuntu:24.04\nRUN command -v curl && curl x || true\n"),
        dockerfile(
            "FROM ubuntu:24.04\nCOPY [\"tools\", \"/usr/local/bin/\"]\nRUN curl -O https://a.example/x\n",
        ),
        dockerfile("FROM ubuntu:24.04\nRUN ./bootstrap.sh\nRUN curl -O https://example.com/x\n"),
        dockerfile(
            "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y $PACKAGES\nRUN curl -O \
             https://example.com/x\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04 AS a\nFROM ubuntu:24.04\nCOPY --from=a /usr/bin/ /usr/bin/\nRUN curl -O \
             https://example.com/x\n",
        ),
    ],
};

/// Programs that no small base image has, and the packages of Debian and Ubuntu that contain them or depend
/// on one that does.
const PROGRAMS: &[(&str, &[&str])] = &[
    ("curl", &["curl"]),
    ("wget", &["wget", "devscripts", "netbase-wget"]),
    ("git", &["git", "git-lfs", "git-all", "git-core", "devscripts"]),
    ("unzip", &["unzip"]),
    ("jq", &["jq"]),
    ("nc", &["netcat", "netcat-openbsd", "netcat-traditional", "ncat"]),
    ("ssh-keygen", &["openssh-client", "openssh-server", "ssh", "git"]),
    ("nvtop", &["nvtop"]),
    ("tini", &["tini"]),
    ("dumb-init", &["dumb-init"]),
    ("gosu", &["gosu"]),
    ("ffmpeg", &["ffmpeg"]),
    ("numactl", &["numactl"]),
    ("rsync", &["rsync"]),
    ("sudo", &["sudo"]),
    ("lspci", &["pciutils"]),
    ("ibstat", &["infiniband-diags", "ibutils"]),
    ("envsubst", &["gettext-base", "gettext"]),
    ("make", COMPILERS),
    ("gcc", COMPILERS),
    ("g++", COMPILERS),
    ("cmake", &["cmake"]),
];

/// Packages that bring a compiler and make, or recommend what does.
const COMPILERS: &[&str] = &[
    "build-essential",
    "make",
    "gcc",
    "g++",
    "clang",
    "cmake",
    "dkms",
    "dpkg-dev",
    "libtool",
    "python3-pip",
    "python3-dev",
    "python-dev",
    "software-properties-common",
    "devscripts",
    "gfortran",
];

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    for stage in file.stages.iter().filter(|stage| is_small(stage) && !has_stand_in(file, stage)) {
        found.extend(stage.runs.iter().find_map(|run| {
            let (program, package) = missing(stage, run.instruction, &run.command)?;
            let message = format!("{program} is not in the image at this point; the command is not found");
            let fix = format!("Install {package} with apt-get before it");
            Some(Found::warning(run.command.line, message, fix).about(program))
        }));
        let checks = stage.instructions.iter().filter(|one| one.keyword == "HEALTHCHECK");
        found.extend(checks.filter_map(|one| health(stage, one)));
    }
    let small = file.stages.last().filter(|stage| is_small(stage));
    let commands = started(file);
    let first = small.and_then(|stage| {
        commands.iter().find_map(|one| Some((one, missing(stage, stage.instructions.len(), one)?)))
    });
    found.extend(first.map(|(command, (program, package))| {
        let message = format!("{program} is not in the image; the container does not start");
        Found::error(command.line, message, format!("Install {package} with apt-get"))
            .about(program)
            .unless_certain(command.certain)
    }));
    found.extend(small.and_then(|stage| without_compiler(stage, &commands)));
    found.extend(small.and_then(|stage| without_init(file, stage)));
    let scripts = if small.is_some() { entry_scripts(file) } else { Vec::new() };
    found.extend(small.and_then(|stage| scripts.iter().find_map(|script| in_script(stage, script))));
    found
}

/// vLLM without the compiler that Triton runs at the start of the server.
fn without_compiler(stage: &Stage, commands: &[Command]) -> Option<Found> {
    let started = commands.iter().find(|one| {
        let words: Vec<&str> = one.words.iter().map(|word| word.text.as_str()).collect();
        words.windows(2).any(|two| two[0].ends_with("vllm") && two[1] == "serve")
            || words.iter().any(|word| word.starts_with("vllm.entrypoints"))
    })?;
    stage.end.packages.get("vllm")?;
    let word = Word { text: "gcc".to_owned(), known: true, ..Word::default() };
    let compiler = Command { words: vec![word], line: started.line, ..Command::default() };
    missing(stage, stage.instructions.len(), &compiler)?;
    let message = "gcc is not in the image, and Triton, which vLLM uses, compiles with it when the server \
     starts: \
                   `Failed to find C compiler`";
    Some(Found::warning(started.line, message, "Install gcc and python3-dev with apt-get"))
}

/// The init process of an entrypoint that nothing installs.
fn without_init(file: &Dockerfile, stage: &Stage) -> Option<Found> {
    let one = entrypoint(file)?;
    let name = one.json.as_ref()?.first()?;
    let base = name.rsplit('/').next().unwrap_or_default();
    let is_init = matches!(base, "tini" | "dumb-init" | "gosu");
    let word = Word { text: base.to_owned(), known: true, ..Word::default() };
    let program = Command { words: vec![word], line: one.line, ..Command::default() };
    let (program, package) = missing(stage, stage.instructions.len(), &program).filter(|_| is_init)?;
    let message = format!("{program} is not in the image; the container does not start");
    Some(Found::error(one.line, message, format!("Install {package} with apt-get")))
}

/// A program that a script needs which the image starts.
fn in_script(stage: &Stage, script: &EntryScript) -> Option<Found> {
    let asks = script.commands.iter().any(|one| {
        matches!(one.program(), "apt-get" | "apt" | "command" | "which" | "type" | "hash" | "source" | ".")
    });
    let certain = script.commands.iter().filter(|one| one.certain && !asks);
    let end = stage.instructions.len();
    let (command, (program, package)) =
        certain.into_iter().find_map(|one| Some((one, missing(stage, end, one)?)))?;
    let message = format!(
        "{program} is not in the image, but {} (line {}) needs it; the command is not found",
        script.path, command.line
    );
    Some(Found::warning(script.line, message, format!("Install {package} with apt-get")).about(program))
}

/// A HEALTHCHECK with a program that is not there at the end of the stage.
fn health(stage: &Stage, one: &Instruction) -> Option<Found> {
    let text = one.text.after(one.text.text.find("CMD").map_or(0, |at| at + 3));
    let words: Option<Vec<String>> = serde_json::from_str(text.text.trim()).ok();
    let text = words.map_or(text, |words| Text::in_line(&words.join(" "), one.line));
    let commands = shell::commands(&text, &stage.end.variables);
    let end = stage.instructions.len();
    let (program, package) = commands.iter().find_map(|command| missing(stage, end, command))?;
    let message =
        format!("HEALTHCHECK uses {program}, which is not in the image; the container stays unhealthy");
    let fix = format!("Install {package} with apt-get, or check with a program of the image");
    Some(Found::error(one.line, message, fix).about(program))
}

/// The program of a health check of a service that the image of a Dockerfile certainly does not contain, and
/// the package with it.
pub(crate) fn missing_in_check(file: &Dockerfile, check: &str) -> Option<(&'static str, &'static str)> {
    let stage = file.stages.last().filter(|stage| is_small(stage))?;
    let commands = shell::commands(&Text::in_line(check, 1), &stage.end.variables);
    let end = stage.instructions.len();
    let at = commands.iter().position(|command| missing(stage, end, command).is_some())?;
    // Another program may answer where this one is missing.
    let fallback = commands.get(at + 1).is_some_and(|next| {
        commands[at].after == "||" && !matches!(next.program(), "exit" | "false" | "kill")
    });
    missing(stage, end, &commands[at]).filter(|_| !fallback)
}

/// Whether the base of a stage is an ARG whose default is another ARG: a build usually names another image
/// than that default.
fn has_stand_in(file: &Dockerfile, stage: &Stage) -> bool {
    let instructions = &file.instructions;
    let Some(from) = instructions.iter().find(|one| one.keyword == "FROM" && one.line == stage.line) else {
        return false;
    };
    let names: Vec<&str> =
        from.text.text.split_whitespace().filter_map(|word| word.strip_prefix('$')).collect();
    let names: Vec<&str> = names.iter().map(|name| name.trim_matches(['{', '}'])).collect();
    let before = instructions.iter().take_while(|one| one.keyword != "FROM");
    let arguments = before.filter(|one| one.keyword == "ARG").map(|one| one.text.text.trim());
    let mut defaults = arguments.filter_map(|text| text.split_once('='));
    defaults.any(|(name, default)| names.contains(&name) && default.trim_matches('"').starts_with('$'))
}

/// Whether a base certainly has none of these programs.
fn is_small(stage: &Stage) -> bool {
    let From::Image(image) = &stage.from else { return false };
    let text = image.text.as_str();
    let base = Base::of(text);
    let bare = base.is_some_and(Base::lacks_python);
    let slim = base == Some(Base::Python) && text.contains("slim");
    let debian = stage.end.system.is_some_and(|system| system.family.has_apt());
    // Of an image with a compiler nobody knows what else its packages brought.
    image.known && (bare || slim) && debian && !text.contains("devel")
}

/// The program of a command that is certainly not there, and the package with it.
fn missing(stage: &Stage, instruction: usize, command: &Command) -> Option<(&'static str, &'static str)> {
    let (program, packages) = PROGRAMS.iter().find(|(name, _)| *name == command.program())?;
    let first = command.words.first()?;
    if first.text != *program {
        return None;
    }
    let before = stage.instructions.iter().take(instruction);
    let copied = before.filter(|one| matches!(one.keyword.as_str(), "COPY" | "ADD")).any(|one| {
        let text = one.text.text.as_str();
        let words = one.words();
        let Some((target, sources)) = words.split_last() else { return false };
        // Scripts and settings are no programs of that name.
        let plain = one.flag("from").is_none()
            && sources.iter().all(|source| {
                [".sh", ".py", ".txt", ".toml", ".json", ".yaml", ".yml"]
                    .iter()
                    .any(|end| source.ends_with(end))
            });
        text.contains(*program)
            || !plain && *target == "/"
            || !plain
                && ["/usr", "/bin", "/opt"].iter().any(|start| target.starts_with(start))
                && !text.contains("uv")
    });
    let mut installed = false;
    for run in stage.runs.iter().filter(|run| run.instruction <= instruction) {
        installed |= run.state.opaque;
        if std::ptr::eq(&run.command, command) {
            break;
        }
        let apt = apt::packages(run.state.catalog, &run.command);
        // Packages bring others with them that nobody sees here.
        let unseen = apt.iter().any(|word| !word.known || word.text.ends_with(".deb"))
            || apt.len() > MANY
            || matches!(
                run.command.program(),
                "conda" | "mamba" | "micromamba" | "pixi" | "nix" | "make" | "dpkg"
            );
        installed |= unseen || run.state.opaque || apt.iter().any(|word| packages.contains(&apt::name(word)));
        installed |= run.command.text().contains(*program) && run.command.program() != "apt-get";
    }
    let opaque = stage.end.opaque && instruction >= stage.instructions.len();
    (!copied && !installed && !opaque).then_some((*program, packages[0]))
}

/// More packages than this certainly bring others that matter here.
const MANY: usize = 25;
