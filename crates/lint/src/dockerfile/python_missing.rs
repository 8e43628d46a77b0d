//! pip, python3 or python in an image that does not contain it.

use catalog::system_packages::Brings;

use crate::base::Base;
use crate::read::dockerfile::command::Command;
use crate::read::dockerfile::python::{Kind, is_series};
use crate::read::dockerfile::start::started;
use crate::read::dockerfile::state::State;
use crate::read::dockerfile::{Dockerfile, Run, Stage, apt};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "python-missing",
    severity: Severity::Error,
    summary: "pip, python3 and python are in the image where RUN, CMD and ENTRYPOINT use them",
    explain: include_str!("python_missing.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN pip install torch\n"),
        dockerfile("FROM ubuntu:24.04\nCOPY train.py /srv/\nCMD [\"python3\", \"/srv/train.py\"]\n"),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3 \
             git && rm -rf /var/lib/apt/lists/*\nRUN pip3 install numpy\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y \
             python3-pip\nRUN pip install numpy\nENTRYPOINT python /srv/train.py\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.1.1-cudnn8-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y \
             python3 python3-pip git ffmpeg libsm6\nCMD [\"python\", \"train.py\"]\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-base-ubuntu22.04 AS base\nRUN apt-get update && apt-get install -y \
             curl\nFROM base\nRUN python3 -m venv /opt/venv\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3 python-is-python3 \
             ffmpeg\nCMD [\"python\", \"x.py\"]\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3 ffmpeg \
             $EXTRA\nCMD [\"python\", \"x.py\"]\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3 python3-ros2 \
             ffmpeg\nCMD [\"python\", \"x.py\"]\n",
        ),
        dockerfile("FROM python:3.12-slim\nRUN pip install numpy\nCMD [\"python\", \"x.py\"]\n"),
        dockerfile(
            "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y python3-pip python-is-python3\nRUN \
             pip install --break-system-packages numpy\nCMD [\"python\", \"x.py\"]\n",
        ),
        // It depends on Python.
        dockerfile(
            "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y software-properties-common\nRUN \
             python3 --version\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y curl python3\nRUN curl -sS \
             https://bootstrap.pypa.io/get-pip.py | python3\nRUN pip install numpy\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3\nRUN ln -s /usr/bin/python3 \
             /usr/local/bin/python\nCMD [\"python\", \"x.py\"]\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nCOPY --from=ghcr.io/astral-sh/uv:0.5 /uv /bin/\n\
             RUN \
             uv venv --python 3.12 /opt/venv\nENV PATH=/opt/venv/bin:$PATH\nCMD [\"python\", \"x.py\"]\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y wget\nRUN wget -O /m.sh \
             https://example.com/Miniforge3.sh && bash /m.sh -b -p /opt/conda\nENV \
             PATH=/opt/conda/bin:$PATH\nRUN pip install numpy\n",
        ),
        dockerfile("FROM ubuntu:22.04\nRUN command -v pip && pip install numpy || true\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found: Vec<Found> = file.stages.iter().filter_map(|stage| in_stage(file, stage)).collect();
    if found.is_empty() {
        found.extend(in_start(file));
    }
    found
}

/// The first use in a stage of a program that is not there.
fn in_stage(file: &Dockerfile, stage: &Stage) -> Option<Found> {
    let (base, earlier) = history(file, stage)?;
    stage.runs.iter().enumerate().find_map(|(at, run)| {
        let missing = missing(&run.command, &run.state, &earlier, &stage.runs[..at])?;
        let certain = run.command.certain;
        certain.then(|| found(run.command.line, missing, base, &run.state, "the build stops"))
    })
}

/// What the container starts with.
fn in_start(file: &Dockerfile) -> Option<Found> {
    let stage = file.stages.last()?;
    let (base, earlier) = history(file, stage)?;
    started(file).iter().find_map(|command| {
        let missing = missing(command, &stage.end, &earlier, &stage.runs)?;
        Some(found(command.line, missing, base, &stage.end, "the container does not start"))
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    Pip,
    Python3,
    /// python3 is there under that name only.
    Python,
}

fn found(line: usize, missing: Missing, base: &str, state: &State, effect: &str) -> Found {
    let system = state.system.map_or("the distribution", |system| system.name.as_str());
    let (message, fix) = match missing {
        Missing::Pip => (
            format!("{base} has no pip, and nothing installs it before this line; {effect}"),
            "Install python3-pip with apt-get before it".to_owned(),
        ),
        Missing::Python3 => (
            format!("{base} has no Python, and nothing installs it before this line; {effect}"),
            "Install python3 with apt-get before it".to_owned(),
        ),
        Missing::Python => (
            format!("{system} installs Python as python3 only; python is not found, and {effect}"),
            "Call python3, or install python-is-python3".to_owned(),
        ),
    };
    // What CUDA's development packages bring is not known to the last package.
    let certain = missing != Missing::Python3 || !base.contains("devel");
    Found::error(line, message, fix).unless_certain(certain)
}

/// The base image of a stage, where it certainly has no Python, and the commands of the stages before it.
fn history<'f>(file: &'f Dockerfile, stage: &'f Stage) -> Option<(&'f str, Vec<&'f Run>)> {
    let image = file.base(stage)?;
    let bare = Base::of(&image.text).is_some_and(Base::lacks_python);
    let earlier = file.lineage(stage).into_iter().skip(1).flat_map(|one| &one.runs);
    // Another image is often given to the build where the default is an argument.
    (bare && image.known && !image.default).then(|| (image.text.as_str(), earlier.collect()))
}

/// The program of a command that is certainly not there.
fn missing(command: &Command, state: &State, earlier: &[&Run], runs: &[Run]) -> Option<Missing> {
    let program = command.words.first().filter(|word| word.known)?.text.as_str();
    let pip = matches!(program, "pip" | "pip3");
    if state.opaque || !pip && !matches!(program, "python" | "python3") {
        return None;
    }
    let debian = state.system.is_some_and(|system| system.family.has_apt());
    if !debian {
        return None;
    }
    let before = || earlier.iter().copied().chain(runs);
    let installed = || before().flat_map(|run| apt::packages(run.state.catalog, &run.command));
    let all = |allowed: &dyn Fn(&str) -> bool| installed().all(|word| word.known && allowed(apt::name(word)));
    let mentions =
        |text: &str| before().any(|run| !apt::is_apt(&run.command) && run.command.text().contains(text));
    if mentions("activate") {
        return None;
    }
    let kind = if pip { state.pythons.pip.kind } else { state.pythons.default.kind };
    let packages = state.catalog.system_packages();
    let without_python = |name: &str| packages.of(name).is_some_and(|row| row.brings == Brings::NoPython);
    let without_pip =
        |name: &str| packages.of(name).is_some() || name.starts_with("lib") || is_interpreter(name);
    match kind {
        Kind::Absent if !pip => (all(&without_python) && !mentions("python")).then_some(Missing::Python3),
        Kind::Absent | Kind::System if pip => (all(&without_pip) && !mentions("pip")).then_some(Missing::Pip),
        Kind::System if program == "python" => {
            // Of Debian 11 and Ubuntu 20.04 on, only python-is-python3 and what depends on it has the name.
            let any = state.system.is_some_and(|system| system.name != "Ubuntu 18.04");
            let other = |name: &str| any && !name.starts_with("python") && !name.contains('.');
            let known =
                |name: &str| without_pip(name) || name == "python3-pip" || other(name) || is_part(name);
            (all(&known) && !mentions("/python") && !mentions("alternatives") && !mentions("alias"))
                .then_some(Missing::Python)
        }
        _ => None,
    }
}

/// Whether a package is a part of Debian's Python 3 that has no command `python`: `python3-venv`.
fn is_part(name: &str) -> bool {
    matches!(name, "python3-venv" | "python3-dev" | "python3-setuptools" | "python3-wheel" | "python3-numpy")
}

/// Whether a package is an interpreter of one series, or a part of it: `python3.11`, `python3.11-dev`.
fn is_interpreter(name: &str) -> bool {
    let series = name.strip_prefix("python").and_then(|rest| rest.split('-').next());
    series.is_some_and(is_series) && !name.ends_with("-full")
}
