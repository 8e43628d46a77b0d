//! An environment of conda that a RUN does not activate.

use crate::read::dockerfile::setup::setups;
use crate::read::dockerfile::{Dockerfile, Run, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "conda-not-activated",
    severity: Severity::Error,
    summary: "a RUN that needs a conda environment activates it in a shell that can",
    explain: include_str!("conda_not_activated.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM continuumio/miniconda3:24.5.0-0\nRUN conda create -y -n a python=3.11\nRUN conda activate \
             a \
             && python x.py\n",
        ),
        dockerfile(
            "FROM mambaorg/micromamba:2.0\nRUN micromamba install -y -n base python\nRUN python -c 'import \
             sys'\n",
        ),
        dockerfile("FROM ubuntu:24.04\nRUN conda init bash && conda activate a\n"),
    ],
    silent: &[
        dockerfile(
            "FROM continuumio/miniconda3:24.5.0-0\nRUN . /opt/conda/etc/profile.d/conda.sh && conda \
             activate a && python x.py\n",
        ),
        dockerfile(
            "FROM continuumio/miniconda3:24.5.0-0\nSHELL [\"/bin/bash\", \"--login\", \"-c\"]\nRUN conda \
             activate a && x\n",
        ),
        dockerfile(
            "FROM continuumio/miniconda3:24.5.0-0\nSHELL [\"conda\", \"run\", \"-n\", \"a\", \
             \"/bin/bash\", \"-c\"]\nRUN x\n",
        ),
        dockerfile(
            "FROM continuumio/miniconda3:24.5.0-0\nRUN eval \"$(conda shell.bash hook)\" && conda activate \
             a\n",
        ),
        dockerfile("FROM continuumio/miniconda3:24.5.0-0\nRUN bash -lc 'conda activate a && python x.py'\n"),
        dockerfile("FROM mambaorg/micromamba:2.0\nARG MAMBA_DOCKERFILE_ACTIVATE=1\nRUN python x.py\n"),
        dockerfile("FROM mambaorg/micromamba:2.0\nENV PATH=/opt/conda/bin:$PATH\nRUN python x.py\n"),
        dockerfile("FROM mambaorg/micromamba:2.0\nRUN micromamba run -n base python x.py\n"),
        dockerfile(
            "FROM mambaorg/micromamba:2.0\nRUN eval \"$(micromamba shell hook --shell bash)\" && \
             micromamba activate && python x.py\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let setups = setups(file);
    let mut found = Vec::new();
    for (stage, setups) in file.stages.iter().zip(&setups) {
        for (index, one) in stage.instructions.iter().enumerate().filter(|(_, one)| one.keyword == "RUN") {
            let plain =
                setups.get(index).is_some_and(|setup| !setup.shell.iter().any(|word| initialised(word)));
            let text = match one.heredocs.first() {
                Some(heredoc) => format!("{} {}", one.text.text, heredoc.text.text),
                None => one.text.text.clone(),
            };
            if plain && one.json.is_none() && !hooks(&text) {
                let runs = stage.commands_of(index);
                found.extend(runs.iter().find_map(activation).or_else(|| of_micromamba(stage, runs)));
            }
        }
    }
    found
}

/// Words of SHELL with which the shell reads its start files, or is started by conda.
fn initialised(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    word == "--login"
        || word == "-i"
        || matches!(name, "conda" | "micromamba" | "mamba" | "_dockerfile_shell.sh")
        || (word.starts_with('-') && !word.starts_with("--") && (word.contains('l') || word.contains('i')))
}

/// Whether a script initialises its own shell for conda.
fn hooks(text: &str) -> bool {
    let marks = [
        "conda.sh",
        "shell.bash",
        "shell.posix",
        "shell hook",
        "hook",
        "bash -l",
        "bash -i",
        "--login",
        "activate-",
        "bashrc",
        "bin/activate",
    ];
    marks.iter().any(|mark| text.contains(mark))
}

fn activation(run: &Run) -> Option<Found> {
    let command = &run.command;
    let conda =
        matches!(command.program(), "conda" | "mamba" | "micromamba") && command.word(1) == "activate";
    if !conda {
        return None;
    }
    let program = command.program();
    let message =
        format!("`{program} activate` fails here: the shell of RUN is not initialised for {program}");
    let fix = format!(
        "Use `{program} run -n NAME …`, or put the environment's bin directory first in PATH with ENV"
    );
    Some(Found::error(command.line, message, fix).unless_certain(command.certain))
}

/// The images of micromamba activate their environment only on request.
fn of_micromamba(stage: &Stage, runs: &[Run]) -> Option<Found> {
    let first = stage.runs.first()?;
    let image = match &stage.from {
        crate::read::dockerfile::From::Image(image) => image.text.as_str(),
        _ => return None,
    };
    if !image.contains("mambaorg/micromamba") || first.state.opaque {
        return None;
    }
    let needs = |run: &&Run| matches!(run.command.program(), "pip" | "pip3" | "python" | "python3");
    let run = runs.iter().find(needs)?;
    let active = run.variable("MAMBA_DOCKERFILE_ACTIVATE").is_some();
    let path =
        run.variable("PATH").and_then(|value| value.text).is_some_and(|path| path.contains("/opt/conda"));
    // A Python of the distribution is another one.
    let installed = stage.runs.iter().any(|run| run.command.has("python3") && run.command.has("install"));
    if active || path || installed {
        return None;
    }
    let message = format!(
        "{} is not in PATH: this image activates its environment in RUN only on request",
        run.command.program()
    );
    let fix = "Add `ARG MAMBA_DOCKERFILE_ACTIVATE=1` above it";
    Some(Found::error(run.command.line, message, fix).unless_certain(run.command.certain))
}
