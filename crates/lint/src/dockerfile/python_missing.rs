//! pip or python in an image that has no program of this name.

use crate::read::dockerfile::command::Command;
use crate::read::dockerfile::start::started;
use crate::read::dockerfile::{Dockerfile, From, Stage, apt};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile, with};

pub(crate) const RULE: Rule = Rule {
    id: "python-missing",
    severity: Severity::Warning,
    summary: "pip and python are in the image under the names by which they are called",
    explain: include_str!("python_missing.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN pip install torch==2.5.1\n"),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN apt-get update && apt-get install -y python3 git\nRUN \
             pip3 install -r requirements.txt\n",
        ),
        with(
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3 \
             python3-pip\nCOPY a.py /a.py\nENTRYPOINT [\"python\", \"/a.py\"]\n",
            &[("a.py", "print(1)\n")],
        ),
        dockerfile(
            "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y python3 python3-pip\nRUN python -m pip \
             install --break-system-packages torch\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip \
             python-is-python3\nRUN pip install torch==2.5.1\nCMD [\"python\", \"-V\"]\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip && ln \
             -s /usr/bin/python3 /usr/bin/python\nCMD [\"python\", \"-V\"]\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-venv && \
             python3 -m venv /opt/v\nENV PATH=/opt/v/bin:$PATH\nRUN pip install torch==2.5.1\nCMD [\"python\", \
             \"-V\"]\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nCOPY --from=ghcr.io/astral-sh/uv:0.5 /uv /bin/\nRUN uv \
             venv /v --python 3.12\nENV PATH=/v/bin:$PATH\nCMD [\"python\", \"-V\"]\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3 curl && \
             curl -sS https://bootstrap.pypa.io/get-pip.py | python3\nRUN pip install torch==2.5.1\n",
        ),
        dockerfile("FROM python:3.12-slim\nRUN pip install torch\nCMD [\"python\", \"-V\"]\n"),
        dockerfile("FROM ubuntu:24.04\nRUN ./bootstrap.sh\nRUN pip install torch\n"),
        dockerfile(
            "FROM ubuntu:24.04 AS a\nFROM a\nRUN apt-get update && apt-get install -y $PACKAGES\nRUN pip list\n",
        ),
    ],
};

/// What is known of the programs of a stage.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    /// `pip` and `pip3`.
    pip: bool,
    /// `python3`.
    python3: bool,
    /// `python`.
    python: bool,
    /// Whether something may have brought them that cannot be seen.
    unseen: bool,
}

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    let mut ends: Vec<Option<Known>> = Vec::new();
    for (index, stage) in file.stages.iter().enumerate() {
        let start = match &stage.from {
            From::Stage(before) => ends.get(*before).copied().flatten(),
            From::Image(image) => {
                let bare =
                    ["ubuntu:", "debian:", "nvidia/cuda:"].iter().any(|one| image.text.starts_with(one));
                let system = stage.end.system.is_some_and(|system| {
                    system.id.starts_with("ubuntu") && system.id != "ubuntu18.04"
                        || system.id.starts_with("debian")
                });
                (image.known && bare && system).then(Known::default)
            }
            From::Scratch => None,
        };
        let Some(mut known) = start else {
            ends.push(None);
            continue;
        };
        let fault = of_stage(file, stage, &mut known);
        let started =
            (index + 1 == file.stages.len() && fault.is_none()).then(|| at_start(file, known)).flatten();
        found.extend(fault.or(started));
        ends.push(Some(known));
    }
    found
}

/// The first command of a stage that calls what is not there.
fn of_stage(file: &Dockerfile, stage: &Stage, known: &mut Known) -> Option<Found> {
    let mut found = None;
    for (at, one) in stage.instructions.iter().enumerate() {
        let text = one.text.text.as_str();
        match one.keyword.as_str() {
            "COPY" | "ADD" => {
                let target = text.split_whitespace().next_back().unwrap_or_default();
                let system = ["/usr", "/opt", "/bin", "/root", "/venv", "/app/.venv"];
                let whole = target == "/" || system.iter().any(|start| target.starts_with(start));
                known.unseen |= one.flag("from").is_some() && whole && !target.starts_with("/bin/");
            }
            "ENV" => known.unseen |= text.contains("PATH=") && !text.contains("LD_LIBRARY_PATH="),
            "RUN" => {
                for run in stage.commands_of(at) {
                    known.unseen |= run.state.opaque;
                    if found.is_none() && !known.unseen && run.command.certain {
                        found = missing(&run.command, *known);
                    }
                    follow(file, &run.command, known);
                }
            }
            _ => {}
        }
    }
    known.unseen |= stage.end.opaque;
    found
}

/// What the container calls at its start.
fn at_start(file: &Dockerfile, known: Known) -> Option<Found> {
    let commands = started(file);
    commands.iter().filter(|_| !known.unseen).find_map(|one| missing(one, known))
}

/// More packages than this certainly bring others that matter here.
const MANY: usize = 25;

/// What a command adds.
fn follow(file: &Dockerfile, command: &Command, known: &mut Known) {
    let packages = apt::packages(file.catalog, command);
    known.unseen |= packages.len() > MANY;
    for word in packages {
        let name = apt::name(word);
        known.unseen |= !word.known || word.text.ends_with(".deb");
        known.python3 |=
            name.starts_with("python3") || !matches!(name, "git" | "curl" | "wget" | "ca-certificates");
        known.pip |= matches!(name, "python3-pip" | "python-pip" | "pip");
        known.python |= matches!(name, "python-is-python3" | "python-dev-is-python3" | "python" | "python2");
    }
    if apt::is_apt(command) {
        return;
    }
    let text = command.text();
    let tools = [
        "conda",
        "mamba",
        "micromamba",
        "pyenv",
        "pixi",
        "venv",
        "virtualenv",
        "uv",
        "make",
        "nix",
        "dpkg",
        "tar",
        "poetry",
        "pdm",
        "dnf",
        "yum",
        "apk",
        "cmake",
        "rye",
        "bash",
        "sh",
    ];
    let venv = text.contains("venv") || text.contains("virtualenv");
    known.unseen |= tools.contains(&command.program()) || venv;
    known.pip |= text.contains("get-pip") || text.contains("ensurepip") || text.contains("/pip");
    // get-pip.py from a pipe.
    known.pip |= command.piped && command.program().starts_with("python");
    let links = matches!(command.program(), "ln" | "update-alternatives" | "cp" | "mv" | "install");
    known.python |= links && text.contains("python");
    known.pip |= links && text.contains("pip");
}

/// A call of what is not there.
fn missing(command: &Command, known: Known) -> Option<Found> {
    let first = command.words.first().filter(|word| word.known)?;
    let (message, fix) = match first.text.as_str() {
        name @ ("pip" | "pip3") if !known.pip => (
            format!("{name} is not in the image at this point; the command is not found"),
            "Install python3-pip with apt-get before it",
        ),
        "python" if !known.python => {
            let has = if known.python3 { ", only python3 is" } else { "" };
            (
                format!("python is not in the image{has}; the command is not found"),
                "Call python3, or install python-is-python3 with apt-get",
            )
        }
        "python3" if !known.python3 => (
            "python3 is not in the image at this point; the command is not found".to_owned(),
            "Install python3 with apt-get before it",
        ),
        _ => return None,
    };
    Some(Found::warning(command.line, message, fix))
}
